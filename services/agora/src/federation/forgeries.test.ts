/** Messages in great number that were changed on their way, or made by somebody who may not, with either kind of key: none counts. */
import { runs } from '@svc/testing/counts.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forgedBy, impostor } from '../../testing/forger.ts';
import { type BedNode, type Between, createBetween, openNode, untilMet } from '../../testing/node-bed.ts';
import { copyAt, sayTo, signAs } from '../../testing/peer-voice.ts';
import { type Envelope, readEnvelope } from './domain/envelope.ts';
import { ed25519Key } from './domain/keys.ts';
import type { WireLedger } from './domain/messages.ts';
import { subjectOf } from './transport/wire.ts';

const PATIENCE_MS = 300;
const AT_ONCE = 500;
const DEEP = JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) as unknown;
/** Of each kind; beside 10,000 that were changed on their way. */
const OF_EACH = runs(100);

const seedOf = (digit: number): string => Buffer.alloc(32, digit).toString('base64url');
const keyed = (own: number, name: string, other: number): Readonly<Record<string, string>> => ({
  SVC_NODE_KEY: seedOf(own),
  SVC_NODE_PEERS: JSON.stringify([{ name, publicKey: ed25519Key(seedOf(other)).publicKey }]),
});

const mutation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('bit' as const), place: fc.nat(), bit: fc.nat(7) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('field' as const),
      field: fc.constantFrom('v', 'from', 'to', 'keyId', 'ts', 'nonce', 'type', 'body', 'sig', 'more'),
      value: fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('alpha', 'gamma', '*', 'hmac', 1, {})),
    }),
  },
);

function flipped(text: string, place: number, bit: number): string {
  const bytes = Buffer.from(text);
  const at = place % bytes.length;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  return bytes.toString();
}

/** Signed with the secret of the group by whoever is known to have a key. */
const DOWNGRADE = ['signature', 'with the secret alone', () => forgedBy(impostor('beta'))] as const;

/** One field has another value. */
function replaced(text: string, field: string, value: unknown): string {
  const { sig, ...envelope } = JSON.parse(text) as Envelope & { sig: string };
  return JSON.stringify(field === 'sig' ? { ...envelope, sig: value } : { ...envelope, [field]: value, sig });
}

interface Counters {
  received: number;
  accepted: number;
  rejected: Record<string, number>;
}
const rejectedIn = ({ rejected }: Counters) => Object.values(rejected).reduce((sum, count) => sum + count, 0);

