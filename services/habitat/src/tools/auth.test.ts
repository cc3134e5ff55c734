import { expect, test } from 'vitest';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();

test('an application token carries its roles, and ends by time or by hand', async () => {
  const over = { idempotencyKey: 'auth-1' };
  const made = await node.call('auth_create', { userId: 'u1', roles: ['editor', 'deploy'] }, over);
  expect(made.token).toMatch(/^auth_[0-9a-f]{64}$/);
  const { token, userId, roles, expiresAt } = made;
  expect(await node.call('auth_verify', { token })).toEqual({ valid: true, payload: { userId, roles, expiresAt } });
  const require = (permission: string) => node.call('auth_require', { token, permission });
  expect(await require('write')).toEqual({ allowed: true, userId: 'u1', permission: 'write' });
  expect(await require('deploy')).toMatchObject({ allowed: true });
  expect(await require('delete')).toEqual({ allowed: false, permission: 'delete', reason: 'missing_permission' });
  expect(await node.call('auth_require', { token })).toEqual({ allowed: true, userId: 'u1', permission: null });
  expect(await node.call('auth_create', { userId: 'u1', roles: ['editor', 'deploy'] }, over)).toEqual({
    ...made,
    token: null,
    replayed: true,
  });
  expect(await node.call('svc_habitat_revokeToken', { tokenOrHash: token })).toEqual({ revoked: true });
  expect(await node.call('auth_verify', { token })).toEqual({ valid: false, reason: 'invalid_or_expired' });
  expect(await require('write')).toEqual({ allowed: false, permission: 'write', reason: 'invalid_token' });
});

test('unknown tokens and those of agents are no application tokens', async () => {
  await node.call('svc_habitat_addRole', { workspaceId: 'default', userId: 'vera', role: 'viewer' });
  const { token } = await node.call('svc_habitat_mintToken', { agentId: 'vera' });
  for (const given of [token, `auth_${'0'.repeat(64)}`, 'x']) {
    expect(await node.call('auth_verify', { token: given })).toEqual({ valid: false, reason: 'invalid_or_expired' });
    expect(await node.call('auth_require', { token: given })).toMatchObject({ reason: 'invalid_token' });
  }
  const { token: application } = await node.call('auth_create', { userId: 'vera', roles: ['admin'] });
  expect(await node.registry.subject({ token: String(application) })).toMatchObject({ token: null });
});

test('an identity makes them for itself, with roles it holds', async () => {
  await node.call('svc_habitat_addRole', { workspaceId: 'default', userId: 'ed', role: 'editor' });
  const ed = node.as(String((await node.call('svc_habitat_mintToken', { agentId: 'ed' })).token));
  expect(await ed('auth_create', { userId: 'ed', roles: ['viewer', 'editor'] })).toMatchObject({ userId: 'ed' });
  await expect(ed('auth_create', { userId: 'ed', roles: ['admin'] })).rejects.toThrow('FORBIDDEN');
  await expect(ed('auth_create', { userId: 'ed', roles: ['deploy'] })).rejects.toThrow('FORBIDDEN');
  await expect(ed('auth_create', { userId: 'vera' })).rejects.toThrow('FORBIDDEN');
  await expect(node.call('auth_create', { userId: 'ed', roles: ['a b'] })).rejects.toThrow('VAF_INPUT_INVALID');
});

test('it ends when its time is up, by the clock of the database', async () => {
  const { token, tokenId } = await node.call('auth_create', { userId: 'tim' });
  expect(await node.call('auth_verify', { token })).toMatchObject({ valid: true });
  const { client } = node.deps.store;
  await client.$executeRawUnsafe(
    `UPDATE habitat.tokens SET expires_at = clock_timestamp() - interval '1 ms' WHERE token_id = $1`,
    tokenId,
  );
  expect(await node.call('auth_verify', { token })).toEqual({ valid: false, reason: 'invalid_or_expired' });
});
