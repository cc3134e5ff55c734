import { CallError } from '@svc/contract/codes.ts';
import { defineOperations } from '@svc/contract/operation.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { readConfig } from '@svc/runtime/config.ts';
import { createLog } from '@svc/runtime/log.ts';
import { serveOperations } from '@svc/runtime/operations.ts';
import { createFakeClock, createFakeIds } from '@svc/testing/fakes.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDenials, type DeniedCaller } from './denials.ts';
import { until } from '../testing/harness.ts';

interface Received {
  readonly id: string;
  readonly event: string;
  readonly workspace: string | null;
  readonly data: { readonly principal: string; readonly tool: string; readonly code: string; readonly count: number };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

const CHAINS = defineOperations(HABITAT.service, { audit: HABITAT.declared.audit });

/** Denials, and what reaches the audit; `refuse` = how often the audit fails first. */
async function audited(refuse = 0) {
  const lines: unknown[] = [];
  const log = createLog('fatal', {});
  log.warn = (line: unknown) => void lines.push(line);
  const fake = createFakeClock(Date.now());
  // A repetition waits for real.
  const clock = refuse === 0 ? fake : systemClock;
  const bus = createLocalBus({ log });
  const received: Received[] = [];
  let failures = refuse;
  const listen = () =>
    serveOperations(
      { bus, clock: systemClock, log },
      {
        operations: CHAINS,
        handlers: {
          async audit({ entries }) {
            received.push(...(entries as unknown as Received[]));
            failures -= 1;
            if (failures >= 0) throw new CallError('SERVICE_UNAVAILABLE');
            return {};
          },
        },
        deps: null,
      },
    );
  const { config } = readConfig({}, () => '');
  const denials = createDenials({ bus, clock, config, ids: createFakeIds(clock), log });
  function pass(ms: number): void {
    for (let passed = 0; passed < ms; passed += 1000) {
      fake.advance(1000);
      vi.advanceTimersByTime(1000);
    }
  }
  return { denials, received, listen, pass, lines };
}

const caller = (agentId: string): DeniedCaller => ({
  principal: `tok:${agentId}`,
  workspace: 'acme',
  subject: { agentId, verified: true },
  family: agentId.split('-')[0] ?? agentId,
});
const total = (entries: readonly Received[]) => entries.reduce((sum, { data }) => sum + data.count, 0);

test('the log names the request: the first one at once, the last one of those that were counted', async () => {
  const { denials, listen, pass, lines } = await audited();
  await listen();
  for (const requestId of ['first', 'second', 'third']) denials.note(caller('a1'), 'svc_lock', 'FORBIDDEN', requestId);
  pass(70_000);
  await denials.close();
  expect(lines).toMatchObject([
    { requestId: 'first', tool: 'svc_lock', code: 'FORBIDDEN', count: 1 },
    { requestId: 'third', count: 2 },
  ]);
});

test('ten thousand equal denials of a minute are two entries with that number; other failures are none', async () => {
  const { denials, received, listen, pass } = await audited();
  await listen();
  for (let second = 0; second < 59; second += 1) {
    for (let each = 0; each < 170 - (second === 58 ? 30 : 0); each += 1) {
      denials.note(caller('a1'), 'svc_lock', 'FORBIDDEN', 'r1');
    }
    pass(1000);
  }
  denials.note(caller('a2'), 'svc_lock', 'FORBIDDEN', 'r1');
  denials.note(caller('a1'), 'svc_lock', 'TIMEOUT', 'r1');
  pass(70_000);
  await denials.flush();
  const entries = received.filter(({ data }) => data.principal === 'tok:a1');
  expect([entries.length, total(entries)]).toEqual([2, 10_000]);
  expect(entries[0]).toMatchObject({ event: 'call:denied', workspace: 'acme', subject: { agentId: 'a1' } });
  expect(received.filter(({ data }) => data.principal === 'tok:a2').map(({ data }) => data.count)).toEqual([1]);
  expect(received.map(({ data }) => data.code)).not.toContain('TIMEOUT');
  await denials.close();
});

test('a family that is denied in ever new ways causes sixty entries and one for the rest, others as before', async () => {
  const { denials, received, listen, pass } = await audited();
  await listen();
  for (let agent = 0; agent < 200; agent += 1) {
    for (const tool of ['svc_lock', 'svc_commit', 'brain_write'])
      denials.note(caller(`root-${agent}`), tool, 'FORBIDDEN', 'r1');
  }
  denials.note(caller('calm'), 'svc_lock', 'FORBIDDEN', 'r1');
  pass(70_000);
  await denials.flush();
  const loud = received.filter(({ data }) => data.principal !== 'tok:calm');
  expect([total(loud), loud.length]).toEqual([600, 62]);
  expect(loud.filter(({ data }) => data.tool === '*').map(({ data }) => [data.principal, data.count])).toEqual([
    ['family:root', 1],
    ['family:root', 539],
  ]);
  expect(received.filter(({ data }) => data.principal === 'tok:calm')).toHaveLength(1);
  // Once it is quiet, each denial is told apart again.
  pass(130_000);
  denials.note(caller('root-1'), 'svc_sync', 'FORBIDDEN', 'r1');
  await denials.flush();
  expect(received.at(-1)?.data).toMatchObject({ principal: 'tok:root-1', tool: 'svc_sync' });
  await denials.close();
});

test('the end writes what is still counted', async () => {
  const { denials, received, listen } = await audited();
  await listen();
  for (let round = 0; round < 3; round += 1) denials.note(caller('a1'), 'svc_lock', 'FORBIDDEN', 'r1');
  await denials.close();
  expect(total(received)).toBe(3);
});

test('entries are sent again, with their ids, until the audit takes them', async () => {
  const { denials, received, listen } = await audited(2);
  denials.note(caller('a1'), 'svc_lock', 'UNAUTHORIZED', 'r1');
  await denials.flush();
  expect(received).toEqual([]);
  await listen();
  await until(() => received.length === 3);
  expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  await denials.flush();
  expect(received).toHaveLength(3);
  await denials.close();
});