describe.each([
  ['hmac', {}, {}],
  ['ed25519', keyed(1, 'beta', 2), keyed(2, 'alpha', 1)],
] as const)('between nodes that sign with %s', (auth, ofAlpha, ofBeta) => {
  let between: Between;
  let alpha: BedNode;
  let beta: BedNode;

  beforeAll(async () => {
    between = createBetween();
    [alpha, beta] = await Promise.all([openNode('alpha', between, ofAlpha), openNode('beta', between, ofBeta)]);
    await untilMet([alpha, beta]);
  });
  afterAll(async () => {
    await Promise.all([alpha.stop(), beta.stop()]);
  });

  const countersOf = async () => (await alpha.agora('agora_sync_status', {}))['counters'] as Counters;
  const forged = (over: Partial<Envelope> = {}, by = beta.keyring) => forgedBy(by, over);

  /** How many of them were answered. */
  async function answered(texts: readonly string[]): Promise<number> {
    let answers = 0;
    for (let at = 0; at < texts.length; at += AT_ONCE) {
      const asked = texts.slice(at, at + AT_ONCE).map((text) =>
        between.bus.request(subjectOf('alpha'), text, { deadlineAt: Date.now() + PATIENCE_MS }).then(
          () => (answers += 1),
          () => null,
        ),
      );
      await Promise.all(asked);
    }
    return answers;
  }

  test('of messages with one bit or one field changed none is accepted, and the counters add up', async () => {
    const before = await countersOf();
    const texts = fc.sample(mutation, runs(10_000)).flatMap((change) => {
      const text = forged();
      const other =
        change.kind === 'bit' ? flipped(text, change.place, change.bit) : replaced(text, change.field, change.value);
      return typeof readEnvelope(other) !== 'string' && other === text ? [] : [other];
    });
    expect(texts.length).toBeGreaterThan(runs(9000));
    expect(await answered(texts)).toBe(0);
    const after = await countersOf();
    expect(rejectedIn(after) - rejectedIn(before)).toBe(texts.length);
    expect(after.received - after.accepted).toBe(rejectedIn(after));
    await expect.poll(() => answered([forged()])).toBe(1);
  });

  const betaWith = (over: Parameters<typeof impostor>[1]) => () => forged({}, impostor('beta', over));

  test.each<readonly [string, string, () => string]>([
    ['size', 'too large', () => forged({ body: { topic: 'x'.repeat(600_000) } })],
    ['size', 'too deep', () => forged({ body: { topic: DEEP } })],
    ['unknown', 'of a stranger', () => forged({}, impostor('mallory'))],
    ['misdirected', 'for somebody else', () => forged({ to: 'beta' })],
    ['stale', 'old', () => forged({ ts: Date.now() - 360_000 })],
    ['signature', 'with another secret', betaWith({ SVC_NODE_SECRET: 'another secret of all' })],
    ['signature', 'with another key id', () => forged({ keyId: '0123456789abcdef' })],
    ['signature', 'with a key nobody knows', betaWith({ SVC_NODE_KEY: seedOf(3) })],
    ['schema', 'of another type', () => forged({ type: 'topic.drop' })],
    ['schema', 'with a body of another form', () => forged({ body: { topic: 'lunch' } })],
    ['schema', 'that claims a status', () => forged({ type: 'topic.push', body: { status: 'passed' } })],
    ['schema', 'that is an answer', () => forged({ type: 'topic.get.reply', body: { re: 'x', absent: true } })],
    ...(auth === 'hmac' ? [] : [DOWNGRADE]),
  ])('%s: each message %s is dropped, counted and audited', async (reason, _what, text) => {
    await expectDropped(reason, Array.from({ length: OF_EACH }, text));
  });

  test('replay: each message that is said again is dropped, counted and audited', async () => {
    const text = forged();
    await expect.poll(() => answered([text])).toBe(1);
    await expectDropped(
      'replay',
      Array.from({ length: OF_EACH }, () => text),
    );
  });

  async function expectDropped(reason: string, texts: readonly string[]): Promise<void> {
    const before = await countersOf();
    expect(await answered(texts)).toBe(0);
    const after = await countersOf();
    const more = (of: string) => (after.rejected[of] ?? 0) - (before.rejected[of] ?? 0);
    expect(more(reason)).toBeGreaterThan(0);
    const [received, accepted] = [after.received - before.received, after.accepted - before.accepted];
    // Whoever has sent too much is not even read.
    expect(more(reason) + more('quota')).toBe(received - accepted);
    expect(rejectedIn(after) - rejectedIn(before)).toBe(received - accepted);
    // The peer has perhaps also said, unasked, that it is there.
    expect(accepted).toBeLessThanOrEqual(received - texts.length);
  }

  test('what a peer signs of what is not its to say is refused each time, and changes nothing', async () => {
    const topic = 'ours';
    await alpha.agora('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', minQuorum: 2 });
    await alpha.agora('consensus_vote', { topic, agentId: 'ann', choice: 'yes' });
    const before = await alpha.agora('consensus_get', { topic });
    const copy = await copyAt(alpha, topic);
    const { ballot, sig } = signAs(beta, copy, { voter: 'beta-agent', outcome: 'yes' });
    const entry = { seq: 2, ballot, ballotSig: sig, weight: 1000, admittedAt: Date.now() };
    const bySelf = beta.keyring.sign('svc-agora-entry', entry) ?? '';
    const decided = (winner: string, votes: number): WireLedger['decision'] => {
      const counts = { yes: winner === 'yes' ? votes : 0, no: winner === 'no' ? votes : 0 };
      const of = { status: 'passed' as const, winner, votes, percentage: 100, counts, entries: 1, voided: [] };
      const decision = { ...of, decidedAt: Date.now() };
      return { decision, sig: beta.keyring.sign('svc-agora-decision', decision) ?? '' };
    };
    const lies: readonly (readonly [string, object, object])[] = [
      ['topic.push', { ...copy, entries: [...copy.entries, { entry, sig: bySelf }] }, { refused: 'bad_signature' }],
      ['topic.push', { ...copy, decision: decided('yes', 1) }, { refused: 'bad_signature' }],
      ['topic.push', { ...copy, decision: decided('no', 2) }, { refused: 'bad_signature' }],
      ['ballot.cast', signAs(beta, copy, { voter: 'ann', outcome: 'no' }), { voted: false, code: 'E_NOT_REGISTRY' }],
      [
        'ballot.cast',
        signAs(beta, copy, { voter: 'gamma-agent', outcome: 'no' }),
        { voted: false, code: 'E_NOT_REGISTRY' },
      ],
    ];
    for (const lie of lies) {
      for (let said = 0; said < OF_EACH; said += 1) await expectRefused(lie);
    }
    expect(await alpha.agora('consensus_get', { topic })).toEqual(before);
  });

  /** Whoever has spent its quota is not answered for a moment. */
  async function expectRefused([type, body, refusal]: readonly [string, object, object]): Promise<void> {
    let answer = await sayTo(between, [beta, alpha], [type, body], PATIENCE_MS);
    for (let again = 0; answer === 'silence' && again < 100; again += 1) {
      answer = await sayTo(between, [beta, alpha], [type, body], PATIENCE_MS);
    }
    expect(answer).toMatchObject(refusal);
  }
});
