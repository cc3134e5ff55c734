import { afterEach, describe, expect, test } from 'vitest';
import { type Harness, KEYED, startHarness } from '../testing/harness.ts';
import { KEY } from '../testing/platform.ts';

const running: Harness[] = [];
afterEach(async () => {
  for (const harness of running.splice(0)) await harness.stop();
});

async function limited(environment: Record<string, string> = {}): Promise<Harness> {
  const harness = await startHarness({
    environment: { ...KEYED, SVC_RATE_LIMIT: 'on', SVC_PLAN: 'free', ...environment },
  });
  running.push(harness);
  return harness;
}

describe('a plan', () => {
  test('admits its requests and no more, and says how long to wait', async () => {
    const harness = await limited();
    const replies = await Promise.all(Array.from({ length: 100 }, () => harness.tool('probe_echo')));
    const passed = replies.filter(({ status }) => status === 200);
    const refused = replies.filter(({ status }) => status === 429);
    expect([passed.length, refused.length]).toEqual([60, 40]);
    expect(harness.probe.deps.ran).toHaveLength(60);
    for (const { headers, error } of refused) {
      expect(error?.code).toBe('RATE_LIMITED');
      expect(headers.get('x-ratelimit-remaining')).toBe('0');
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    const remaining = passed.map(({ headers }) => Number(headers.get('x-ratelimit-remaining'))).sort((a, b) => a - b);
    expect(remaining).toEqual(Array.from({ length: 60 }, (_, index) => index));
    const resetAtS = Number(passed[0]?.headers.get('x-ratelimit-reset'));
    expect(resetAtS - Date.now() / 1000).toBeGreaterThan(50);
    expect(resetAtS - Date.now() / 1000).toBeLessThanOrEqual(61);
  });

  test('counts malformed requests and lists, not the probes; a svc_call counts once', async () => {
    const harness = await limited();
    const left = (reply: { headers: Headers }) => Number(reply.headers.get('x-ratelimit-remaining'));
    expect(left(await harness.call('{'))).toBe(59);
    expect(left(await harness.fetch('/tools', { headers: { 'x-api-key': KEY } }))).toBe(58);
    for (const path of ['/health', '/ready', '/metrics']) {
      expect((await harness.fetch(path, { headers: { 'x-api-key': KEY } })).headers.has('x-ratelimit-limit')).toBe(
        false,
      );
    }
    expect(left(await harness.tool('svc_call', { name: 'probe_echo' }))).toBe(57);
  });

  test('has the limits that the node was given', async () => {
    const harness = await limited({ SVC_PLAN_LIMITS: 'free=3' });
    const reply = await harness.tool('probe_echo');
    expect([reply.headers.get('x-ratelimit-limit'), reply.headers.get('x-ratelimit-remaining')]).toEqual(['3', '2']);
  });

  test('a caller without credential has a bucket of its own', async () => {
    const harness = await limited({ SVC_PLAN_LIMITS: 'free=2,pro=5', SVC_PLAN: 'pro' });
    for (const status of [200, 200, 429]) expect((await harness.fetch('/tools')).status).toBe(status);
    expect((await harness.tool('probe_echo')).headers.get('x-ratelimit-limit')).toBe('5');
  });
});

test('wrong credentials are limited by address, and a good one still passes', async () => {
  const harness = await limited();
  const attempt = () => harness.call({}, { authorization: 'Bearer wrong' });
  const statuses = [];
  for (let count = 0; count < 25; count += 1) statuses.push((await attempt()).status);
  expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), ...Array.from({ length: 5 }, () => 429)]);
  expect(Number((await attempt()).headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect((await harness.tool('probe_echo')).status).toBe(200);
});
