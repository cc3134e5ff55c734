/** Events over Socket.IO: once each, in order, on every gateway, resumable. */
import { expect } from 'vitest';
import type { HeardEvent } from '../instruments/event-socket.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

/** Where nobody else makes so much happen at once that an ear which hears everything cannot take it. */
const target = ownTarget();

const namesOf = (events: readonly HeardEvent[]) => events.map(({ name }) => name);

verifies(['events:files-and-commits', 'gateway:sockets:delivery', 'lease:events'], async ({ fresh, socket }) => {
  const sockets = [await socket({ gateway: 0 }), await socket({ gateway: 1 })];
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'a/x', content: 'one' });
  await user.ok('brain_write', { name: 'a/x', content: 'one' });
  const { hash } = await user.ok<{ hash: string }>('brain_write', { name: 'a/x', content: 'two' });
  const { commit } = await user.ok<{ commit: string }>('svc_commit', { message: 'm' });
  const held = await user.ok<{ token: string; fence: number }>('svc_lock', { action: 'acquire', agentId: 'ann' });
  await user.ok('svc_lock', { action: 'acquire', token: held.token });
  await user.ok('svc_lock', { action: 'release', token: held.token });
  await user.ok('brain_delete_file', { name: 'a/x' });
  for (const one of sockets) {
    await one.until('deletion', (event) => event.brain === brain && event.change === 'deleted');
    const heard = one.of(brain).filter(({ name }) => name !== 'brain:created');
    expect(heard).toMatchObject([
      {
        name: 'brain:change',
        file: 'a/x.md',
        branch: 'main',
        change: 'created',
        source: 'tool',
        resources: [`brain:${brain}`, `brain:${brain}/a`, `brain:${brain}/a/x.md`],
      },
      { name: 'brain:change', file: 'a/x.md', change: 'updated', hash },
      { name: 'brain:save', branch: 'main', commit, files: 1 },
      { name: 'lock:acquired', agentId: 'ann', fence: held.fence, expiresAt: expect.any(Number) },
      { name: 'lock:released', agentId: 'ann', fence: held.fence, reason: 'released', heldMs: expect.any(Number) },
      { name: 'brain:change', file: 'a/x.md', change: 'deleted' },
    ]);
    for (const event of heard) {
      expect(event).toMatchObject({
        id: expect.stringMatching(/^evt_/),
        at: expect.any(Number),
        node: expect.any(String),
      });
      expect(JSON.stringify(event)).not.toContain(held.token);
    }
    // Of other scenarios some events bear the id of what they tell of instead.
    expect(new Set(heard.map(({ id }) => id)).size).toBe(heard.length);
  }
  expect(sockets[0]?.of(brain)).toEqual(sockets[1]?.of(brain));
});

verifies('gateway:sockets:delivery', async ({ fresh, socket }) => {
  const sockets = [await socket({ gateway: 0 }), await socket({ gateway: 1 })];
  const { user, brain } = await fresh();
  for (let index = 0; index < 300; index += 1)
    await user.ok('brain_write', { name: `f${index % 7}`, content: `v${index}` }, { gateway: index });
  const [first, second] = await Promise.all(sockets.map((one) => one.count(brain, 'brain:change', 300)));
  expect(first?.map(({ file }) => file)).toEqual(Array.from({ length: 300 }, (_, index) => `f${index % 7}.md`));
  expect(second).toEqual(first);
});

verifies('gateway:sockets:subscribe', async ({ fresh, socket }) => {
  const listener = await socket();
  expect(await listener.subscribe({ events: ['brain:save', 'lock:*'] })).toMatchObject({
    ok: true,
    events: expect.any(Array),
    workspaces: expect.any(Array),
  });
  const { user, brain } = await fresh();
  const held = await user.ok<{ token: string }>('svc_lock', { action: 'acquire' });
  await user.ok('svc_lock', { action: 'release', token: held.token });
  await user.ok('brain_write', { name: 'x', content: 'one' });
  await user.ok('svc_commit', { message: 'm' });
  await listener.until('save', (event) => event.brain === brain && event.name === 'brain:save');
  expect(namesOf(listener.of(brain))).toEqual(['lock:acquired', 'lock:released', 'brain:save']);

  expect(await listener.unsubscribe({ events: ['lock:*'] })).toMatchObject({ ok: true });
  const again = await user.ok<{ token: string }>('svc_lock', { action: 'acquire' });
  await user.ok('svc_lock', { action: 'release', token: again.token });
  await user.ok('brain_write', { name: 'x', content: 'two' });
  await user.ok('svc_commit', { message: 'm2' });
  await waitFor(() => listener.of(brain, 'brain:save').length === 2, { what: 'the second save' });
  expect(listener.of(brain, 'lock:acquired').length).toBe(1);

  expect(await listener.subscribe({ events: 'everything' })).toMatchObject({ ok: false, code: expect.any(String) });
  expect(listener.connected).toBe(true);
});

verifies(
  'gateway:sockets:resume',
  async ({ fresh, socket }) => {
    const { user, brain } = await fresh();
    const witness = await socket({ gateway: 0 });
    const before = await socket({ gateway: 0 });
    await user.ok('brain_write', { name: 'start', content: 'x' });
    const last = await before.until('the start', (event) => event.brain === brain && event.file === 'start.md');
    before.cut();
    await Promise.all(
      Array.from({ length: 10 }, async (_, writer) => {
        for (let index = 0; index < 50; index += 1)
          await user.ok('brain_write', { name: `w${writer}`, content: `${index}` }, { gateway: index });
      }),
    );
    await witness.count(brain, 'brain:change', 501);
    const after = await socket({ gateway: 1 });
    expect(await after.subscribe({ after: last.id })).toMatchObject({ ok: true });
    await user.ok('brain_write', { name: 'end', content: 'x' });
    await after.until('the end', (event) => event.brain === brain && event.file === 'end.md');
    const missed = after.of(brain, 'brain:change').filter(({ file }) => file !== 'end.md');
    const witnessed = witness.of(brain, 'brain:change').filter(({ file }) => file !== 'end.md' && file !== 'start.md');
    expect(missed.length).toBe(500);
    expect(missed.map(({ id }) => id)).toEqual(witnessed.map(({ id }) => id));
    const told = after.of(brain);
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
  },
  { on: target },
);

verifies('gateway:sockets:gone', async ({ fresh, socket }) => {
  const listener = await socket();
  const answer = await listener.subscribe({ after: `evt_${newName('never')}` });
  await waitFor(() => listener.errors.length > 0 || answer.code === 'E_EVENT_GONE', {
    what: 'E_EVENT_GONE',
  });
  if (answer.code !== 'E_EVENT_GONE') expect(listener.errors[0]).toMatchObject({ code: 'E_EVENT_GONE' });
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'live' });
  await listener.until('the live one', (event) => event.brain === brain && event.file === 'x.md');
});
