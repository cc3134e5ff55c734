/** What the qos helpers promise, wherever their states are kept. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { FakeClock } from '@svc/testing/fakes.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { OutcomeLimits } from './outcomes.ts';
import { createQos, type KeyStates, type Qos } from './qos.ts';
import type { Failures, Proceed } from './window.ts';

interface QosSetup {
  /** Stores that share their states, as replicas do. */
  open(limits?: OutcomeLimits): Promise<readonly KeyStates[]>;
  /** Absent where time cannot be moved. */
  readonly clock?: FakeClock;
}

const OPEN_MS = 60_000;

interface Unkeyed {
  canProceed(scope: string, key: string, limit: number): Promise<Proceed>;
  recordFailure(scope: string, key: string, count: number): Promise<Failures>;
  countOpen(scope: string | null): Promise<number>;
}

function unkeyed(qos: Qos): Unkeyed {
  const idempotency = null;
  return {
    canProceed: async (scope, key, limit) => answerOf(await qos.canProceed({ scope, key, idempotency }, limit)),
    recordFailure: async (scope, key, count) => answerOf(await qos.recordFailure({ scope, key, idempotency }, count)),
    countOpen: (scope) => qos.countOpen(scope),
  };
}

function answerOf<Answer>({ decision, replayed }: Once<Answer, never>): Answer {
  if (!decision.ok || replayed) throw new Error('not a fresh answer');
  return decision.value;
}

function firstOf<Replica>(replicas: readonly Replica[]): Replica {
  const [first] = replicas;
  if (first === undefined) throw new Error('no replica');
  return first;
}

export function describeQos(name: string, setup: QosSetup): void {
  describeCounting(name, setup);
  describeKeyed(name, setup);
}

