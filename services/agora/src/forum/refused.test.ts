/** What the forum refuses only when much is there, or when something improbable happened. */
import { expect, test } from 'vitest';
import { openAgoraBed } from '../../testing/agora-bed.ts';
import { agoraTests } from '../../testing/agora-tests.ts';
import { MAX_BALLOTS } from '../ledger/domain/ballot-gates.ts';
import { MAX_OPEN_TOPICS } from '../ledger/domain/topic.ts';
import { MAX_CHANNELS } from '../messages/domain/channel.ts';

const tests = await agoraTests();
const { client, database } = tests;
const sql = (text: string, ...values: unknown[]) => client.$executeRawUnsafe(text, ...values);

const ask = (author: string, proposal = 'soup') => tests.bed.call('forum_vote', { proposal }, author);
const cast = (voteId: unknown) => tests.bed.call('forum_castVote', { voteId, choice: 'yes' }, 'bob');

test('a name that another vote has is taken, and nothing is left of the second', async () => {
  const { voteId } = await ask('ann');
  const random = String(voteId).slice(-32);
  const same = await openAgoraBed(database, { next: (prefix) => `${prefix}_${random}` });
  const again = await same.call('forum_vote', { proposal: 'soup', thread: 'taken' }, 'ann');
  await same.stop();
  expect(again).toMatchObject({ voted: false, reason: 'collision', code: 'E_COLLISION' });
  expect(await tests.bed.call('forum_decisions', { thread: 'taken' })).toMatchObject({ code: 'E_FORUM_ABSENT' });
});

test('a family has so many open votes, a vote so many ballots, and a registry may be asked for each voter', async () => {
  const { voteId } = await ask('busy');
  await sql(
    `INSERT INTO agora.topics SELECT (json_populate_record(t, json_build_object('topic', 'busy' || n, 'ordinal', -n))).*
     FROM agora.topics t, generate_series(2, $2::int) n WHERE t.topic = $1`,
    voteId,
    MAX_OPEN_TOPICS,
  );
  expect(await ask('busy')).toMatchObject({ voted: false, reason: 'quota', code: 'E_QUOTA' });
  await tests.bed.askRegistry(true);
  expect(await cast(voteId)).toMatchObject({ cast: false, code: 'E_NOT_REGISTRY' });
  await tests.bed.askRegistry(null);
  await sql('UPDATE agora.topics SET entries = $2 WHERE topic = $1', voteId, MAX_BALLOTS);
  expect(await cast(voteId)).toMatchObject({ cast: false, code: 'E_QUOTA' });
});

test('a vote that another deployment decides is cast there', async () => {
  const { voteId } = await ask('ann', 'elsewhere');
  await sql('UPDATE agora.topics SET replica = true WHERE topic = $1', voteId);
  expect(await cast(voteId)).toMatchObject({ cast: false, code: 'E_NOT_OWNER' });
});

test('a word to somebody begins a channel, of which a family has so many', async () => {
  const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team: 'quiet', name: 'nobody-wrote' });
  await sql(
    `INSERT INTO agora.channels (channel, kind, family, last_seq, last_at)
     SELECT 'f' || n, 'open', 'wordy', 1, now() FROM generate_series(1, $1) n`,
    MAX_CHANNELS,
  );
  const refused = await tests.bed.call('forum_message', { agent: agentId, content: 'x' }, 'wordy');
  expect(refused).toMatchObject({ sent: false, code: 'E_QUOTA' });
});

test('the record of a vote is placed and voided by the sweep where the ledger of money was away', async () => {
  const { voteId } = await tests.bed.call('forum_vote', { proposal: 'x', thread: 'late', minQuorum: 1 }, 'ann');
  await sql(
    `UPDATE agora.forum_votes SET owed = 'place', tried_at = now() - interval '1 minute' WHERE topic = $1`,
    voteId,
  );
  await tests.bed.call('consensus_vote', { topic: voteId, choice: 'yes' }, 'ann');
  const record = async () => (await tests.bed.call('forum_decisions', { thread: 'late' })) as { holds: object[] };
  expect((await record()).holds).toMatchObject([{ held: false }]);
  const [row] = await client.$queryRawUnsafe<{ owed: string }[]>(
    'SELECT owed FROM agora.forum_votes WHERE topic = $1',
    voteId,
  );
  expect(row).toEqual({ owed: 'nothing' });
});

