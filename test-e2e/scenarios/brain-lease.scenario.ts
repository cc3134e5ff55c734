/** The lease: who holds it writes, and nobody who lost it. */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { codeOf } from '../client.ts';
import { startClientProcess } from '../instruments/client-process.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { logsOf } from '../targets/target.ts';
import { type Scenario, verifies } from '../verifies.ts';

interface Held {
  readonly token: string;
  readonly fence: number;
  readonly expiresAt: number;
}

async function pair(
  fresh: Scenario['fresh'],
  caller: Scenario['caller'],
): Promise<{ ann: Caller; bob: Caller; brain: string }> {
  const { user: ann, brain } = await fresh();
  const bob = caller({ gateway: 1 });
  await bob.ok('brain_switch', { name: brain });
  return { ann, bob, brain };
}

const acquire = (who: Caller, agentId: string, more: Fields = {}) =>
  who.ok<Held & Fields>('svc_lock', { action: 'acquire', agentId, ...more });
const release = (who: Caller, token: unknown) => who.ok('svc_lock', { action: 'release', token });

verifies('lease:acquire', async ({ fresh, caller }) => {
  const { ann, bob, brain } = await pair(fresh, caller);
  const held = await acquire(ann, 'ann');
  expect(held).toMatchObject({
    action: 'acquire',
    acquired: true,
    token: expect.stringMatching(/^\S{32,}$/),
    agentId: 'ann',
    brain,
    refreshed: false,
  });
  expect(held.expiresAt - Date.now()).toBeGreaterThan(3_500_000);
  const denied = await bob.refused('E_LOCKED', 'svc_lock', { action: 'acquire', agentId: 'bob' });
  expect(denied).toMatchObject({
    action: 'acquire',
    acquired: false,
    token: null,
    holder: expect.anything(),
    expiresAt: held.expiresAt,
  });
  await bob.refused('E_LOCKED', 'svc_lock', { action: 'acquire', agentId: 'ann' });
  const status = await bob.ok('svc_lock', { action: 'status' });
  expect(status).toMatchObject({
    action: 'status',
    held: true,
    status: {
      brain,
      state: 'held',
      agentId: 'ann',
      fence: held.fence,
      expiresAt: held.expiresAt,
      remainingMs: expect.any(Number),
    },
    stack: expect.any(Array),
  });
  await release(ann, held.token);
  expect(await bob.ok('svc_lock')).toMatchObject({ held: false, status: { state: 'released' } });
  const next = await acquire(bob, 'bob');
  expect(next.fence).toBeGreaterThan(held.fence);
  await release(bob, next.token);
  for (const ttlMs of [999, 86_400_001, 1.5])
    await ann.fails('VAF_INPUT_INVALID', 'svc_lock', { action: 'acquire', ttlMs });
  const nameless = await ann.ok('svc_lock', { action: 'acquire' });
  expect(nameless.agentId).toMatch(/^session:[0-9a-f]{8}$/);
  await release(ann, nameless.token);
});

verifies('lease:refresh', async ({ fresh, caller }) => {
  const { ann } = await pair(fresh, caller);
  const held = await acquire(ann, 'ann', { ttlMs: 5000 });
  const again = await ann.ok('svc_lock', { action: 'acquire', token: held.token, ttlMs: 60_000 });
  expect(again).toMatchObject({ acquired: true, refreshed: true, fence: held.fence });
  expect(Number(again.expiresAt)).toBeGreaterThan(held.expiresAt + 50_000);
  await release(ann, held.token);
});

verifies('lease:release', async ({ fresh, caller, place }) => {
  const { ann, bob } = await pair(fresh, caller);
  const denied = async () =>
    ((await bob.ok('svc_lock', { action: 'stats' })).lease as { releaseDenied: number }).releaseDenied;
  expect(await bob.refused('E_LEASE_ABSENT', 'svc_lock', { action: 'release', token: 'x'.repeat(43) })).toMatchObject({
    released: false,
  });
  const held = await acquire(ann, 'ann');
  const before = await denied();
  expect(await bob.refused('E_LEASE_TOKEN', 'svc_lock', { action: 'release', token: 'x'.repeat(43) })).toMatchObject({
    action: 'release',
    released: false,
  });
  await bob.refused('E_LEASE_TOKEN', 'svc_lock', { action: 'release' });
  if (place.kind === 'embedded') expect(await denied()).toBeGreaterThanOrEqual(before + 2);
  expect(await ann.ok('svc_lock')).toMatchObject({ held: true });
  expect(await bob.ok('svc_lock', { action: 'release', token: held.token })).toMatchObject({
    action: 'release',
    released: true,
  });
});

