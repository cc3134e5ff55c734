/** Helpers for callers: rates, sizes, breakers. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { BREAKER_OPEN_S } from '../settings.ts';
import { newName, verifies } from '../verifies.ts';

verifies(['qos:rate', 'qos:tenants'], async ({ keyed: place }) => {
  const [acme, beta] = [await createMembers(place, 'viewer', 'editor'), await createMembers(place, 'viewer')];
  const key = newName('k');
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      memberAt(acme, n % 2).caller.ok('qos_canProceed', { key, limit: 60 }, { gateway: n }),
    ),
  );
  const [passed, held] = [answers.filter(({ allowed }) => allowed), answers.filter(({ allowed }) => !allowed)];
  expect([passed.length, held.length]).toEqual([60, 40]);
  expect(passed.map(({ remaining }) => Number(remaining)).sort((one, other) => one - other)).toEqual(
    Array.from({ length: 60 }, (_, n) => n),
  );
  for (const { reason, remaining, retryAfterMs, resetAt } of held) {
    expect([reason, remaining]).toEqual(['rate', 0]);
    expect(retryAfterMs).toBeGreaterThanOrEqual(1);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(Number(resetAt)).toBeGreaterThan(Date.now());
  }
  expect(await memberAt(beta, 0).caller.ok('qos_canProceed', { key, limit: 60 })).toMatchObject({
    allowed: true,
    remaining: 59,
  });
  expect(await new Caller(place).ok('qos_canProceed', { key, limit: 60 })).toMatchObject({
    allowed: true,
    remaining: 59,
  });
  expect(await memberAt(acme, 0).caller.ok('qos_canProceed', { key: `${key}.`, limit: 1 })).toMatchObject({
    remaining: 0,
  });
  expect(await memberAt(acme, 0).caller.ok('escrow_status')).toMatchObject({ quotas: 2 });
  expect(await memberAt(beta, 0).caller.ok('escrow_status')).toMatchObject({ quotas: 1 });
});

verifies('qos:keyed', async ({ keyed }) => {
  const members = await createMembers(keyed, 'viewer', 'viewer');
  const [ann, bob] = [memberAt(members, 0).caller, memberAt(members, 1).caller];
  const key = newName('k');
  const headers = { 'idempotency-key': newName('key') };
  for (const [tool, args] of [
    ['qos_canProceed', { key, limit: 9 }],
    ['qos_recordFailure', { key, count: 2 }],
  ] as const) {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, gateway) => ann.call(tool, args, { headers, gateway })),
    );
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(replies.filter((reply) => reply.headers['idempotency-replayed'] === 'true')).toHaveLength(19);
    await ann.fails('IDEMPOTENCY_KEY_REUSED', tool, { ...args, key: `${key}.` }, { headers });
  }
  expect(await bob.ok('qos_canProceed', { key, limit: 9 }, { headers })).toMatchObject({ remaining: 7 });
  expect(await bob.ok('qos_recordFailure', { key }, { headers })).toMatchObject({ failures: 3, open: false });
});

verifies('qos:quota', async ({ caller }) => {
  const user = caller();
  const check = (input: unknown, more: Fields = {}) => user.ok('qos_checkQuota', { input, ...more });
  expect(await check('a'.repeat(1_000_000))).toEqual({ allowed: true, size: 1_000_000, maxSize: 1_000_000 });
  expect(await check('a'.repeat(1_000_001))).toMatchObject({ allowed: false, size: 1_000_001 });
  expect(await check('é', { maxSize: 2 })).toMatchObject({ allowed: true, size: 2 });
  expect(await check('é', { maxSize: 1 })).toMatchObject({ allowed: false, size: 2 });
  expect(await check({ a: ['é', 1] })).toMatchObject({ size: 14 });
  for (const maxSize of [0, 1_048_577, 1.5])
    await user.fails('VAF_INPUT_INVALID', 'qos_checkQuota', { input: 'x', maxSize });
});

verifies('qos:timeout', async ({ caller }) => {
  for (const args of [{ task: 'x' }, { task: { run: 'it' }, ms: 5 }, { task: 1, ms: 1 }]) {
    const refused = await caller().refused('NOT_APPLICABLE', 'qos_withTimeout', args);
    expect(refused).toMatchObject({ applicable: false, error: expect.any(String) });
  }
  await caller().fails('VAF_INPUT_INVALID', 'qos_withTimeout', {});
});

verifies('qos:breaker', async ({ place }) => {
  const { caller } = memberAt(await createMembers(place, 'viewer'), 0);
  const key = newName('k');
  const proceed = (gateway: number) => caller.ok('qos_canProceed', { key }, { gateway });
  for (let n = 1; n <= 4; n += 1) {
    expect(await caller.ok('qos_recordFailure', { key }, { gateway: n })).toMatchObject({ failures: n, open: false });
  }
  expect(await proceed(0)).toMatchObject({ allowed: true });
  const opened = await caller.ok('qos_recordFailure', { key }, { gateway: 1 });
  expect(opened).toMatchObject({ failures: 5, open: true });
  const closed = await proceed(0);
  expect(closed).toMatchObject({ allowed: false, reason: 'breaker_open' });
  expect(Number(closed.retryAfterMs)).toBeGreaterThan((BREAKER_OPEN_S - 10) * 1000);
  expect(Number(closed.retryAfterMs)).toBeLessThanOrEqual(BREAKER_OPEN_S * 1000);
  await delay(Number(opened.openUntil) - Date.now() - 4000);
  expect(await proceed(1)).toMatchObject({ allowed: false, reason: 'breaker_open' });
  await delay(Number(opened.openUntil) - Date.now() + 1000);
  const trials = await Promise.all(Array.from({ length: 10 }, (_, gateway) => proceed(gateway)));
  expect(trials.filter(({ allowed }) => allowed)).toHaveLength(1);
  expect(trials.filter(({ reason }) => reason === 'breaker_open')).toHaveLength(9);
});
