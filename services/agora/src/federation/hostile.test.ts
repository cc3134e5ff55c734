/** Messages that were changed on their way, or made by somebody who may not: none has an effect, and each is counted. */
import { systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { runs } from '@svc/testing/counts.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BedNode, type Between, createBetween, openNode, SECRET, untilMet } from '../../testing/node-bed.ts';
import { claimedSender, envelopeText, type Envelope, readEnvelope, signedBytes } from './domain/envelope.ts';
import { createKeyring } from './domain/keyring.ts';
import { PEER_LIMITS } from './domain/quota.ts';
import { identityOf } from './domain/settings.ts';
import { createSeal, PRESENCE_SUBJECT, subjectOf } from './transport/wire.ts';

const PATIENCE_MS = 3000;
const AT_ONCE = 500;

let between: Between;
let alpha: BedNode;
let beta: BedNode;

beforeAll(async () => {
  between = createBetween();
  [alpha, beta] = await Promise.all([openNode('alpha', between), openNode('beta', between)]);
  await untilMet([alpha, beta]);
});

afterAll(async () => {
  await Promise.all([alpha.stop(), beta.stop()]);
});

interface Counters {
  received: number;
  accepted: number;
  rejected: Record<string, number>;
}
const countersOf = async () => (await alpha.agora('agora_sync_status', {}))['counters'] as Counters;
const rejectedIn = ({ rejected }: Counters) => Object.values(rejected).reduce((sum, count) => sum + count, 0);

/** How many of them were answered. */
async function answered(texts: readonly string[]): Promise<number> {
  let answers = 0;
  for (let at = 0; at < texts.length; at += AT_ONCE) {
    const asked = texts.slice(at, at + AT_ONCE).map((text) =>
      between.bus.request(subjectOf('alpha'), text, { deadlineAt: Date.now() + PATIENCE_MS / 10 }).then(
        () => (answers += 1),
        () => null,
      ),
    );
    await Promise.all(asked);
  }
  return answers;
}

const genuine = () =>
  createSeal(beta.keyring, { clock: systemClock, random: systemRandom })('alpha', 'topic.get', {
    topic: 'lunch',
    afterSeq: 0,
  }).text;

function flipped(text: string, place: number, bit: number): string {
  const bytes = Buffer.from(text);
  const at = place % bytes.length;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  return bytes.toString();
}

/** One field has another value; `resigned`: by a node that has another secret. */
function replaced(text: string, field: string, value: unknown): string {
  const { sig, ...envelope } = JSON.parse(text) as Envelope & { sig: string };
  return JSON.stringify(field === 'sig' ? { ...envelope, sig: value } : { ...envelope, [field]: value, sig });
}

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

test('of messages with one bit or one field changed none is accepted, and the counters add up', async () => {
  const before = await countersOf();
  const texts = fc.sample(mutation, runs(10_000)).flatMap((change) => {
    const text = genuine();
    const other =
      change.kind === 'bit' ? flipped(text, change.place, change.bit) : replaced(text, change.field, change.value);
    const read = readEnvelope(other);
    return typeof read !== 'string' && other === text ? [] : [other];
  });
  expect(texts.length).toBeGreaterThan(runs(9000));
  expect(await answered(texts)).toBe(0);
  const after = await countersOf();
  expect(rejectedIn(after) - rejectedIn(before)).toBe(texts.length);
  expect(after.received - after.accepted).toBe(rejectedIn(after));
  expect(await answered([genuine()])).toBe(1);
});

/** A node that calls itself so, with these settings. */
function impostor(name: string, over: object = {}) {
  const settings = {
    SVC_NODE_NAME: name,
    SVC_NODE_PORT: 1,
    SVC_NODE_SECRET: SECRET,
    SVC_NODE_AGENT_ID: 'eve',
    ...over,
  };
  const identity = identityOf(settings);
  if (identity === null) throw new Error('an impostor without identity');
  return createKeyring(identity);
}

function forged(over: Partial<Envelope>, by = impostor('beta')): string {
  const nonce = systemRandom.bytes(16).toString('base64url');
  const body = { topic: 'lunch', afterSeq: 0 };
  const whole = { v: 1, from: by.name, to: 'alpha', keyId: by.keyId, ts: Date.now(), nonce, type: 'topic.get', body };
  const envelope = { ...whole, ...over } as Envelope;
  return envelopeText(envelope, by.signEnvelope(envelope.to, signedBytes(envelope)));
}

const DEEP = JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) as unknown;

/** Of each kind; beside 10,000 that were changed on their way. */
const OF_EACH = runs(100);

