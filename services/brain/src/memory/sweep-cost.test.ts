/** A look at values whose time is over follows those, not how many are kept. */
import { filledDatabase, rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import { expect, test } from 'vitest';
import { sweepMemory } from './memory-store.ts';

const client = await filledDatabase([
  `INSERT INTO brain.brain_memory (key, workspace, value, version, expires_at, by, at)
     SELECT 'k' || n, 'w', '1', 1, now() + interval '1 hour', 'ann', now() FROM generate_series(1, 2000) n`,
]);

test('values that are kept are not looked at by the sweep', async () => {
  expect(await rowsLookedAt(client, (tx) => sweepMemory({ transact: (work) => work(tx) }))).toBeLessThan(10);
});