function describeCounting(name: string, { open, clock }: QosSetup): void {
  describe(`qos: ${name}`, () => {
    let replicas: Unkeyed[];
    let key: string;
    let keys = 0;
    beforeEach(async () => {
      replicas = (await open()).map((states) => unkeyed(createQos(states, OPEN_MS)));
      key = `k${(keys += 1)}`;
    });
    const one = (): Unkeyed => firstOf(replicas);

    it('lets exactly so many through, over all replicas', async () => {
      const done = await Promise.all(
        Array.from({ length: 100 }, (_, n) => (replicas[n % replicas.length] ?? one()).canProceed('ws:a', key, 60)),
      );
      const allowed = done.filter((answer) => answer.allowed);
      expect(allowed).toHaveLength(60);
      expect(new Set(allowed.map(({ remaining }) => remaining)).size).toBe(60);
      for (const { reason, retryAfterMs, remaining } of done.filter((answer) => !answer.allowed)) {
        expect({ reason, remaining }).toEqual({ reason: 'rate', remaining: 0 });
        expect(retryAfterMs).toBeGreaterThanOrEqual(1);
        expect(retryAfterMs).toBeLessThanOrEqual(60_000);
      }
    });

    it('keeps scopes and keys apart', async () => {
      await one().canProceed('ws:a', key, 1);
      expect(await one().canProceed('ws:a', key, 1)).toMatchObject({ allowed: false });
      expect(await one().canProceed('ws:b', key, 1)).toMatchObject({ allowed: true });
      expect(await one().canProceed('ws:a', `${key}x`, 1)).toMatchObject({ allowed: true });
      for (let n = 0; n < 5; n += 1) await one().recordFailure('ws:a', key, 1);
      expect(await one().canProceed('ws:b', key, 10)).toMatchObject({ allowed: true });
    });

    it('opens the breaker at the fifth failure', async () => {
      for (let n = 1; n < 5; n += 1) {
        expect(await one().recordFailure('ws:a', key, 1)).toEqual({ failures: n, open: false });
      }
      expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ allowed: true });
      const last = await replicas.at(-1)?.recordFailure('ws:a', key, 1);
      expect(last).toMatchObject({ failures: 5, open: true, openUntil: expect.any(Number) });
      expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ allowed: false, reason: 'breaker_open' });
      expect(await one().recordFailure('ws:a', `${key}x`, 1000)).toMatchObject({ failures: 1000, open: true });
    });

    it('counts the open windows of a scope', async () => {
      const scope = `ws:${key}`;
      expect(await one().countOpen(scope)).toBe(0);
      for (const name of ['x', 'y', 'x']) await one().canProceed(scope, name, 5);
      expect(await one().countOpen(scope)).toBe(2);
      expect(await one().countOpen(null)).toBeGreaterThanOrEqual(2);
    });

    it.skipIf(clock === undefined)('slides, and never lets more through in any 60 seconds', async () => {
      const allowedAt: number[] = [];
      const startedAt = clock?.now() ?? 0;
      for (let n = 0; n < 2000; n += 1) {
        clock?.advance(137);
        const now = clock?.now() ?? 0;
        if ((await one().canProceed('ws:a', key, 60)).allowed) allowedAt.push(now);
      }
      for (const at of allowedAt) {
        expect(allowedAt.filter((other) => other > at - 60_000 && other <= at).length).toBeLessThanOrEqual(60);
      }
      const minutes = ((clock?.now() ?? 0) - startedAt) / 60_000;
      expect(allowedAt.length).toBeGreaterThan(55 * (minutes - 1));
    });

    it.skipIf(clock === undefined)(
      'holds for a minute, not until a clock that was set back is there again',
      async () => {
        for (let n = 0; n < 3; n += 1) await one().canProceed('ws:a', key, 3);
        await one().recordFailure('ws:a', `${key}-open`, 5);
        clock?.advance(-HOUR_MS);
        expect(await one().canProceed('ws:a', key, 3)).toMatchObject({ allowed: true, remaining: 2 });
        for (let n = 0; n < 4; n += 1) {
          expect(await one().recordFailure('ws:a', key, 1)).toMatchObject({ failures: n + 1, open: false });
        }
        const closesAt = (clock?.now() ?? 0) + OPEN_MS;
        const stillOpen = { allowed: false, reason: 'breaker_open', retryAfterMs: OPEN_MS };
        expect(await one().canProceed('ws:a', `${key}-open`, 3)).toMatchObject(stillOpen);
        clock?.advance(1000);
        expect(await one().recordFailure('ws:a', `${key}-open`, 1)).toMatchObject({ open: true, openUntil: closesAt });
        clock?.advance(OPEN_MS - 1000);
        expect(await one().canProceed('ws:a', `${key}-open`, 3)).toMatchObject({ allowed: true });
      },
    );

    it.skipIf(clock === undefined)(
      'tries once after the breaker was open, and closes when that went well',
      async () => {
        await one().recordFailure('ws:a', key, 5);
        clock?.advance(59_999);
        expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ reason: 'breaker_open', retryAfterMs: 1 });
        clock?.advance(1);
        expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ allowed: true });
        expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ allowed: false, reason: 'breaker_open' });
        expect(await one().recordFailure('ws:a', key, 1)).toMatchObject({ open: true });
        clock?.advance(60_000);
        expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ allowed: true });
        clock?.advance(60_000);
        expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ allowed: true });
        expect(await one().canProceed('ws:a', key, 60)).toMatchObject({ allowed: true });
      },
    );

    it.skipIf(clock === undefined)('opens the breaker for as long as it is told', async () => {
      const [states] = await open();
      if (states === undefined) throw new Error('no replica');
      const short = unkeyed(createQos(states, 10_000));
      await short.recordFailure('ws:a', key, 5);
      expect(await short.canProceed('ws:a', key, 60)).toMatchObject({ reason: 'breaker_open' });
      clock?.advance(10_000);
      expect(await short.canProceed('ws:a', key, 60)).toMatchObject({ allowed: true });
      expect(await short.canProceed('ws:a', key, 60)).toMatchObject({ allowed: false, reason: 'breaker_open' });
      clock?.advance(10_000);
      expect(await short.canProceed('ws:a', key, 60)).toMatchObject({ allowed: true });
    });

    it.skipIf(clock === undefined)('forgets what is over', async () => {
      const scope = `ws:${key}`;
      await one().canProceed(scope, 'x', 5);
      clock?.advance(130_000);
      expect(await one().countOpen(scope)).toBe(0);
    });
  });
}

const HOUR_MS = 3_600_000;

