/** What a lease keeps out: who holds it writes, and nobody who lost it. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { codeOf } from '../client.ts';
import { startClientProcess } from '../instruments/client-process.ts';
import { acquire, pair, release } from '../instruments/leases.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { promised } from '../settings.ts';
import { verifies } from '../verifies.ts';

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
  await waitFor(() => acknowledged.length > 100, { what: '100 writes' });
  const askedAt = performance.now();
  const held = await acquire(bob, 'bob');
  const grantedAt = performance.now();
  await delay(500);
  running = false;
  await Promise.all(writers);
  await release(bob, held.token);
  expect(grantedAt - askedAt).toBeLessThan(promised(1000));
  expect(acknowledged.filter((sentAt) => sentAt > grantedAt)).toEqual([]);
});

verifies('lease:paused-holder', async ({ fresh, caller, place, report }) => {
  const { ann, bob, brain } = await pair(fresh, caller);
  await bob.ok('brain_write', { name: 'x', content: 'before' });
  const holder = startClientProcess('lease-holder', { place, session: ann.session, brain, writes: 100, ttlMs: 1500 });
  const { fence } = (await holder.said('holding')) as unknown as { fence: number };
  holder.pause();
  await waitFor(async () => codeOf(await bob.call('svc_lock', { action: 'acquire', agentId: 'bob' })) === null, {
    what: 'the takeover',
  });
  await bob.ok('brain_write', { name: 'x', content: 'bob' });
  holder.resume();
  const { refused, codes } = (await holder.said('done')) as unknown as { refused: number; codes: string[] };
  expect([refused, codes.filter((code) => code !== 'E_LOCKED' && code !== 'E_FENCED')]).toEqual([100, []]);
  expect(await bob.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'bob' });
  report(`a holder stopped past its ttl (fence ${fence}): ${refused} of 100 stale writes refused`);
});
