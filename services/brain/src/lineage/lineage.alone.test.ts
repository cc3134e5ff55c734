/** What a change costs where much came of a node, on a database that knows nothing of its tables yet. */
import { poolClient } from '@svc/runtime/transaction.ts';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';

const [SHORT, LONG] = [500, 4000];
/** Eight times as much came of the one as of the other; were each looked for among all, it would be sixty-four. */
const MOST_TIMES = 14;

test('moving a node deeper, and looking for a ring above it, costs what lies there, and not its square', async () => {
  await using bed = await openBrainTestBed();
  const node = await bed.start();
  const user = testCaller(() => node, null);
  const record = (wish: object) =>
    user.ok('lineage_record', { event: 'x', ...wish }, { deadlineAt: Date.now() + 120_000 });
  const sql = (text: string) => poolClient(bed.database.pool).$executeRawUnsafe(text);
  const cpuMs = async (work: () => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage();
    await work();
    const { user: own, system } = process.cpuUsage(before);
    return (own + system) / 1000;
  };
  const chain = async (name: string, length: number) => {
    await record({ id: `${name}0` });
    await sql(`INSERT INTO brain.lineage_nodes (workspace, id, event, data, depth, edges, by, at)
      SELECT 'default', '${name}' || n, 'x', 'null', n, 2, 'x', now() FROM generate_series(1, ${length}) n`);
    await sql(`INSERT INTO brain.lineage_edges (workspace, child, parent)
      SELECT 'default', '${name}' || n, '${name}' || (n - 1) FROM generate_series(1, ${length}) n`);
  };
  await record({ id: 'root' });
  const costs = async (name: string, length: number) => ({
    move: await cpuMs(async () =>
      expect(await record({ id: `${name}0`, parent: 'root' })).toMatchObject({ existed: true }),
    ),
    ring: await cpuMs(async () =>
      expect(await record({ id: `${name}0`, parent: `${name}${length}` })).toMatchObject({ code: 'E_LINEAGE_CYCLE' }),
    ),
  });
  await chain('warm', SHORT);
  await costs('warm', SHORT);
  await chain('short', SHORT);
  const short = await costs('short', SHORT);
  await chain('long', LONG);
  const long = await costs('long', LONG);
  expect(long.move / short.move).toBeLessThan(MOST_TIMES);
  expect(long.ring / short.ring).toBeLessThan(MOST_TIMES);
  await node.stop();
}, 240_000);
