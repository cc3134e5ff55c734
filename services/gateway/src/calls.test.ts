import { CallError, LateCall } from '@svc/contract/codes.ts';
import { callErrorOf, encodeReply, failureOf } from '@svc/contract/rpc.ts';
import type { Effect, ToolCard } from '@svc/contract/tool.ts';
import { type Bus, BusError, type BusErrorCode } from '@svc/runtime/bus.ts';
import { systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSendCall } from './calls.ts';
import { createGatewayMetrics } from './gateway-metrics.ts';
import type { ToolRoute } from './service-directory.ts';
import { type Harness, startHarness } from '../testing/harness.ts';

const metrics = createGatewayMetrics(createMetrics());
const ANSWER = encodeReply({ ok: true, body: '{"content":{}}', replayed: false, refusal: null });

/** A call that waited for its time to end would take so long. */
const UNHURRIED_MS = 20_000;

/** A network that fails in the given ways, one after the other, and then answers. */
function failing(...failures: readonly (BusErrorCode | BusError)[]) {
  const left = [...failures];
  let requests = 0;
  const bus = {
    request() {
      requests += 1;
      const failure = left.shift();
      if (failure === undefined) return Promise.resolve(ANSWER);
      return Promise.reject(failure instanceof BusError ? failure : new BusError(failure, failure));
    },
  } as unknown as Bus;
  const sendCall = createSendCall({ bus, clock: systemClock, random: systemRandom });
  return {
    send: (effect: Effect, withinMs = 5000, isKeyed = false) =>
      sendCall(routeOf(effect), { payload: '{}', deadlineAt: Date.now() + withinMs, isKeyed }).then(
        () => 'ok',
        (error: { code: string }) => error.code,
      ),
    requests: () => requests,
  };
}

function routeOf(effect: Effect): ToolRoute {
  return { card: { effect } as ToolCard, subject: 'tool.x.y', meter: metrics.toolMeter('x', 'y') };
}

