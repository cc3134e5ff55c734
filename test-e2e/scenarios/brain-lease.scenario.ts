/** The life of a lease: who gets it, how it ends, who hears of it. */
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { codeOf, type Fields } from '../client.ts';
import { acquire, pair, release } from '../instruments/leases.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { promised } from '../settings.ts';
import { logsOf } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

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
  const held = await acquire(ann, 'ann', { ttlMs: 3000 });
  await bob.refused('E_LOCKED', 'brain_write', { name: 'x', content: 'early' });
  await waitFor(async () => codeOf(await bob.call('brain_write', { name: 'x', content: 'bob' })) === null, {
    what: 'the lease to expire',
  });
  expect(Date.now()).toBeGreaterThanOrEqual(held.expiresAt - 50);
  expect(await ann.ok('svc_lock')).toMatchObject({ held: false });
  await ann.refused('E_FENCED', 'brain_write', { name: 'x', content: 'ann', fence: held.fence });
  expect(await ann.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'bob' });
  const ended = await listener.until(
    'expiry',
    (event) => event.brain === brain && event.reason === 'expired',
    promised(5000),
  );
  expect(ended).toMatchObject({ name: 'lock:released', fence: held.fence, agentId: 'ann' });
  expect(listener.of(brain, 'lock:released').length).toBe(1);
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