verifies('lease:force', async ({ fresh, caller, socket }) => {
  const listener = await socket();
  const { ann, bob, brain } = await pair(fresh, caller);
  expect(await bob.ok('svc_lock', { action: 'force' })).toMatchObject({ action: 'force', forceReleased: false });
  const held = await acquire(ann, 'ann');
  const forced = await bob.ok<Fields>('svc_lock', { action: 'force' });
  expect(forced).toMatchObject({ action: 'force', forceReleased: true });
  expect(Number(forced.fence)).toBeGreaterThan(held.fence);
  await ann.refused('E_FENCED', 'brain_write', { name: 'x', content: 'late', agentId: 'ann', fence: held.fence });
  await ann.refused('E_FILE_ABSENT', 'brain_read', { name: 'x' });
  expect(await listener.until('forced', (event) => event.brain === brain && event.reason === 'forced')).toMatchObject({
    name: 'lock:released',
    fence: held.fence,
  });
});

verifies('lease:expiry', async ({ fresh, caller, socket }) => {
  const listener = await socket();
  const { ann, bob, brain } = await pair(fresh, caller);
  const held = await acquire(ann, 'ann', { ttlMs: 1000 });
  await bob.refused('E_LOCKED', 'brain_write', { name: 'x', content: 'early' });
  await waitFor(async () => codeOf(await bob.call('brain_write', { name: 'x', content: 'bob' })) === null, {
    withinMs: 3000,
    what: 'the lease to expire',
  });
  expect(Date.now()).toBeGreaterThanOrEqual(held.expiresAt - 50);
  expect(await ann.ok('svc_lock')).toMatchObject({ held: false });
  await ann.refused('E_FENCED', 'brain_write', { name: 'x', content: 'ann', fence: held.fence });
  expect(await ann.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'bob' });
  const ended = await listener.until('expiry', (event) => event.brain === brain && event.reason === 'expired', 6000);
  expect(ended).toMatchObject({ name: 'lock:released', fence: held.fence, agentId: 'ann' });
  expect(listener.of(brain, 'lock:released').length).toBe(1);
});

verifies('lease:guard', async ({ fresh, caller }) => {
  const { ann, bob } = await pair(fresh, caller);
  const { fence, token } = await acquire(ann, 'ann');
  for (const args of [{}, { fence }, { agentId: 'ann' }, { agentId: 'ann', fence }, { fence: fence + 1 }]) {
    const denied = await bob.refused('E_LOCKED', 'svc_set_memory', {
      category: 'a',
      filename: 'x',
      content: 'bob',
      ...args,
    });
    expect(denied).toMatchObject({ holder: expect.anything(), expiresAt: expect.any(Number) });
  }
  await ann.ok('brain_write', { name: 'a/x', content: 'no fence' });
  await ann.ok('brain_write', { name: 'a/x', content: 'with fence', fence, agentId: 'ann' });
  await ann.refused('E_LOCKED', 'brain_write', { name: 'a/x', content: 'as bob', agentId: 'bob' });
  for (const stale of [fence + 1, ...(fence > 1 ? [fence - 1] : [])])
    await ann.refused('E_FENCED', 'brain_write', { name: 'a/x', content: 'stale', fence: stale });
  expect(await bob.ok('brain_read', { name: 'a/x' })).toMatchObject({ content: 'with fence' });
  await release(ann, token);
  await ann.refused('E_FENCED', 'brain_write', { name: 'a/x', content: 'released', fence });
  await bob.ok('brain_write', { name: 'a/x', content: 'bob' });
});

verifies('lease:guarded-tools', async ({ fresh, caller }) => {
  const { ann, bob } = await pair(fresh, caller);
  await ann.ok('brain_write', { name: 'x', content: 'one' });
  const { token } = await acquire(ann, 'ann');
  for (const [tool, args] of [
    ['svc_set_memory', { category: 'a', filename: 'b', content: 'c' }],
    ['brain_write', { name: 'x', content: 'two' }],
    ['brain_save', { name: 'x', content: 'two' }],
    ['brain_save', {}],
    ['brain_delete_file', { name: 'x' }],
    ['brain_remove', { name: 'x' }],
    ['svc_commit', { message: 'm' }],
    ['svc_create_branch', { name: 'feat' }],
    ['svc_branch_auto', {}],
  ] as const) {
    await bob.refused('E_LOCKED', tool, args);
  }
  for (const [tool, args] of [
    ['brain_read', { name: 'x' }],
    ['svc_search', { query: 'one' }],
    ['brain_list_files', {}],
    ['svc_list_branches', {}],
    ['svc_switch_branch', { name: 'main' }],
    ['brain_stack', {}],
    ['svc_health', {}],
  ] as const) {
    await bob.ok(tool, args);
  }
  await release(ann, token);
});

