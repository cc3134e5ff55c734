import { describe, expect, test } from 'vitest';
import { defineOperations } from '@svc/contract/operation.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import type { Bus } from './bus.ts';
import { createLocalBus } from './bus.local.ts';
import { systemClock } from './clock.ts';
import { createLog } from './log.ts';
import { serveOperations } from './operations.ts';
import { createRegistryClient, createStampedCache } from './registry.ts';

const REVISIONS = defineOperations(HABITAT.service, { revision: HABITAT.declared.revision });

/** Each session has a workspace named after it. */
function tellRevisions(bus: Bus, stampNow: () => Promise<RegistryStamp>) {
  const platform = { bus, clock: systemClock, log: createLog('silent', {}) };
  return serveOperations(platform, {
    operations: REVISIONS,
    handlers: {
      async revision({ sessions }) {
        const current = Object.fromEntries(sessions.map((session) => [session, `w${session}`]));
        return { stamp: await stampNow(), at: 0, current };
      },
    },
    deps: null,
  });
}

const at = (rev: number): RegistryStamp => ({ rev, policies: 0, settings: 0 });

/** Readings that end when the test says so, each under the stamp that was current when it began. */
function slowReadings() {
  const begun: { readonly key: string; readonly end: () => void }[] = [];
  let rev = 1;
  const cache = createStampedCache<number, { readonly id: string }>({
    hangsOn: 'rev',
    max: 10,
    keyOf: ({ id }) => id,
    async read({ id }) {
      const stamp = at(rev);
      await new Promise<void>((resolve) => void begun.push({ key: id, end: resolve }));
      return { stamp, value: stamp.rev };
    },
  });
  return { cache, begun, change: () => void (rev += 1) };
}

describe('a stamped cache', () => {
  test('answers from memory while the stamp is the one it was read under', async () => {
    const { cache, begun, change } = slowReadings();
    const first = cache.get({ id: 'a' }, at(1));
    begun[0]?.end();
    expect([await first, await cache.get({ id: 'a' }, at(1)), begun.length]).toEqual([1, 1, 1]);
    change();
    const second = cache.get({ id: 'a' }, at(2));
    begun[1]?.end();
    expect([await second, begun.length]).toEqual([2, 2]);
  });

  test('lets callers at the same time share a reading, by key', async () => {
    const { cache, begun } = slowReadings();
    const asked = Array.from({ length: 50 }, async (_, index) => cache.get({ id: index % 2 === 0 ? 'a' : 'b' }, at(1)));
    for (const { end } of begun) end();
    expect(new Set(await Promise.all(asked))).toEqual(new Set([1]));
    expect(begun.map(({ key }) => key)).toEqual(['a', 'b']);
  });

  test('never gives a caller what was read before its stamp', async () => {
    const { cache, begun, change } = slowReadings();
    const early = cache.get({ id: 'a' }, at(1));
    change();
    const late = cache.get({ id: 'a' }, at(2));
    begun[0]?.end();
    expect(await early).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    begun[1]?.end();
    expect([await late, begun.length]).toEqual([2, 2]);
  });

  test('keeps no failure', async () => {
    let failures = 1;
    const cache = createStampedCache<string>({
      hangsOn: 'policies',
      max: 1,
      async read(key) {
        failures -= 1;
        if (failures >= 0) throw new Error('away');
        return { stamp: at(1), value: key };
      },
    });
    await expect(cache.get('a', at(1))).rejects.toThrow('away');
    expect(await cache.get('a', at(1))).toBe('a');
  });

  test('refuses a registry that only knows an older state', async () => {
    const cache = createStampedCache({ hangsOn: 'rev', max: 1, read: async () => ({ stamp: at(1), value: 1 }) });
    await expect(cache.get('a', at(2))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });
});

test('a revision is never older than its caller, and callers at the same time share questions', async () => {
  const bus = createLocalBus({ log: createLog('fatal', {}) });
  let rev = 0;
  let asked = 0;
  await tellRevisions(bus, async () => {
    asked += 1;
    const stamp = at(rev);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return stamp;
  });
  const registry = createRegistryClient({ bus, clock: systemClock }, 'gateway');
  const callers: Promise<void>[] = [];
  for (let call = 0; call < 300; call += 1) {
    const known = (rev += 1);
    callers.push(
      registry.revision(String(call)).then(({ stamp, current }) => {
        expect(stamp.rev).toBeGreaterThanOrEqual(known);
        expect(current).toBe(`w${call}`);
      }),
    );
    if (call % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(callers);
  expect(asked).toBeLessThan(60);
  await bus.close();
});

test('an answer that takes its time is waited for: who is busy is not away', async () => {
  const bus = createLocalBus({ log: createLog('fatal', {}) });
  await tellRevisions(bus, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return at(1);
  });
  expect(await createRegistryClient({ bus, clock: systemClock }, 'gateway').revision()).toMatchObject({ stamp: at(1) });
  await bus.close();
});

test('callers of one turn of the event loop share one question, though each came in on its own', async () => {
  const bus = createLocalBus({ log: createLog('fatal', {}) });
  let asked = 0;
  await tellRevisions(bus, async () => {
    asked += 1;
    return at(1);
  });
  const registry = createRegistryClient({ bus, clock: systemClock }, 'gateway');
  const callers: Promise<unknown>[] = [];
  for (let call = 0; call < 50; call += 1) {
    callers.push(registry.revision());
    await Promise.resolve();
  }
  await Promise.all(callers);
  expect(asked).toBe(1);
  await bus.close();
});

test('more sessions at once than one question may hold are asked for in several', async () => {
  const bus = createLocalBus({ log: createLog('fatal', {}) });
  await tellRevisions(bus, async () => at(1));
  const registry = createRegistryClient({ bus, clock: systemClock }, 'gateway');
  const callers = Array.from({ length: 2500 }, (_, call) => registry.revision(String(call)));
  const workspaces = (await Promise.all(callers)).map(({ current }) => current);
  expect(workspaces).toEqual(callers.map((_, call) => `w${call}`));
  await bus.close();
});
