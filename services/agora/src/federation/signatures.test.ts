/** Whose signature counts for what, and what one that is none spoils: itself, and what builds on it. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type Between, createBetween, openNode, SECRET, untilMet } from '../../testing/node-bed.ts';
import { copyAt, lieAs, sayTo, signAs } from '../../testing/peer-voice.ts';
import { headerHash } from '../ledger/domain/ledger.ts';
import { createKeyring } from './domain/keyring.ts';
import { ed25519Key, hmacSignature, ledgerKey } from './domain/keys.ts';
import type { WireLedger } from './domain/messages.ts';
import { identityOf, type NodeIdentity } from './domain/settings.ts';

const seedOf = (digit: number) => Buffer.alloc(32, digit).toString('base64url');
const KEYED = ['kay', 'lea'] as const;
const peer = (name: string, digit: number) => ({ name, publicKey: ed25519Key(seedOf(digit)).publicKey });

let between: Between;
let alpha: BedNode;
let beta: BedNode;
/** With keys of their own, as the other one knows. */
let kay: BedNode;
let lea: BedNode;

beforeAll(async () => {
  between = createBetween();
  const keyed = (own: number, other: string, digit: number) => ({
    SVC_NODE_KEY: seedOf(own),
    SVC_NODE_PEERS: JSON.stringify([peer(other, digit)]),
  });
  [alpha, beta, kay, lea] = await Promise.all([
    openNode('alpha', between),
    openNode('beta', between),
    openNode(KEYED[0], between, keyed(1, KEYED[1], 2)),
    openNode(KEYED[1], between, keyed(2, KEYED[0], 1)),
  ]);
  await untilMet([alpha, beta]);
});

afterAll(async () => {
  await Promise.all([alpha, beta, kay, lea].map((node) => node.stop()));
});

async function opened(node: BedNode, topic: string, over: object = {}): Promise<string> {
  const wish = { topic, options: ['yes', 'no'], agentId: 'ann', minQuorum: 5, ...over };
  expect(await node.agora('consensus_create', wish)).toMatchObject({ topic });
  return topic;
}

const vote = (node: BedNode, topic: string, agentId: string) =>
  node.agora('consensus_vote', { topic, agentId, choice: 'yes' });
const ledger = (node: BedNode, topic: string) => node.agora('consensus_get', { topic });

/** As everybody who has the secret of the group can sign it in the name of `node`. */
function withTheSecret(node: string, label: string, value: unknown): string {
  return hmacSignature(ledgerKey(SECRET, node), `${label}\0${canonicalJson(value)}`);
}

test('a node with a key of its own does not take for its own what is signed with the secret of the group', async () => {
  const topic = await opened(kay, 'keyed');
  await vote(kay, topic, 'ann');
  const before = await ledger(kay, topic);
  const copy = await copyAt(kay, topic);
  const pair = lieAs(kay, copy, 'ann').map(({ ballot }) => ({
    ballot,
    sig: withTheSecret('kay', 'svc-agora-ballot', ballot),
  }));
  expect(await sayTo(between, [lea, kay], ['topic.push', { ...copy, evidence: [pair] }])).toMatchObject({ adopted: 0 });
  expect(await ledger(kay, topic)).toEqual(before);
});

test('what a node signed before it had a key of its own, and keeps, still counts for it', async () => {
  const topic = await opened(kay, 'earlier');
  await vote(kay, topic, 'ann');
  const copy = await copyAt(kay, topic);
  const entry = copy.entries[0]?.entry;
  if (entry === undefined) throw new Error('ann has not voted');
  const ballotSig = withTheSecret('kay', 'svc-agora-ballot', entry.ballot);
  const header = withTheSecret('kay', 'svc-agora-header', copy.header);
  const sql = (text: string, ...values: string[]) => kay.database.pool.query(text, [topic, ...values]);
  await sql('UPDATE agora.ballot_entries SET sig = $2 WHERE topic = $1', ballotSig);
  await sql('UPDATE agora.topics SET header_sig = $2 WHERE topic = $1', header);
  const kept = await copyAt(kay, topic);
  expect(await sayTo(between, [lea, kay], ['topic.push', kept])).toMatchObject({ adopted: 0, status: 'open' });
  // A ballot of its own on a topic of another node, as it was sent in that time.
  const theirs = await opened(lea, 'theirs');
  const { header: of } = await copyAt(lea, theirs);
  const { ballot } = signAs(kay, { header: of }, { voter: 'kay-agent', outcome: 'yes' });
  const sig = withTheSecret('kay', 'svc-agora-ballot', ballot);
  const admitted = { seq: 1, ballot, ballotSig: sig, weight: 1000, admittedAt: Date.now() };
  const page = {
    ...(await copyAt(lea, theirs)),
    entries: [{ entry: admitted, sig: lea.keyring.sign('svc-agora-entry', admitted) ?? '' }],
  };
  expect(await sayTo(between, [lea, kay], ['topic.push', page])).toEqual(
    expect.objectContaining({ refused: 'bad_signature' }),
  );
  await kay.database.pool.query(
    `INSERT INTO agora.signed_ballots (header, voter, owner, topic, ballot, sig, at) VALUES ($1, 'kay-agent', 'lea', $2, $3, $4, now())`,
    [headerHash(of), theirs, JSON.stringify(ballot), sig],
  );
  expect(await sayTo(between, [lea, kay], ['topic.push', page])).toMatchObject({ adopted: 1 });
});

