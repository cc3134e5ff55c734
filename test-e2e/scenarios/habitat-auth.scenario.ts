/** Application tokens. */
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { callerOf } from '../instruments/tenants.ts';
import { newName, verifies } from '../verifies.ts';

verifies(['auth:permissions', 'auth:unknown'], async ({ place }) => {
  const operator = new Caller(place);
  const userId = newName('u');
  const { token } = await operator.ok('auth_create', { userId, roles: ['editor'] });
  const judge = (permission: string, given: unknown = token) =>
    operator.ok('auth_require', { token: given, permission });
  expect(await judge('write')).toEqual({ allowed: true, userId, permission: 'write' });
  expect(await judge('canWrite')).toMatchObject({ allowed: true });
  expect(await judge('delete')).toEqual({ allowed: false, permission: 'delete', reason: 'missing_permission' });
  const unknown = `auth_${'0'.repeat(64)}`;
  expect(await operator.ok('auth_verify', { token: unknown })).toEqual({ valid: false, reason: 'invalid_or_expired' });
  expect(await judge('read', unknown)).toEqual({ allowed: false, permission: 'read', reason: 'invalid_token' });
});

verifies('auth:no-credential', async ({ keyed: place }) => {
  const { token } = await new Caller(place).ok('auth_create', { userId: newName('u'), roles: ['admin'] });
  for (const headers of [{ authorization: `Bearer ${String(token)}` }, { 'x-habitat-token': String(token) }]) {
    for (const door of ['/call', '/mcp/exec'] as const) {
      const reply = await new Caller(place, { key: null, headers }).call('svc_habitat_status', {}, { door });
      expect([reply.status, reply.body.error?.code]).toEqual([401, 'UNAUTHORIZED']);
    }
  }
});

verifies('auth:own-roles', async ({ place }) => {
  const operator = new Caller(place);
  const userId = newName('u');
  await operator.ok('svc_habitat_addRole', { workspaceId: 'default', userId, role: 'viewer' });
  const { token } = await operator.ok('svc_habitat_mintToken', { agentId: userId });
  const viewer = callerOf(place, String(token));
  await viewer.fails('FORBIDDEN', 'auth_create', { userId, roles: ['admin'] });
  await viewer.fails('FORBIDDEN', 'auth_create', { userId: newName('u') });
  expect(await viewer.ok('auth_create', { userId, roles: ['viewer'] })).toMatchObject({ userId, roles: ['viewer'] });
});