function describeKeyed(name: string, { open, clock }: QosSetup): void {
  describe(`qos with an idempotency key: ${name}`, () => {
    let replicas: Qos[];
    let key: string;
    let keys = 0;
    beforeEach(async () => {
      replicas = (await open()).map((states) => createQos(states, OPEN_MS));
      key = `keyed${(keys += 1)}`;
    });
    const one = (): Qos => firstOf(replicas);
    const scopeOf = (over: Partial<IdempotencyScope> = {}): IdempotencyScope => ({
      principal: 'tok:ann',
      tool: 'qos_canProceed',
      key,
      argsHash: 'one',
      ...over,
    });
    const proceed = (qos: Qos, over: Partial<IdempotencyScope> = {}, limit = 60) =>
      qos.canProceed({ scope: 'ws:a', key, idempotency: scopeOf(over) }, limit);
    const fail = (qos: Qos, over: Partial<IdempotencyScope> = {}) =>
      qos.recordFailure({ scope: 'ws:a', key, idempotency: scopeOf({ tool: 'qos_recordFailure', ...over }) }, 3);
    /** How many calls are left of 60 for the next one, which is counted. */
    const remaining = async () => (await unkeyed(one()).canProceed('ws:a', key, 60)).remaining;
    const pass = async (ms: number) => (clock === undefined ? sleep(ms) : clock.advance(ms));

    it('counts twins at once once, and answers them alike', async () => {
      const twins = Array.from({ length: 30 }, (_, n) => replicas[n % replicas.length] ?? one());
      for (const call of [proceed, fail]) {
        const answers = await Promise.all(twins.map((qos) => call(qos)));
        expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
        const texts = answers.map(({ decision }) => JSON.stringify(decision));
        expect(new Set(texts).size).toBe(1);
      }
      expect(await remaining()).toBe(58);
      expect(await unkeyed(one()).recordFailure('ws:a', key, 1)).toEqual({ failures: 4, open: false });
    });

    it('refuses the key with other arguments, also at once, and counts nothing for them', async () => {
      const twins = Array.from({ length: 12 }, (_, n) => replicas[n % replicas.length] ?? one());
      const both = await Promise.allSettled(
        twins.map((qos, n) =>
          qos.canProceed({ scope: 'ws:a', key: `${key}-${n}`, idempotency: scopeOf({ argsHash: `args ${n}` }) }, 60),
        ),
      );
      expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const outcome of both) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
      }
      const left = await Promise.all(twins.map((_, n) => unkeyed(one()).canProceed('ws:a', `${key}-${n}`, 60)));
      expect(left.map((answer) => answer.remaining).sort((a, b) => a - b)).toEqual([
        58,
        ...Array.from({ length: 11 }, () => 59),
      ]);
    });

    it('keeps the keys of callers and tools apart', async () => {
      for (const [n, over] of [{}, { principal: 'tok:bob' }, { tool: 'other_tool' }, { key: `${key}x` }].entries()) {
        expect(await proceed(one(), over)).toMatchObject({
          replayed: false,
          decision: { value: { remaining: 59 - n } },
        });
      }
      // parts that could be taken for one another when they are joined
      expect(await proceed(one(), { principal: 'a', tool: 'b c' })).toMatchObject({ replayed: false });
      expect(await proceed(one(), { principal: 'a b', tool: 'c' })).toMatchObject({ replayed: false });
    });

    it('repeats a denial under its key, and lets another key ask again', async () => {
      await unkeyed(one()).canProceed('ws:a', key, 1);
      const denied = await proceed(one(), {}, 1);
      expect(denied).toMatchObject({ replayed: false, decision: { value: { allowed: false, reason: 'rate' } } });
      expect(await proceed(one(), {}, 1)).toEqual({ ...denied, replayed: true });
      await unkeyed(one()).recordFailure('ws:a', key, 5);
      expect(await proceed(one(), {}, 1)).toEqual({ ...denied, replayed: true });
      expect(await proceed(one(), { key: `${key}x` }, 1)).toMatchObject({
        replayed: false,
        decision: { value: { reason: 'breaker_open' } },
      });
    });

    it('forgets an outcome at its own time, whatever is left of the window', async () => {
      const qos = createQos(firstOf(await open({ keptMs: 1000, most: 10 })), OPEN_MS);
      const first = await proceed(qos);
      expect(await proceed(qos)).toEqual({ ...first, replayed: true });
      await pass(1001);
      expect(await proceed(qos, { argsHash: 'other' })).toMatchObject({
        replayed: false,
        decision: { value: { remaining: 58 } },
      });
    });

    it.skipIf(clock === undefined)('keeps an outcome for a day, long after the window', async () => {
      const first = await proceed(one());
      clock?.advance(2 * 60_000);
      expect(await proceed(one())).toEqual({ ...first, replayed: true });
      expect(await remaining()).toBe(59);
      clock?.advance(24 * HOUR_MS - 2 * 60_000 - 1);
      expect(await proceed(one())).toEqual({ ...first, replayed: true });
      clock?.advance(1);
      expect(await proceed(one())).toMatchObject({ replayed: false });
    });

    it('keeps so many outcomes, the newest ones', async () => {
      const qos = createQos(firstOf(await open({ keptMs: HOUR_MS, most: 3 })), OPEN_MS);
      for (const n of [0, 1, 2, 3]) {
        await proceed(qos, { key: `${key}-${n}` });
        await pass(2);
      }
      for (const n of [1, 2, 3]) expect(await proceed(qos, { key: `${key}-${n}` })).toMatchObject({ replayed: true });
      expect(await proceed(qos, { key: `${key}-0` })).toMatchObject({ replayed: false });
    });
  });
}