test.each<readonly [string, string, () => string]>([
  ['size', 'too large', () => forged({ body: { topic: 'x'.repeat(600_000) } })],
  ['size', 'too deep', () => forged({ body: { topic: DEEP } })],
  ['unknown', 'of a stranger', () => forged({}, impostor('mallory'))],
  ['misdirected', 'for somebody else', () => forged({ to: 'beta' })],
  ['stale', 'old', () => forged({ ts: Date.now() - 360_000 })],
  [
    'signature',
    'with another secret',
    () => forged({}, impostor('beta', { SVC_NODE_SECRET: 'another secret of all' })),
  ],
  ['signature', 'with another key id', () => forged({ keyId: '0123456789abcdef' })],
  [
    'signature',
    'with a key nobody knows',
    () => forged({}, impostor('beta', { SVC_NODE_KEY: Buffer.alloc(32, 1).toString('base64url') })),
  ],
  ['schema', 'of another type', () => forged({ type: 'topic.drop' })],
  ['schema', 'with a body of another form', () => forged({ body: { topic: 'lunch' } })],
  ['schema', 'that is an answer', () => forged({ type: 'topic.get.reply', body: { re: 'x', absent: true } })],
])('%s: each message %s is dropped, counted and audited', async (reason, _what, text) => {
  const before = await countersOf();
  expect(await answered(Array.from({ length: OF_EACH }, text))).toBe(0);
  const after = await countersOf();
  const more = (of: string) => (after.rejected[of] ?? 0) - (before.rejected[of] ?? 0);
  expect(more(reason)).toBeGreaterThan(0);
  // Whoever has sent too much is not even read.
  expect(more(reason) + more('quota')).toBe(OF_EACH);
  expect(rejectedIn(after) - rejectedIn(before)).toBe(OF_EACH);
});

test('whoever asks too much is not answered any more for a while, and others are', async () => {
  const before = await countersOf();
  const texts = Array.from({ length: 400 }, genuine);
  const beganAt = performance.now();
  const answers = await answered(texts);
  const since = async () => {
    const { received, accepted, rejected } = await countersOf();
    const dropped = (rejected['quota'] ?? 0) - (before.rejected['quota'] ?? 0);
    return { received: received - before.received, accepted: accepted - before.accepted, dropped };
  };
  // Whom a busy machine answers too late has not been refused.
  await expect.poll(async () => (await since()).received).toBe(texts.length);
  const { accepted, dropped } = await since();
  const { burst, messagesPerSecond } = PEER_LIMITS;
  expect(accepted + dropped).toBe(texts.length);
  expect(answers).toBeLessThanOrEqual(accepted);
  expect(accepted).toBeLessThanOrEqual(burst + Math.ceil(((performance.now() - beganAt) / 1000) * messagesPerSecond));
  expect(dropped).toBeGreaterThan(0);
});

test('a flood is not verified once its sender has spent its quota, and nobody can spend that of another', async () => {
  const rejected = async (reason: string) => (await countersOf()).rejected[reason] ?? 0;
  await expect.poll(() => answered([genuine()])).toBe(1);
  const [signature, quota] = [await rejected('signature'), await rejected('quota')];
  const forgedOnes = Array.from({ length: 300 }, () =>
    forged({}, impostor('beta', { SVC_NODE_SECRET: 'another secret of all' })),
  );
  expect(await answered(forgedOnes)).toBe(0);
  await expect.poll(async () => (await rejected('signature')) - signature).toBe(300);
  expect(await answered([genuine()])).toBe(1);
  await answered([...Array.from({ length: 400 }, genuine), ...forgedOnes.slice(0, 50)]);
  await expect.poll(async () => (await rejected('quota')) - quota).toBeGreaterThan(100);
  expect((await rejected('signature')) - signature).toBeLessThan(350);
});

test('what comes from nobody that is known is not read, and names that are made up are heard as one', async () => {
  const before = await countersOf();
  const more = async (reason: string) => ((await countersOf()).rejected[reason] ?? 0) - (before.rejected[reason] ?? 0);
  const unread = forged({}, impostor('mallory')).replace('"body":{', `"body":{"x":"${'x'.repeat(400_000)}`);
  await answered([unread]);
  expect(await more('unknown')).toBe(1);
  for (let made = 0; made < 300; made += 1) {
    const by = impostor(`made-up-${made}`, { SVC_NODE_SECRET: 'another secret of all' });
    between.bus.publish(PRESENCE_SUBJECT, forged({ to: '*', type: 'presence' }, by));
  }
  await expect.poll(async () => (await more('signature')) + (await more('quota'))).toBe(300);
  expect(await more('quota')).toBeGreaterThan(100);
});

test('a sender is told from a text without reading it, whatever its body says', () => {
  expect(claimedSender(genuine())).toBe('beta');
  expect(claimedSender(forged({ body: { from: 'gamma', more: '"from":"gamma"' } }))).toBe('beta');
  expect(claimedSender('{}')).toBeNull();
  expect(claimedSender('{"from":"no such name"}')).toBeNull();
});

test('what one peer has open does not stand in front of everybody else at the database', async () => {
  await expect.poll(() => answered([genuine()])).toBe(1);
  const { pool } = alpha.database;
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, pool.waitingCount + pool.totalCount - pool.idleCount);
  }, 1);
  await answered(Array.from({ length: 60 }, genuine));
  clearInterval(watch);
  expect(most).toBeLessThan(10);
});