describe('a call that got no reply', () => {
  test.each(['read', 'write-idempotent', 'write', 'external'] as const)(
    'is sent again when nobody got it: %s',
    async (effect) => {
      expect(await failing('NO_RESPONDERS').send(effect)).toBe('ok');
      expect(await failing('NOT_CONNECTED', 'NO_RESPONDERS').send(effect)).toBe('ok');
    },
  );

  test('is given up when nobody is there', async () => {
    const nobody = failing(...Array.from({ length: 20 }, () => 'NO_RESPONDERS' as const));
    expect(await nobody.send('read')).toBe('SERVICE_UNAVAILABLE');
    expect(nobody.requests()).toBe(4);
    expect(await failing('CLOSED').send('write')).toBe('SERVICE_UNAVAILABLE');
  });

  test('is repeated twice at most where that is safe', async () => {
    const twice = failing('DISCONNECTED', 'DISCONNECTED');
    expect([await twice.send('read'), twice.requests()]).toEqual(['ok', 3]);
    const more = failing('DISCONNECTED', 'DISCONNECTED', 'DISCONNECTED');
    expect([await more.send('write-idempotent'), more.requests()]).toEqual(['SERVICE_UNAVAILABLE', 3]);
  });

  test.each(['write', 'external'] as const)('is never repeated when somebody may have done it: %s', async (effect) => {
    for (const code of ['DISCONNECTED', 'TIMEOUT'] as const) {
      const once = failing(code);
      expect([await once.send(effect), once.requests()]).toEqual(['E_OUTCOME_UNKNOWN', 1]);
    }
    expect(await failing(new BusError('TOO_LARGE', 'reply', false)).send(effect)).toBe('E_OUTCOME_UNKNOWN');
  });

  test('is sent again when whoever had it is lost, where a second time is no harm', async () => {
    for (const effect of ['read', 'write-idempotent'] as const) {
      expect(await failing('SILENT', 'SILENT').send(effect)).toBe('ok');
    }
    const change = failing('SILENT');
    expect([await change.send('write'), change.requests()]).toEqual(['E_OUTCOME_UNKNOWN', 1]);
  });

  test('with a key is sent again like a read, and a call to the outside never is', async () => {
    for (const code of ['TIMEOUT', 'DISCONNECTED', 'SILENT'] as const) {
      for (const effect of ['write', 'write-idempotent'] as const) {
        expect(await failing(code, code).send(effect, 5000, true)).toBe('ok');
      }
      expect(await failing(code).send('external', 5000, true)).toBe('E_OUTCOME_UNKNOWN');
    }
  });

  test('of which the service itself does not know the outcome is sent again with its key alone', async () => {
    const unknown = encodeReply({ ok: false, failure: failureOf(new CallError('E_OUTCOME_UNKNOWN')) });
    for (const [isKeyed, requests] of [
      [true, 2],
      [false, 1],
    ] as const) {
      const answers = [unknown, ANSWER];
      let asked = 0;
      const bus = { request: async () => answers[asked++] } as unknown as Bus;
      const sendCall = createSendCall({ bus, clock: systemClock, random: systemRandom });
      const reply = await sendCall(routeOf('write'), { payload: '{}', deadlineAt: Date.now() + 5000, isKeyed });
      expect([reply.ok, asked]).toEqual([isKeyed, requests]);
    }
  });

  test('and came late in its process is sent again like one of a process that is lost', async () => {
    const late = encodeReply({ ok: false, failure: failureOf(callErrorOf(failureOf(new LateCall()))) });
    for (const [effect, isKeyed, requests] of [
      ['write-idempotent', false, 2],
      ['write', true, 2],
      ['write', false, 1],
    ] as const) {
      const answers = [late, ANSWER];
      let asked = 0;
      const bus = { request: async () => answers[asked++] } as unknown as Bus;
      const sendCall = createSendCall({ bus, clock: systemClock, random: systemRandom });
      const reply = await sendCall(routeOf(effect), { payload: '{}', deadlineAt: Date.now() + 5000, isKeyed });
      expect([reply.ok, asked]).toEqual([requests === 2, requests]);
    }
  });

  test('is late, or too large', async () => {
    const silent = failing('TIMEOUT', 'TIMEOUT', 'TIMEOUT');
    expect([await silent.send('read'), silent.requests()]).toEqual(['TIMEOUT', 3]);
    const died = failing('TIMEOUT'); // the one that had it is gone, the next answers
    expect([await died.send('read'), died.requests()]).toEqual(['ok', 2]);
    const slow = failing('TIMEOUT'); // a second time it would say that it changed nothing
    expect([await slow.send('write-idempotent'), slow.requests()]).toEqual(['TIMEOUT', 1]);
    expect(await failing(new BusError('TIMEOUT', 'before it was sent', true)).send('write')).toBe('TIMEOUT');
    expect(await failing('TOO_LARGE').send('write')).toBe('PAYLOAD_TOO_LARGE');
    expect(await failing(new BusError('TOO_LARGE', 'reply', false)).send('read')).toBe('PAYLOAD_TOO_LARGE');
  });

  test('is not sent again beyond its deadline', async () => {
    const late = failing('NO_RESPONDERS', 'NO_RESPONDERS');
    expect([await late.send('read', 10), late.requests()]).toEqual(['SERVICE_UNAVAILABLE', 1]);
  });
});

describe('over the door', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.stop());

  test('a deadline that passes is a timeout for a read and an unknown outcome for a write', async () => {
    const headers = { 'x-svc-timeout-ms': '80' };
    expect(await harness.tool('probe_slow_read', { forMs: 400 }, headers)).toMatchObject({
      status: 504,
      error: { code: 'TIMEOUT' },
    });
    expect(await harness.tool('probe_slow_write', { forMs: 400 }, headers)).toMatchObject({
      status: 504,
      error: { code: 'E_OUTCOME_UNKNOWN' },
    });
  });

  test('a stopped service is unavailable, soon, and its tools stay known', async () => {
    await harness.probe.stop();
    const startedAt = performance.now();
    const { status, error, headers } = await harness.tool(
      'probe_echo',
      {},
      { 'x-svc-timeout-ms': String(UNHURRIED_MS) },
    );
    expect(performance.now() - startedAt).toBeLessThan(UNHURRIED_MS / 4);
    expect([status, error?.code, headers.get('retry-after')]).toEqual([503, 'SERVICE_UNAVAILABLE', '1']);
    expect((await harness.fetch('/ready')).status).toBe(503);
  });
});
