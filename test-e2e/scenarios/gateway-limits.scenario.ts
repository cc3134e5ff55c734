/** Rate limits: exact over all gateways, with headers that can be believed. */
import { expect } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { Caller, type Reply, sendTo } from '../client.ts';
import { RATE_WINDOW_S } from '../settings.ts';
import { KEYED, verifies } from '../verifies.ts';

const LIMITED = { SVC_RATE_LIMIT: 'on', SVC_PLAN: 'free', SVC_RATE_WINDOW_S: String(RATE_WINDOW_S) };

/** A window that other requests opened would end in the middle: wait until there is none. */
async function untilReset(reply: Reply): Promise<void> {
  await delay(Math.max(0, Number(reply.headers['x-ratelimit-reset']) * 1000 - Date.now()) + 50);
}

verifies(['gateway:limits:plan', 'gateway:limits:headers'], async ({ gateways }) => {
  const place = await gateways(3, { ...KEYED, ...LIMITED });
  const user = new Caller(place);
  const replies = await Promise.all(
    Array.from({ length: 300 }, (_, index) => user.call('brain_list', {}, { gateway: index })),
  );
  const passed = replies.filter(({ status }) => status === 200);
  const limited = replies.filter(({ status }) => status === 429);
  const others = replies.filter(({ status }) => status !== 200 && status !== 429).map(({ text }) => text);
  expect([passed.length, limited.length, others]).toEqual([60, 240, []]);
  for (const { headers, body } of limited) {
    expect(body.error?.code).toBe('RATE_LIMITED');
    expect(headers['x-ratelimit-remaining']).toBe('0');
    expect(headers['retry-after']).toMatch(/^[1-9]\d?$/);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(RATE_WINDOW_S);
  }
  const remaining = passed.map(({ headers }) => Number(headers['x-ratelimit-remaining'])).sort((a, b) => a - b);
  expect(remaining).toEqual(Array.from({ length: 60 }, (_, index) => index));
  for (const { headers } of replies) {
    expect(headers['x-ratelimit-limit']).toBe('60');
    const inS = Number(headers['x-ratelimit-reset']) - Date.now() / 1000;
    expect(inS).toBeGreaterThan(-1);
    expect(inS).toBeLessThanOrEqual(RATE_WINDOW_S + 1);
  }
  for (const path of ['/health', '/ready']) {
    const { headers } = await sendTo(`${user.url()}${path}`, { method: 'GET' });
    expect([path, headers['x-ratelimit-limit']]).toEqual([path, undefined]);
  }
  const last = limited[0];
  if (last === undefined) throw new Error('nothing was limited');
  await untilReset(last);
  const after = await user.call('brain_list');
  expect([after.status, after.headers['x-ratelimit-remaining']]).toEqual([200, '59']);
});

verifies('gateway:limits:failures', async ({ gateways }) => {
  const place = await gateways(1, { ...KEYED, SVC_RATE_LIMIT: 'on' });
  const wrong = new Caller(place, { key: 'wrong-key-wrong-key' });
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 25; attempt += 1) statuses.push((await wrong.call('brain_list')).status);
  expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(5).fill(429)]);
  const blocked = await wrong.call('brain_list');
  expect(blocked.body.error?.code).toBe('RATE_LIMITED');
  expect(Number(blocked.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  await new Caller(place).ok('brain_list');
});