verifies('lease:busy-writers', async ({ fresh, caller }) => {
  const { ann, bob, brain } = await pair(fresh, caller);
  const branches = ['main', 'b1', 'b2', 'b3'];
  for (const name of branches.slice(1)) await ann.ok('svc_create_branch', { name });
  let running = true;
  const acknowledged: number[] = [];
  const writers = branches.flatMap((branch) =>
    [0, 1].map(async (lane) => {
      for (let index = 0; running; index += 1) {
        const sentAt = performance.now();
        const reply = await ann.call('brain_write', { brain, branch, name: `w${lane}`, content: `${index}` });
        if (codeOf(reply) === null) acknowledged.push(sentAt);
        else expect(codeOf(reply)).toBe('E_LOCKED');
      }
    }),
  );
  await waitFor(() => acknowledged.length > 100, { withinMs: 20_000, what: '100 writes' });
  const askedAt = performance.now();
  const held = await acquire(bob, 'bob');
  const grantedAt = performance.now();
  await delay(500);
  running = false;
  await Promise.all(writers);
  await release(bob, held.token);
  expect(grantedAt - askedAt).toBeLessThan(1000);
  expect(acknowledged.filter((sentAt) => sentAt > grantedAt)).toEqual([]);
});

verifies('lease:paused-holder', async ({ fresh, caller, place, report }) => {
  const { ann, bob, brain } = await pair(fresh, caller);
  await bob.ok('brain_write', { name: 'x', content: 'before' });
  const holder = startClientProcess('lease-holder', { place, session: ann.session, brain, writes: 100, ttlMs: 1500 });
  const { fence } = (await holder.said('holding')) as unknown as { fence: number };
  holder.pause();
  await waitFor(async () => codeOf(await bob.call('svc_lock', { action: 'acquire', agentId: 'bob' })) === null, {
    withinMs: 5000,
    what: 'the takeover',
  });
  await bob.ok('brain_write', { name: 'x', content: 'bob' });
  holder.resume();
  const { refused, codes } = (await holder.said('done')) as unknown as { refused: number; codes: string[] };
  expect([refused, codes.filter((code) => code !== 'E_LOCKED' && code !== 'E_FENCED')]).toEqual([100, []]);
  expect(await bob.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'bob' });
  report(`a holder stopped past its ttl (fence ${fence}): ${refused} of 100 stale writes refused`);
});

verifies('lease:secret', async ({ fresh, caller, place, socket }) => {
  const listener = await socket();
  const { ann, bob, brain } = await pair(fresh, caller);
  const { token } = await acquire(ann, 'ann');
  const hashes = ['hex', 'base64', 'base64url'].flatMap((encoding) => [
    createHash('sha256')
      .update(token)
      .digest(encoding as 'hex'),
    createHash('sha256')
      .update(Buffer.from(token, 'base64url'))
      .digest(encoding as 'hex'),
    createHash('sha256')
      .update(Buffer.from(token, 'hex'))
      .digest(encoding as 'hex'),
  ]);
  const secrets = [token, ...hashes];
  const shown: string[] = [];
  for (const action of ['status', 'stack', 'stats']) shown.push((await bob.call('svc_lock', { action })).text);
  shown.push(
    (await bob.call('svc_health')).text,
    (await bob.call('svc_lock', { action: 'acquire', agentId: 'bob' })).text,
  );
  await listener.until('the grant', (event) => event.brain === brain && event.name === 'lock:acquired');
  await bob.refused('E_LEASE_TOKEN', 'svc_lock', { action: 'release', token: `${token}x` });
  await release(ann, token);
  shown.push(JSON.stringify(listener.heard), logsOf(place));
  for (const text of shown) expect(secrets.filter((secret) => secret.length > 20 && text.includes(secret))).toEqual([]);
});

verifies('lease:counters', async ({ fresh, caller }) => {
  const { ann } = await pair(fresh, caller);
  await Promise.all(
    Array.from({ length: 30 }, (_, index) => ann.ok('brain_write', { name: `f${index % 4}`, content: `${index}` })),
  );
  const { mutex, lease } = await ann.ok<{ mutex: Record<string, number>; lease: Record<string, number> }>('svc_lock', {
    action: 'stats',
  });
  const {
    acquires = -1,
    releases = 0,
    heldNow = 0,
    bodiesRun = 0,
    aborted = 0,
    held = 0,
    unavailable = 0,
    takeovers = 0,
    bodyErrors = 0,
  } = mutex;
  expect(Object.keys(mutex).sort()).toEqual([
    'aborted',
    'acquires',
    'bodiesRun',
    'bodyErrors',
    'held',
    'heldNow',
    'holdMsMax',
    'holdMsTotal',
    'releases',
    'takeovers',
    'unavailable',
  ]);
  expect(Object.keys(lease).sort()).toEqual(['denied', 'forced', 'granted', 'refreshed', 'releaseDenied', 'released']);
  expect(acquires).toBe(releases + heldNow);
  expect(bodiesRun).toBe(acquires - heldNow);
  expect(aborted).toBe(held + unavailable);
  expect(takeovers).toBeLessThanOrEqual(acquires);
  expect(bodyErrors).toBeLessThanOrEqual(bodiesRun);
  expect(acquires).toBeGreaterThan(0);
});