test('a ballot of a moment that was not yet, or long ago, is not admitted', async () => {
  const topic = await opened(alpha, 'moments');
  const copy = await copyAt(alpha, topic);
  for (const votedAt of [Number.MAX_SAFE_INTEGER, 0, Date.now() + 400_000, copy.header.createdAt - 400_000]) {
    const ballot = signAs(beta, copy, { voter: 'beta-agent', outcome: 'yes', votedAt });
    expect(await sayTo(between, [beta, alpha], ['ballot.cast', ballot])).toMatchObject({
      voted: false,
      code: 'E_CLOSED',
      status: 'open',
    });
  }
  const inTime = signAs(beta, copy, { voter: 'beta-agent', outcome: 'yes', votedAt: Date.now() + 200_000 });
  expect(await sayTo(between, [beta, alpha], ['ballot.cast', inTime])).toMatchObject({ voted: true });
});

test('a moment that an owner signed is kept to the millisecond, however far away it is', async () => {
  const topic = await opened(alpha, 'far');
  const copy = await copyAt(alpha, topic);
  const { ballot, sig } = signAs(beta, copy, { voter: 'beta-agent', outcome: 'yes', votedAt: 9_007_199_254_740_991 });
  const entry = { seq: 1, ballot, ballotSig: sig, weight: 1000, admittedAt: 9_007_199_254_740_989 };
  const entries = [{ entry, sig: alpha.keyring.sign('svc-agora-entry', entry) ?? '' }];
  expect(await sayTo(between, [alpha, beta], ['topic.push', { ...copy, entries }])).toMatchObject({ adopted: 1 });
  expect((await copyAt(beta, topic)).entries).toEqual(entries);
});

test('an entry with a signature that is none leaves what comes before it, and the proofs beside it', async () => {
  const topic = await opened(alpha, 'partly');
  for (const voter of ['ann', 'ben', 'cy']) await vote(alpha, topic, voter);
  const copy = await copyAt(alpha, topic);
  const entries = copy.entries.map((signed, index) => (index === 2 ? { ...signed, sig: 'none' } : signed));
  const proofs: WireLedger['evidence'] = [
    [signAs(alpha, copy, { voter: 'ann', outcome: 'yes' }), signAs(beta, copy, { voter: 'ann', outcome: 'no' })],
    lieAs(alpha, copy, 'ben'),
  ];
  const sent = { ...copy, entries, evidence: proofs };
  expect(await sayTo(between, [alpha, beta], ['topic.push', sent])).toMatchObject({ refused: 'bad_signature' });
  expect(await ledger(beta, topic)).toMatchObject({ votes: { length: 2 }, voided: ['ben'] });
  expect(await beta.agora('agora_pull', { node: 'alpha', topic })).toMatchObject({ pulled: true, adopted: 1 });
});

test('what an owner signed with a key that others do not know of it any more is refused, and its topics stay its own', async () => {
  const topic = await opened(kay, 'rotated');
  await vote(kay, topic, 'ann');
  const copy = await copyAt(kay, topic);
  const before = createKeyring(identityWith(kay.name, seedOf(3)));
  const [signed] = copy.entries;
  if (signed === undefined) throw new Error('ann has not voted');
  const old: WireLedger = {
    ...copy,
    headerSig: before.sign('svc-agora-header', copy.header) ?? '',
    entries: [{ ...signed, sig: before.sign('svc-agora-entry', signed.entry) ?? '' }],
  };
  const push = (body: WireLedger) => sayTo(between, [kay, lea], ['topic.push', body]);
  expect(await push(old)).toEqual(expect.objectContaining({ refused: 'bad_signature' }));
  expect(await push({ ...old, headerSig: copy.headerSig })).toEqual(
    expect.objectContaining({ refused: 'bad_signature' }),
  );
  expect(await lea.agora('consensus_tally', { topic })).toMatchObject({ votes: 0 });
  expect(await push(copy)).toMatchObject({ adopted: 1 });
  expect(await kay.agora('consensus_tally', { topic })).toMatchObject({ votes: 1 });
});

function identityWith(name: string, seed: string): NodeIdentity {
  const settings = { SVC_NODE_NAME: name, SVC_NODE_PORT: 1, SVC_NODE_SECRET: SECRET, SVC_NODE_AGENT_ID: 'eve' };
  const identity = identityOf({ ...settings, SVC_NODE_KEY: seed });
  if (identity === null) throw new Error('a node without identity');
  return identity;
}
