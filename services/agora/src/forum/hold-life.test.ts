import { expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';
import { LONGEST_MS } from '../ledger/domain/topic.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const tests = await agoraTests();
const { database } = tests;

test('the record of a vote lives an hour longer than the vote, also than the longest one', async () => {
  const deadline = Date.now() + LONGEST_MS - MINUTE_MS;
  const { voteId } = await tests.bed.call('forum_vote', { proposal: 'soup', thread: 'patient', deadline }, 'ann');
  const holdId = `forum:${String(voteId)}`;
  const { rows } = await database.pool.query<{ expires: string }>(
    'SELECT extract(epoch FROM expires_at) * 1000 AS expires FROM escrow.holds WHERE hold_id = $1',
    [holdId],
  );
  expect(Math.abs(Number(rows[0]?.expires) - deadline - HOUR_MS)).toBeLessThan(MINUTE_MS);
});
