/** Votes that only some see: what they take from others, and what others learn of them. */
import { expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';

const tests = await agoraTests();
const { client } = tests;
const sql = (text: string, ...values: unknown[]) => client.$executeRawUnsafe(text, ...values);

async function member(name: string, team: string): Promise<string> {
  const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team, name });
  return String(agentId);
}

test('however many votes on a thread only one family sees, others see theirs', async () => {
  const eve = await member('eve', 'blue');
  const { voteId } = await tests.bed.call('forum_vote', { proposal: 'ours', thread: 'menu' }, 'ann');
  const scope = { owner: `agent:${eve}` };
  const { voteId: hidden } = await tests.bed.call('forum_vote', { proposal: 'mine', thread: 'menu', scope }, eve);
  await sql(
    `INSERT INTO agora.topics SELECT (json_populate_record(t, json_build_object('topic', 'eve' || n, 'status', 'passed',
       'header', replace(t.header, t.topic, 'eve' || n), 'ordinal', t.ordinal + n))).*
     FROM agora.topics t, generate_series(1, 1100) n WHERE t.topic = $1`,
    hidden,
  );
  await sql(
    `INSERT INTO agora.forum_votes (topic, thread, proposal, tried_at)
     SELECT 'eve' || n, 'menu', 'x', now() FROM generate_series(1, 1100) n`,
  );
  const [red, team] = [await member('ruth', 'red'), await member('rob', 'red')];
  const ofRed = { proposal: 'of red', thread: 'menu', scope: { owner: 'workspace:org-red' } };
  await tests.bed.call('forum_vote', ofRed, red);
  await sql(`UPDATE agora.forum_votes SET ordinal = -1 WHERE proposal = 'of red'`);
  expect(await tests.bed.call('forum_decisions', { thread: 'menu' }, 'ann')).toMatchObject({
    topic: voteId,
    earlier: [],
  });
  expect(await tests.bed.call('forum_decisions', { thread: 'menu' }, team)).toMatchObject({
    topic: voteId,
    earlier: [expect.stringMatching(/^forum-of-red-/)],
  });
});

test('a vote on a post that only a workspace sees is one of that workspace', async () => {
  const [ruth, rob, eve] = [await member('ruth', 'green'), await member('rob', 'green'), await member('eve', 'grey')];
  const post = { title: 'x', content: 'x', workspace: 'org-green' };
  const { publication } = (await tests.bed.call('forum_publish', post, ruth)) as { publication?: { id: string } };
  const thread = publication?.id ?? '';
  const { voteId } = await tests.bed.call('forum_vote', { proposal: 'All of us?', thread }, ruth);
  expect(await tests.bed.call('consensus_get', { topic: voteId }, eve)).toMatchObject({ content: null });
  const cast = (voter: string) => tests.bed.call('forum_castVote', { voteId, choice: 'yes' }, voter);
  expect(await cast(eve)).toMatchObject({ cast: false, code: 'E_TOPIC_ABSENT' });
  expect(await cast(rob)).toMatchObject({ cast: true });
  const scope = { owner: 'workspace:org-green', visibility: 'public' };
  expect(await tests.bed.call('forum_vote', { proposal: 'You too?', thread, scope }, ruth)).toMatchObject({
    voted: true,
  });
});

test('a thread that is voted on by several circles is one thread', async () => {
  const ida = await member('ida', 'teal');
  const threads = async () => Number((await tests.bed.call('forum_status', {}, ida))['threads']);
  const before = await threads();
  for (const scope of [undefined, { owner: `agent:${ida}` }]) {
    const wish = { proposal: 'x', thread: 'circles', ...(scope === undefined ? {} : { scope }) };
    expect(await tests.bed.call('forum_vote', wish, ida)).toMatchObject({ voted: true });
  }
  expect(await threads()).toBe(before + 1);
});
