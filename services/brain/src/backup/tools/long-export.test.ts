/** A backup whose rows take long to export: nobody who writes waits for that. */
import type { Database } from '@svc/runtime/database.ts';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

const ROWS = 1000;
const PATIENCE_MS = 120_000;
const brain = 'noted';

/** Rows of a moment come when the gate is open. */
function slowly(database: Database) {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const snapshot: Database['snapshot'] = async (queries) => {
    const moment = await database.snapshot(queries);
    return {
      async *batches<Row>(index: number) {
        begun.resolve();
        await gate.promise;
        yield* moment.batches<Row>(index);
      },
      [Symbol.asyncDispose]: () => moment[Symbol.asyncDispose](),
    };
  };
  return { database: { ...database, snapshot }, begun: begun.promise, open: gate.resolve };
}

test('a write is acknowledged while the rows of a backup are exported, and is not in it', async () => {
  await using bed = await openBrainTestBed();
  const { database, begun, open } = slowly(bed.database);
  const node = await bed.start({}, { database });
  const caller = testCaller(() => node, null);
  const call = (tool: string, args: object = {}) =>
    caller.ok(tool, { brain, ...args }, { deadlineAt: Date.now() + PATIENCE_MS });
  await node.call('brain_switch', { name: brain, create: true });
  await bed.database.pool.query(
    `INSERT INTO brain.brain_resolutions (brain_id, id, file, change, changed_by, branch, at)
     SELECT h.id, 'res_' || n, 'f.md', 'kept', 'ann', 'main', now()
     FROM brain.brain_homes h, generate_series(1, ${ROWS}) n WHERE h.brain = $1`,
    [brain],
  );
  const making = call('svc_brain_backup');
  await begun;
  await call('brain_write', { name: 'meanwhile', content: 'written' });
  await call('svc_commit', { message: 'meanwhile' });
  await call('brain_link', { from: 'a', to: 'b' });
  open();
  const { path, rows, files } = await making;
  expect([rows, files]).toEqual([ROWS, 0]);

  await node.call('svc_brain_restore', { path, brain: 'twin' });
  expect(await caller.ok('brain_connections', { brain: 'a', in: 'twin' })).toMatchObject({ connections: [] });
  expect(await caller.no('brain_read', { brain: 'twin', name: 'meanwhile' })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await call('brain_read', { name: 'meanwhile' })).toMatchObject({ content: 'written' });
  await node.stop();
}, 300_000);
