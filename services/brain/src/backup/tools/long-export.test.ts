/** A brain of which so much is noted that to export it takes long: nobody who writes waits for that. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

const ROWS = 60_000;
const PATIENCE_MS = 120_000;
const brain = 'noted';

test('a write is acknowledged while the rows of a backup are exported, and is not in it', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  const caller = testCaller(() => node, null);
  const call = (tool: string, args: object = {}) =>
    caller.ok(tool, { brain, ...args }, { deadlineAt: Date.now() + PATIENCE_MS });
  await node.call('brain_switch', { name: brain, create: true });
  await bed.database.pool.query(
    `INSERT INTO brain.brain_resolutions (brain_id, id, file, change, changed_by, branch, at)
     SELECT h.id, 'res_' || n, 'f.md', repeat('kept ', 40), 'ann', 'main', now()
     FROM brain.brain_homes h, generate_series(1, ${ROWS}) n WHERE h.brain = $1`,
    [brain],
  );
  const shelf = join(bed.dataDir, 'backups');
  const exported = (): number | null => {
    const [folder] = readdirSync(shelf).filter((name) => name.startsWith('.svc-'));
    return folder === undefined ? null : (statSync(join(shelf, folder, 'rows'), { throwIfNoEntry: false })?.size ?? 0);
  };
  const making = call('svc_brain_backup');
  await expect.poll(exported, { timeout: PATIENCE_MS, interval: 1 }).toBeGreaterThan(0);
  await call('brain_write', { name: 'meanwhile', content: 'written' });
  await call('brain_link', { from: 'a', to: 'b' });
  const atThatTime = exported() ?? 0;
  // It went on after that: the writes came in the middle of it.
  await expect.poll(exported, { timeout: PATIENCE_MS, interval: 1 }).toBeGreaterThan(atThatTime);
  const { path, rows, files } = await making;
  expect([rows, files]).toEqual([ROWS, 0]);

  await node.call('svc_brain_restore', { path, brain: 'twin' });
  expect(await caller.ok('brain_connections', { brain: 'a', in: 'twin' })).toMatchObject({ connections: [] });
  expect(await caller.no('brain_read', { brain: 'twin', name: 'meanwhile' })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await call('brain_read', { name: 'meanwhile' })).toMatchObject({ content: 'written' });
  await node.stop();
}, 300_000);
