/** A peer that never stops, and strangers who take its name: what they cost, and whom. */
import { systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forgedBy, impostor } from '../../testing/forger.ts';
import { type BedNode, type Between, createBetween, openNode, untilMet } from '../../testing/node-bed.ts';
import { claimedSender, type Envelope } from './domain/envelope.ts';
import { PEER_LIMITS } from './domain/quota.ts';
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

/** How many of them were answered; one that is dropped is waited for as long as that. */
async function answered(texts: readonly string[], withinMs = PATIENCE_MS / 10): Promise<number> {
  let answers = 0;
  for (let at = 0; at < texts.length; at += AT_ONCE) {
    const asked = texts.slice(at, at + AT_ONCE).map((text) =>
      between.bus.request(subjectOf('alpha'), text, { deadlineAt: Date.now() + withinMs }).then(
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

const forged = (over: Partial<Envelope> = {}, by = beta.keyring): string => forgedBy(by, over);

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
  await expect.poll(async () => (await since()).received).toBeGreaterThanOrEqual(texts.length);
  const { received, accepted, dropped } = await since();
  const { burst, messagesPerSecond } = PEER_LIMITS;
  expect(accepted + dropped).toBe(received);
  expect(answers).toBeLessThanOrEqual(accepted);
  // Meanwhile it has also said, unasked, that it is there.
  const unasked = received - texts.length;
  const most = burst + unasked + Math.ceil(((performance.now() - beganAt) / 1000) * messagesPerSecond);
  expect(accepted).toBeLessThanOrEqual(most);
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

/** How many were at the database at once while sixty messages of one peer were answered; all = too few of them were. */
async function mostAtOnce(): Promise<number> {
  await expect.poll(() => answered([genuine()])).toBe(1);
  const { pool } = alpha.database;
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, pool.waitingCount + pool.totalCount - pool.idleCount);
  }, 1);
  const answers = await answered(Array.from({ length: 60 }, genuine), PATIENCE_MS);
  clearInterval(watch);
  return answers < 20 ? Number.POSITIVE_INFINITY : most;
}

test('what one peer has open does not stand in front of everybody else at the database', async () => {
  // At a full minute the jobs of the services are there too, all at once, so one quiet round is enough.
  await expect.poll(mostAtOnce, { timeout: 10 * PATIENCE_MS }).toBeLessThan(10);
});
