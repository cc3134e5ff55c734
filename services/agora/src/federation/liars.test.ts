/** Who signs two outcomes is void; what a node signs in the name of somebody else's voter has no effect, wherever it is sent. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type Between, type NodesBed, openNodes } from '../../testing/node-bed.ts';
import { copyAt, lieAs, sayTo, signAs } from '../../testing/peer-voice.ts';
import type { WireLedger } from './domain/messages.ts';

let bed: NodesBed<'alpha' | 'beta' | 'gamma'>;
let between: Between;
let alpha: BedNode;
let beta: BedNode;
let gamma: BedNode;
let made = 0;

beforeAll(async () => {
  bed = await openNodes(['alpha', 'beta', 'gamma']);
  ({ between } = bed);
  ({ alpha, beta, gamma } = bed.nodes);
});

afterAll(() => bed.stop());

/** A topic of alpha on which its own ann has voted. */
async function opened(): Promise<string> {
  const topic = `lunch-${(made += 1)}`;
  await alpha.agora('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', minQuorum: 5 });
  await alpha.agora('consensus_vote', { topic, agentId: 'ann', choice: 'yes' });
  return topic;
}

const ledger = (node: BedNode, topic: string) => node.agora('consensus_get', { topic });
const push = (from: BedNode, to: BedNode, copy: WireLedger) => sayTo(between, [from, to], ['topic.push', copy]);

async function proofsAt(node: BedNode, topic: string): Promise<number> {
  const { rows } = await node.database.pool.query('SELECT 1 FROM agora.equivocations WHERE topic = $1', [topic]);
  return rows.length;
}

test('what a node signs in the name of a voter of another one makes nobody void', async () => {
  const topic = await opened();
  const before = await ledger(alpha, topic);
  const copy = await copyAt(alpha, topic);
  const [own] = copy.entries;
  if (own === undefined) throw new Error('ann has not voted');
  const mixed = [
    { ballot: own.entry.ballot, sig: own.entry.ballotSig },
    signAs(gamma, copy, { voter: 'ann', outcome: 'no' }),
  ] as const;
  await push(gamma, alpha, { ...copy, evidence: [lieAs(gamma, copy, 'ann')] });
  await push(gamma, alpha, { ...copy, evidence: [[...mixed]] });
  expect(await ledger(alpha, topic)).toEqual(before);
  expect(await proofsAt(alpha, topic)).toBe(0);
});

test('a false proof does not stand in the way of a true one, and all nodes come to one hash', async () => {
  const topic = await opened();
  const copy = await copyAt(alpha, topic);
  const [yes, no] = lieAs(beta, copy, 'beta-agent');
  const slander = lieAs(gamma, copy, 'beta-agent');
  await push(gamma, alpha, { ...copy, evidence: [slander] });
  expect(await sayTo(between, [beta, alpha], ['ballot.cast', yes])).toMatchObject({ voted: true, votes: 2 });
  await gamma.agora('agora_pull', { node: 'alpha', topic });
  await push(beta, gamma, { ...(await copyAt(alpha, topic)), evidence: [slander, [yes, no]] });
  expect(await ledger(gamma, topic)).toMatchObject({ voided: ['beta-agent'] });
  await gamma.agora('agora_push', { node: 'alpha', topic });
  await beta.agora('agora_pull', { node: 'gamma', topic });
  const seen = await Promise.all([alpha, beta, gamma].map((node) => ledger(node, topic)));
  for (const each of seen) expect(each).toMatchObject({ voided: ['beta-agent'], hash: seen[0]?.['hash'] });
  expect(await alpha.agora('consensus_tally', { topic })).toMatchObject({ votes: 1 });
});

test('a voter whose lie is known before its ballot does not count, and is void at once', async () => {
  const topic = await opened();
  const copy = await copyAt(alpha, topic);
  const [yes, no] = lieAs(beta, copy, 'beta-agent');
  await push(gamma, alpha, { ...copy, evidence: [[yes, no]] });
  expect(await ledger(alpha, topic)).toMatchObject({ voided: [], equivocators: ['beta-agent'] });
  expect(await sayTo(between, [beta, alpha], ['ballot.cast', yes])).toMatchObject({ voted: true, votes: 1 });
  const { hash } = await ledger(alpha, topic);
  await gamma.agora('agora_pull', { node: 'alpha', topic });
  expect(await ledger(gamma, topic)).toMatchObject({ voided: ['beta-agent'], hash });
});

test('proofs against voters that nobody knows are not kept', async () => {
  const topic = await opened();
  const copy = await copyAt(alpha, topic);
  const invented = Array.from({ length: 40 }, (_, index) => lieAs(gamma, copy, `nobody-${index}`));
  expect(await push(gamma, alpha, { ...copy, evidence: invented })).toMatchObject({ adopted: 0 });
  expect(await proofsAt(alpha, topic)).toBe(0);
});
