/** Decisions that somebody else passes on: each counts for the ledger that its owner took it on, and for no other. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type Between, type NodesBed, openNodes } from '../../testing/node-bed.ts';
import { copyAt, sayTo } from '../../testing/peer-voice.ts';
import { ed25519Key } from './domain/keys.ts';
import type { WireLedger } from './domain/messages.ts';

const NAMES = ['alpha', 'beta', 'gamma'] as const;
type Name = (typeof NAMES)[number];
const seedOf = (name: Name) => Buffer.alloc(32, NAMES.indexOf(name) + 1).toString('base64url');
/** Each knows the keys of the others, so that nobody signs as somebody else. */
const keyed = (self: Name) => ({
  SVC_NODE_KEY: seedOf(self),
  SVC_NODE_PEERS: JSON.stringify(
    NAMES.filter((name) => name !== self).map((name) => ({ name, publicKey: ed25519Key(seedOf(name)).publicKey })),
  ),
});

let bed: NodesBed<Name>;
let between: Between;
let alpha: BedNode;
let beta: BedNode;
let gamma: BedNode;
let made = 0;

beforeAll(async () => {
  bed = await openNodes(NAMES, { alpha: keyed('alpha'), beta: keyed('beta'), gamma: keyed('gamma') });
  ({ between } = bed);
  ({ alpha, beta, gamma } = bed.nodes);
});

afterAll(() => bed.stop());

/** A topic of alpha that these ballots decide. */
async function decided(...ballots: readonly string[]): Promise<WireLedger & { readonly topic: string }> {
  const topic = `decided-${(made += 1)}`;
  await alpha.agora('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', minQuorum: ballots.length });
  for (const [index, choice] of ballots.entries()) {
    await alpha.agora('consensus_vote', { topic, agentId: `voter-${index}`, choice });
  }
  return { ...(await copyAt(alpha, topic)), topic };
}

const push = (from: BedNode, to: BedNode, { topic: _topic, ...copy }: WireLedger & { readonly topic?: string }) =>
  sayTo(between, [from, to], ['topic.push', copy]);
const ledger = (node: BedNode, topic: string) => node.agora('consensus_get', { topic });
const pull = (node: BedNode, from: string, topic: string) => node.agora('agora_pull', { node: from, topic });
const unbound = ({ decision }: WireLedger): WireLedger['decision'] =>
  decision === null ? null : { decision: decision.decision, sig: decision.sig };

test('a decision on one topic is none on another that looks the same, whoever tells it', async () => {
  const [one, other] = [await decided('yes', 'yes'), await decided('yes', 'yes', 'no')];
  for (const decision of [one.decision, unbound(one)]) {
    const lie = { ...other, entries: other.entries.slice(0, 2), decision };
    expect(await push(gamma, beta, lie)).toEqual(expect.objectContaining({ refused: 'bad_signature' }));
    expect(await ledger(beta, other.topic)).toMatchObject({ status: 'open', votes: { length: 2 } });
  }
  expect(await pull(beta, 'alpha', other.topic)).toMatchObject({ pulled: true, adopted: 1, status: 'passed' });
  expect(await ledger(beta, other.topic)).not.toHaveProperty('disputed');
});

test('a decision that is of another topic does not freeze a copy that is decided', async () => {
  const [one, other] = [await decided('yes', 'yes'), await decided('no', 'no')];
  expect(await pull(beta, 'alpha', other.topic)).toMatchObject({ status: 'passed' });
  const before = await ledger(beta, other.topic);
  for (const decision of [one.decision, unbound(one)]) await push(gamma, beta, { ...other, decision });
  expect(await ledger(beta, other.topic)).toMatchObject({ hash: before['hash'], status: 'passed' });
  expect(await pull(beta, 'alpha', other.topic)).toMatchObject({ pulled: true, adopted: 0 });
});

test('a decision is passed on by others, and one that only its owner has told when that binds it', async () => {
  const { topic, ...copy } = await decided('yes', 'yes');
  const { hash } = await ledger(alpha, topic);
  // As a node says it that does not bind what it decides.
  expect(await push(alpha, beta, { ...copy, decision: unbound(copy) })).toMatchObject({ status: 'passed', hash });
  expect(await pull(gamma, 'beta', topic)).toMatchObject({ pulled: true, adopted: 2, status: 'open' });
  expect(await pull(beta, 'alpha', topic)).toMatchObject({ status: 'passed', hash });
  expect(await pull(gamma, 'beta', topic)).toMatchObject({ pulled: true, adopted: 0, status: 'passed', hash });
});

test('an owner that binds a decision to ballots that it did not admit contradicts itself', async () => {
  const { topic, ...copy } = await decided('yes', 'yes');
  const { decision } = copy;
  if (decision === null) throw new Error('it is not decided');
  const ledgerOfNothing = '0'.repeat(64);
  const said = { decision: decision.decision, header: copy.entries[0]?.entry.ballot.header, ledger: ledgerOfNothing };
  const bound = { ledger: ledgerOfNothing, sig: alpha.keyring.sign('svc-agora-binding', said) ?? '' };
  expect(await push(gamma, beta, { ...copy, decision: { ...decision, bound } })).toEqual(
    expect.objectContaining({ refused: 'disputed' }),
  );
  expect(await ledger(beta, topic)).toMatchObject({ status: 'open', disputed: true });
});

test('of a page in which an owner admits a voter twice nothing is kept', async () => {
  const { topic, ...copy } = await decided('yes', 'yes', 'yes');
  const [one, two, three] = copy.entries;
  if (one === undefined || two === undefined || three === undefined) throw new Error('three have voted');
  await push(gamma, beta, { ...copy, entries: [one], decision: null });
  const entry = { ...three.entry, ballot: two.entry.ballot, ballotSig: two.entry.ballotSig };
  const twice = { entry, sig: alpha.keyring.sign('svc-agora-entry', entry) ?? '' };
  expect(await push(gamma, beta, { ...copy, entries: [two, twice], decision: null })).toEqual(
    expect.objectContaining({ refused: 'disputed' }),
  );
  expect(await ledger(beta, topic)).toMatchObject({ disputed: true, votes: { length: 1 } });
});
