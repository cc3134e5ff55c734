import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AgoraBed, openAgoraBed } from '../../testing/agora-bed.ts';
import { LONGEST_MS } from '../ledger/domain/topic.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const database = await migratedDatabase();
let bed: AgoraBed;

beforeAll(async () => {
  bed = await openAgoraBed(database);
});
afterAll(async () => {
  await bed.stop();
  await database.close();
});

test('the record of a vote lives an hour longer than the vote, also than the longest one', async () => {
  const deadline = Date.now() + LONGEST_MS - MINUTE_MS;
  const { voteId } = await bed.call('forum_vote', { proposal: 'soup', thread: 'patient', deadline }, 'ann');
  const holdId = `forum:${String(voteId)}`;
  const { rows } = await database.pool.query<{ expires: string }>(
    'SELECT extract(epoch FROM expires_at) * 1000 AS expires FROM escrow.holds WHERE hold_id = $1',
    [holdId],
  );
  expect(Math.abs(Number(rows[0]?.expires) - deadline - HOUR_MS)).toBeLessThan(MINUTE_MS);
});
