/** What the qos helpers promise, wherever their states are kept. */
import type { FakeClock } from '@svc/testing/fakes.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { createQos, type KeyStates, type Qos } from './qos.ts';

export interface QosSetup {
  /** Stores that share their states, as replicas do. */
  open(): Promise<readonly KeyStates[]>;
  /** Absent where time cannot be moved. */
  readonly clock?: FakeClock;
}

export function describeQos(name: string, { open, clock }: QosSetup): void {
  describe(`qos: ${name}`, () => {
    let replicas: Qos[];
    let key: string;
    let keys = 0;
    beforeEach(async () => {
      replicas = (await open()).map(createQos);
      key = `k${(keys += 1)}`;
    });
    const one = (): Qos => {
      const [first] = replicas;
      if (first === undefined) throw new Error('no replica');
      return first;
    };

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

    it.skipIf(clock === undefined)('forgets what is over', async () => {
      const scope = `ws:${key}`;
      await one().canProceed(scope, 'x', 5);
      clock?.advance(130_000);
      expect(await one().countOpen(scope)).toBe(0);
    });
  });
}