test('the record of a vote that was tried before the clock was set back is placed, not when the clock is there again', async () => {
  const { voteId } = await tests.bed.call('forum_vote', { proposal: 'x', thread: 'ahead', minQuorum: 1 }, 'ann');
  await sql(
    `UPDATE agora.forum_votes SET owed = 'place', tried_at = now() + interval '1 hour' WHERE topic = $1`,
    voteId,
  );
  const owed = () => client.$queryRawUnsafe('SELECT owed FROM agora.forum_votes WHERE topic = $1', voteId);
  await expect.poll(owed).toEqual([{ owed: 'void' }]);
});

test('without the ledger of money votes go on, and their trail claims no record that nobody can see', async () => {
  const deaf = await openAgoraBed(database);
  const { voteId: before } = await deaf.call('forum_vote', { proposal: 'x', thread: 'deaf', minQuorum: 1 }, 'ann');
  const trail = (thread: string) => deaf.call('forum_decisions', { thread });
  expect(await trail('deaf')).toMatchObject({ holds: [{ holdId: `forum:${String(before)}`, held: true }] });
  await deaf.stopMoney();
  expect(await trail('deaf')).toMatchObject({ holds: [{ held: false, condition: null }], ledger: { status: 'open' } });
  const { voteId } = await deaf.call('forum_vote', { proposal: 'y', thread: 'deafer', minQuorum: 1 }, 'ann');
  expect(await deaf.call('forum_castVote', { voteId, choice: 'yes' }, 'bob')).toMatchObject({ cast: true });
  expect(await trail('deafer')).toMatchObject({
    ledger: { status: 'passed' },
    outcome: 'yes',
    holds: [{ holdId: `forum:${String(voteId)}`, held: false, condition: null }],
  });
  await deaf.stop();
});

test('a vote that others do not see takes no thread from them', async () => {
  const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team: 'red', name: 'rhea' });
  const rhea = String(agentId);
  const own = { proposal: 'mine', thread: 'shared', scope: { owner: `agent:${rhea}` } };
  expect(await tests.bed.call('forum_vote', own, rhea)).toMatchObject({ voted: true });
  expect(await tests.bed.call('forum_vote', own, rhea)).toMatchObject({ code: 'E_THREAD_LINKED', thread: 'shared' });
  const open = { proposal: 'ours', thread: 'shared' };
  expect(await tests.bed.call('forum_vote', open, 'ann')).toMatchObject({ voted: true });
  expect(await tests.bed.call('forum_vote', open, 'bob')).toMatchObject({ code: 'E_THREAD_LINKED' });
  expect(await tests.bed.call('forum_decisions', { thread: 'shared' }, 'ann')).toMatchObject({
    proposal: 'ours',
    earlier: [],
  });
});

test('a vote whose record cannot follow it does not keep back those of others', async () => {
  const { voteId: bad } = await tests.bed.call('forum_vote', { proposal: 'bad', thread: 'bad' }, 'ann');
  const { voteId: good } = await tests.bed.call('forum_vote', { proposal: 'good', thread: 'good' }, 'ann');
  await sql(
    `UPDATE agora.forum_votes SET owed = 'place', tried_at = now() - ordinal * interval '1 hour' WHERE topic = ANY($1)`,
    [bad, good],
  );
  await sql(`UPDATE agora.forum_votes SET tried_at = now() - interval '9 years' WHERE topic = $1`, bad);
  await sql(`UPDATE agora.topics SET header = '{' WHERE topic = $1`, bad);
  const owed = async () => {
    const text = 'SELECT owed FROM agora.forum_votes WHERE topic = $1';
    return client.$queryRawUnsafe<{ owed: string }[]>(text, good);
  };
  await expect.poll(owed).toEqual([{ owed: 'void' }]);
  await sql(`DELETE FROM agora.topics WHERE topic = $1`, bad);
});
