/** Tokens on the event channel: who hears what, and that a token that ended takes its sockets with it. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { callerOf } from '../instruments/tenants.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { mint, workspaceWith } from '../instruments/workspaces.ts';
import { promised } from '../settings.ts';
import { type TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

verifies('tokens:sockets-of-tenants', async ({ place, fresh, socket }) => {
  const acme = await workspaceWith(place, 'viewer', 'admin');
  const beta = await workspaceWith(place, 'viewer');
  const { user, brain } = await fresh();
  await user.ok('svc_habitat_setPolicy', {
    resource: `brain:${brain}/acme`,
    policy: { container: acme.workspace, readableBy: [], writableBy: ['role:admin'] },
  });
  const tokens = await Promise.all([...acme.ids, ...beta.ids].map((id) => mint(place, id)));
  const [viewer, admin, stranger] = await Promise.all(
    tokens.map((token, gateway) => socket({ gateway, auth: { token } })),
  );
  for (const one of [viewer, admin, stranger]) expect(await one?.subscribe()).toMatchObject({ ok: true });
  const writer = callerOf(place, tokens[1] ?? '', { 'x-svc-session': user.session });
  await writer.ok('brain_write', { name: 'acme/plan', content: 'x', brain });
  await user.ok('brain_write', { name: 'open/end', content: 'x' });
  const end = (event: Fields) => event.brain === brain && event.file === 'open/end.md';
  for (const one of [viewer, admin, stranger]) await one?.until('the end', end);
  const files = (one: EventSocket | undefined) => one?.of(brain, 'brain:change').map(({ file }) => file);
  expect([viewer, admin, stranger].map(files)).toEqual([
    ['acme/plan.md', 'open/end.md'],
    ['acme/plan.md', 'open/end.md'],
    ['open/end.md'],
  ]);

  const island = newName('i');
  await user.ok('svc_create_island', { name: island, triggers: ['x'], content: 'x' });
  await user.ok('svc_habitat_setPolicy', {
    resource: `_island:${island}`,
    policy: { container: acme.workspace, readableBy: ['role:admin'], writableBy: ['role:admin'] },
  });
  const reader = callerOf(place, tokens[0] ?? '');
  await reader.fails('RLS_DENIED', 'svc_load_island', { name: island, options: { brain } });
  const denied = await admin?.until(
    'island:denied',
    ({ name, island: which }) => name === 'island:denied' && which === island,
  );
  expect(denied).toMatchObject({ mode: 'read', op: 'load', userId: acme.ids[0], workspace: acme.workspace });
  await delay(300);
  for (const one of [viewer, stranger]) expect(one?.heard.filter(({ name }) => name === 'island:denied')).toEqual([]);
});

verifies(['tokens:sockets-end', 'tokens:secret'], async ({ place, socket, report }) => {
  const { ids, workspace } = await workspaceWith(place, 'viewer');
  const operator = new Caller(place);
  const token = await mint(place, ids[0]);
  const witness = await socket();
  const sockets = await Promise.all([0, 1].map((gateway) => socket({ gateway, auth: { token } })));
  const stays = await socket({ auth: { token: await mint(place, ids[0]) } });
  const revokedAt = Date.now();
  await operator.ok('svc_habitat_revokeToken', { tokenOrHash: token });
  await Promise.all(
    sockets.map((one) =>
      waitFor(() => !one.connected, { withinMs: promised(2000), what: 'the end of a revoked socket' }),
    ),
  );
  report(`sockets of a revoked token closed after ${Date.now() - revokedAt} ms`);
  for (const one of sockets) expect(one.errors).toMatchObject([{ code: 'UNAUTHORIZED' }]);
  expect(stays.connected).toBe(true);
  const role = { workspaceId: workspace, userId: ids[0] ?? '', role: 'viewer' };
  await operator.ok('svc_habitat_removeRole', role);
  await waitFor(() => !stays.connected, { withinMs: promised(2000), what: 'the end of a socket without identity' });
  const short = await socket({ auth: { token: await freshToken(place, 4000) } });
  await waitFor(() => !short.connected, { what: 'the end of an expired socket' });
  await witness.until('token:revoked', ({ name }) => name === 'token:revoked');
  expect(JSON.stringify(witness.heard)).not.toContain(token.slice(4));
});

async function freshToken(place: TargetPlace, ttlMs: number): Promise<string> {
  const { ids } = await workspaceWith(place, 'viewer');
  return mint(place, ids[0], { ttlMs });
}
