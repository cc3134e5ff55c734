/** Owners that were put back to what they had before, or started without their name: what is told of it, and what waits. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type NodesBed, openNodes } from '../../testing/node-bed.ts';

let bed: NodesBed<'alpha' | 'beta'>;
let alpha: BedNode;
let beta: BedNode;
let made = 0;

beforeAll(async () => {
  bed = await openNodes(['alpha', 'beta']);
  ({ alpha, beta } = bed.nodes);
});

afterAll(() => bed.stop());

/** A topic of alpha on which these have voted yes. */
async function opened(...voters: readonly string[]): Promise<string> {
  const topic = `lunch-${(made += 1)}`;
  await open(topic);
  for (const voter of voters) await vote(topic, voter);
  return topic;
}

const open = (topic: string) =>
  alpha.agora('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', minQuorum: 999 });
const vote = (topic: string, agentId: string, choice = 'yes') =>
  alpha.agora('consensus_vote', { topic, agentId, choice });
const pull = (topic: string) => beta.agora('agora_pull', { node: 'alpha', topic });
const voteAbroad = (topic: string, outcome: string) => beta.agora('agora_vote', { node: 'alpha', topic, outcome });
const sql = (text: string, ...values: unknown[]) => alpha.database.pool.query(text, values);

/** Alpha forgets all but the first ballot. */
async function putBack(topic: string): Promise<void> {
  const sums = { votes: 1, counts: [1, 0], weights: [1000, 0], greatestWeight: 1000 };
  await sql('UPDATE agora.topics SET entries = 1, sums = $2 WHERE topic = $1', topic, JSON.stringify(sums));
  await sql('DELETE FROM agora.ballot_entries WHERE topic = $1 AND seq > 1', topic);
}

async function forget(topic: string): Promise<void> {
  await sql('DELETE FROM agora.topics WHERE topic = $1', topic);
  await sql('DELETE FROM agora.ballot_entries WHERE topic = $1', topic);
}

test('a copy is not taken for one ledger with what its owner says after it was put back', async () => {
  const topic = await opened('ann', 'ben');
  expect(await pull(topic)).toMatchObject({ pulled: true, adopted: 2 });
  await putBack(topic);
  expect(await pull(topic)).toMatchObject({ pulled: false, reason: 'disputed', code: 'E_LEDGER_FORK' });
  for (const voter of ['cy', 'dee']) await vote(topic, voter, 'no');
  expect(await pull(topic)).toMatchObject({ pulled: false, reason: 'disputed', code: 'E_LEDGER_FORK' });
  expect(await beta.agora('consensus_get', { topic })).toMatchObject({ disputed: true, votes: { length: 2 } });
});

test('a copy that has all that there is stays as it is', async () => {
  const topic = await opened('ann', 'ben');
  for (const adopted of [2, 0]) expect(await pull(topic)).toMatchObject({ pulled: true, adopted });
  await vote(topic, 'cy');
  expect(await pull(topic)).toMatchObject({ pulled: true, adopted: 1 });
});

test('whoever voted on a topic votes on the next one of that name', async () => {
  const topic = await opened();
  expect(await voteAbroad(topic, 'yes')).toMatchObject({ voted: true });
  await forget(topic);
  expect(await voteAbroad(topic, 'yes')).toMatchObject({ voted: false, code: 'E_TOPIC_ABSENT' });
  await open(topic);
  expect(await voteAbroad(topic, 'yes')).toMatchObject({ voted: true, duplicate: false, tally: { votes: 1 } });
  expect(await voteAbroad(topic, 'yes')).toMatchObject({ voted: true, duplicate: true });
});

test('another outcome is taken for the next one once that is known here', async () => {
  const topic = await opened();
  expect(await voteAbroad(topic, 'yes')).toMatchObject({ voted: true });
  await forget(topic);
  await open(topic);
  expect(await voteAbroad(topic, 'no')).toMatchObject({ code: 'E_ALREADY_VOTED', previous: 'yes' });
  expect(await pull(topic)).toMatchObject({ pulled: true, created: true });
  expect(await voteAbroad(topic, 'no')).toMatchObject({ voted: true, duplicate: false });
});

test('a deployment that was put back, and does not know what it signed since, makes its voter void by no second outcome', async () => {
  const topic = await opened(...Array.from({ length: 501 }, (_, index) => `voter-${index}`));
  expect(await voteAbroad(topic, 'yes')).toMatchObject({ voted: true, duplicate: false, tally: { votes: 502 } });
  await beta.database.pool.query('DELETE FROM agora.signed_ballots WHERE topic = $1', [topic]);
  expect(await voteAbroad(topic, 'no')).toMatchObject({ voted: false, code: 'E_ALREADY_VOTED', previous: 'yes' });
  expect(await voteAbroad(topic, 'yes')).toMatchObject({ voted: true, duplicate: true, tally: { votes: 502 } });
  expect(await alpha.agora('consensus_get', { topic })).toMatchObject({ voided: [] });
});

test('an outcome is written abroad as the options are', async () => {
  const topic = `caf-${(made += 1)}`;
  await alpha.agora('consensus_create', { topic, options: ['caf\u00e9', 'tea'], agentId: 'ann' });
  expect(await voteAbroad(topic, ' cafe\u0301 ')).toMatchObject({ voted: true, outcome: 'caf\u00e9' });
});

test('without its name a deployment neither admits nor decides what it could not sign', async () => {
  const [topic, due] = [await opened('ann'), await opened('ann')];
  await alpha.restart({ SVC_NODE_SECRET: undefined });
  expect(await vote(topic, 'ben')).toMatchObject({ voted: false, code: 'E_NOT_OWNER', owner: 'alpha' });
  await sql(
    `UPDATE agora.topics SET deadline = now() - interval '1 ms', header = regexp_replace(header, '"deadline":\\d+', '"deadline":1') WHERE topic = $1`,
    due,
  );
  await alpha.deps().ledgers.closeOverdue();
  expect(await alpha.agora('consensus_get', { topic: due })).toMatchObject({ status: 'open' });
  const { topics } = (await alpha.agora('consensus_list', {})) as { topics?: { topic: string }[] };
  expect(topics?.find(({ topic: listed }) => listed === due)).toMatchObject({ status: 'open' });
  await alpha.restart();
  await alpha.deps().ledgers.closeOverdue();
  expect(await alpha.agora('consensus_get', { topic: due })).toMatchObject({ status: 'expired' });
  expect(await vote(topic, 'ben')).toMatchObject({ voted: true });
  expect(await pull(topic)).toMatchObject({ pulled: true, adopted: 2 });
});

test('what was never signed is told as that, wherever it is asked for', async () => {
  const topic = await opened('ann');
  await sql('UPDATE agora.ballot_entries SET sig = NULL, entry_sig = NULL WHERE topic = $1', topic);
  const unsigned = { reason: 'bad_signature', code: 'E_SIGNATURE' };
  expect(await pull(topic)).toMatchObject({ pulled: false, ...unsigned });
  const said = bed.between.said.length;
  expect(await alpha.agora('agora_push', { node: 'beta', topic })).toMatchObject({ pushed: false, ...unsigned });
  expect(bed.between.said).toHaveLength(said);
});
