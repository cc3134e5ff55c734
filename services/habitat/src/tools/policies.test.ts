import { beforeAll, describe, expect, test } from 'vitest';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { serveBrain } from '../../testing/test-brain.ts';
import { useHabitat } from '../../testing/test-habitat.ts';
import { withTokenOf } from '../../testing/test-people.ts';

type Fields = Record<string, unknown>;

const bus = createLocalBus();
const { node } = useHabitat({ platform: { bus } });
/** What the brains say of where things are at home. */
const homes = new Map<string, { own: string | null; brain: string | null }>();

beforeAll(async () => {
  await serveBrain(bus, { home: async ({ resource }) => homes.get(resource) ?? { own: null, brain: 'default' } });
  for (const workspaceId of ['acme', 'beta', 'gamma']) {
    await node.call('svc_habitat_createWorkspace', { workspaceId, options: { owner: `${workspaceId}-admin` } });
  }
});

const tokenOf = (agentId: string) => withTokenOf(node, agentId);

const set = (resource: string, policy: Fields) => node.call('svc_habitat_setPolicy', { resource, policy });
const can = (resource: string, subject: Fields = { workspace: 'default' }, mode = 'read') =>
  node.call('svc_habitat_can', { resource, mode }, { subject });

describe('deciding', () => {
  test('without a policy: everybody reads, admins of default write', async () => {
    expect(await can('doc')).toEqual({
      allowed: true,
      because: 'public',
      resource: 'doc',
      mode: 'read',
      workspace: 'default',
      verified: false,
      rev: expect.any(Number),
    });
    expect(await can('doc', {}, 'write')).toMatchObject({ allowed: false, because: 'no-match' });
    expect(await can('constructor')).toMatchObject({ because: 'public' });
    await expect(can('__proto__')).rejects.toThrow('VAF_INPUT_INVALID');
  });

  test('container first, then an empty list, then the rules in their order', async () => {
    await set('box', { container: 'acme', readableBy: [] });
    expect(await can('box', { workspace: 'beta' })).toMatchObject({ allowed: false, because: 'container' });
    expect(await can('box', { workspace: 'acme' })).toMatchObject({ allowed: true, because: 'no-rules' });
    await set('open', { container: 'public', readableBy: [] });
    expect(await can('open', { workspace: 'beta' })).toMatchObject({ because: 'no-rules' });
    await set('rules', { container: 'acme', readableBy: ['role:viewer', 'user:u1', 'user:a:b'] });
    expect(await can('rules', { workspace: 'acme', userId: 'u1', roles: ['viewer'] })).toMatchObject({
      because: 'role:viewer',
    });
    expect(await can('rules', { workspace: 'acme', userId: 'u1' })).toMatchObject({ because: 'user:u1' });
    expect(await can('rules', { workspace: 'acme', userId: 'a:b' })).toMatchObject({ because: 'user:a:b' });
    expect(await can('rules', { workspace: 'acme', userId: 'a' })).toMatchObject({ allowed: false });
    expect(await can('rules', { workspace: 'acme', userId: 'u1', unknownWorkspace: true })).toMatchObject({
      because: 'no-match',
    });
  });

  test('a failed check is an error that tells nothing but mode and resource, an event and nothing else', async () => {
    await set('vault', { container: 'acme', readableBy: ['role:admin'] });
    const subject = { workspace: 'acme', userId: 'u1' };
    const denied = node.call('svc_habitat_check', { resource: 'vault' }, { subject, operator: false });
    await expect(denied).rejects.toMatchObject({
      message: 'RLS_DENIED',
      cause: { message: 'read of vault is denied', data: {} },
    });
    const rows = await node.rows(`SELECT name, workspace, payload FROM habitat.outbox WHERE name = 'access:denied'`);
    const payload = { resource: 'vault', mode: 'read', because: 'no-match', userId: 'u1' };
    expect(rows).toEqual([{ name: 'access:denied', workspace: 'acme', payload }]);
    expect(
      await node.call('svc_habitat_check', { resource: 'vault' }, { subject: { workspace: 'acme', roles: ['admin'] } }),
    ).toEqual({ checked: true, resource: 'vault', mode: 'read' });
  });
});

describe('setting', () => {
  test('merged over the defaults, not over what was before; the same again changes nothing', async () => {
    const policy = { container: 'acme', mask: ['email'], filter: 'secrets' };
    expect(await set('m', policy)).toEqual({
      resource: 'm',
      version: 1,
      policy: { readableBy: ['public'], writableBy: ['role:admin'], ...policy },
    });
    const { stamp } = await node.registry.revision();
    expect(await set('m', policy)).toMatchObject({ version: 1 });
    expect((await node.registry.revision()).stamp).toEqual(stamp);
    expect(await set('m', { writableBy: [] })).toEqual({
      resource: 'm',
      version: 2,
      policy: { readableBy: ['public'], writableBy: [], container: 'default', filter: [], mask: [] },
    });
    const after = (await node.registry.revision()).stamp;
    expect(after.policies).toBe(after.rev);
    expect(after.rev).toBeGreaterThan(stamp.rev);
    expect(await node.audited('resource', 'm')).toEqual(['policy:changed', 'policy:changed', 'policy:opened']);
  });

  test.each([
    { filter: 'rm' },
    { mask: 'constructor' },
    { readableBy: ['role'] },
    { readableBy: ['role:'] },
    { writableBy: ['group:x'] },
    { readableBy: Array.from({ length: 65 }, (_, index) => `user:${index}`) },
    { container: 'a b' },
    { colour: 'red' },
    { filter: null },
    { mask: [''] },
  ])('%j is no policy', async (policy) => {
    await expect(set('bad', policy)).rejects.toThrow('VAF_INPUT_INVALID');
    expect(await node.registry.policies({ resources: ['bad'] })).toMatchObject({ policies: {} });
  });

  test('an admin decides about what lies in its workspace, and moves nothing in or out', async () => {
    const [acme, beta] = [await tokenOf('acme-admin'), await tokenOf('beta-admin')];
    const as = (who: typeof acme, resource: string, container: string) =>
      who('svc_habitat_setPolicy', { resource, policy: { container } });
    await set('brain:svc/plans', { container: 'acme' });
    expect(await as(acme, 'brain:svc/plans', 'acme')).toMatchObject({ version: 1 });
    expect(await as(acme, 'brain:svc/plans/deep/one', 'acme')).toMatchObject({ version: 1 });
    await expect(as(beta, 'brain:svc/plans', 'beta')).rejects.toThrow('FORBIDDEN');
    await expect(as(beta, 'brain:svc/plans/other', 'beta')).rejects.toThrow('FORBIDDEN');
    await expect(as(acme, 'brain:svc/plans', 'beta')).rejects.toThrow('FORBIDDEN');
    await expect(as(acme, 'brain:svc/plans', 'public')).rejects.toThrow('FORBIDDEN');
    expect(await as(acme, 'brain:svc/plans', 'ghost')).toMatchObject({ code: 'HABITAT_UNKNOWN_WORKSPACE' });
    await expect(as(acme, 'nobodys', 'acme')).rejects.toThrow('FORBIDDEN');
    await expect(as(acme, 'brain:svc/plansX', 'acme')).rejects.toThrow('FORBIDDEN');
    expect(await node.registry.policies({ resources: ['nobodys', 'brain:svc/plans/other'] })).toMatchObject({
      policies: {},
    });
    await node.call('svc_habitat_addRole', { workspaceId: 'beta', userId: 'acme-admin', role: 'admin' });
    expect(await as(acme, 'brain:svc/plans', 'beta')).toMatchObject({ version: 2 });
  });

  test('what a workspace made is protected by its admin, by nobody else but operators', async () => {
    await node.call('svc_habitat_addRole', { workspaceId: 'default', userId: 'default-admin', role: 'admin' });
    const [gamma, lord] = [await tokenOf('gamma-admin'), await tokenOf('default-admin')];
    const attach = (who: typeof gamma, resource: string, container: string) =>
      who('svc_habitat_setPolicy', { resource, policy: { container } });
    const remove = (who: typeof gamma, resource: string) => who('svc_habitat_removePolicy', { resource });
    const things = ['brain:gammas', 'brain:svc/gamma.md', '_island:gamma'];
    for (const thing of things) homes.set(thing, { own: 'gamma', brain: 'default' });
    for (const thing of things) {
      await expect(attach(lord, thing, 'default')).rejects.toThrow('FORBIDDEN');
      expect(await attach(gamma, thing, 'gamma')).toMatchObject({ version: 1 });
      expect(await attach(gamma, thing, 'gamma')).toMatchObject({ version: 1 });
      await expect(remove(lord, thing)).rejects.toThrow('FORBIDDEN');
      expect(await remove(gamma, thing)).toEqual({ resource: thing, removed: true });
      expect(await remove(gamma, thing)).toEqual({ resource: thing, removed: false });
      await expect(attach(lord, thing, 'default')).rejects.toThrow('FORBIDDEN');
    }
    // What nobody made of its own: whoever has the folder, then the brain; of nothing that is there, nobody.
    expect(await attach(lord, 'brain:svc/common.md', 'default')).toMatchObject({ version: 1 });
    homes.set('brain:ghost', { own: null, brain: null });
    homes.set('_island:ghost', { own: null, brain: null });
    for (const ghost of ['brain:ghost', '_island:ghost'])
      await expect(attach(lord, ghost, 'default')).rejects.toThrow('FORBIDDEN');
    // In another container: its admin changes it, and does not open it.
    await node.call('svc_habitat_setPolicy', { resource: 'brain:gammas', policy: { container: 'default' } });
    await expect(attach(gamma, 'brain:gammas', 'gamma')).rejects.toThrow('FORBIDDEN');
    for (const who of [gamma, lord]) await expect(remove(who, 'brain:gammas')).rejects.toThrow('FORBIDDEN');
  });

  test('of many who set one resource at once none is lost', async () => {
    const versions = await Promise.all(
      Array.from({ length: 20 }, (_, index) => set('hot', { readableBy: [`user:${index}`] })),
    );
    expect(versions.map(({ version }) => Number(version)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  test('a claim gives an unpolicied resource the boundary of the workspace', async () => {
    await node.call('svc_habitat_createWorkspace', {
      workspaceId: 'claims',
      options: { policy: { readableBy: ['role:viewer'] } },
    });
    const claim = (resource: string, workspaceId: string) => node.registry.claim({ resource, workspaceId, by: 'u1' });
    const policy = { readableBy: ['role:viewer'], writableBy: ['role:admin'], container: 'claims' };
    expect(await claim('c1', 'claims')).toMatchObject({ claimed: true, policy });
    expect(await claim('c1', 'acme')).toMatchObject({ claimed: false, policy });
    expect(await claim('c2', 'ghost')).toMatchObject({ claimed: false, policy: null });
    expect(await can('c1', { workspace: 'claims', roles: ['viewer'] })).toMatchObject({ because: 'role:viewer' });
  });
});

test('boundaries are listed to those who belong to their workspace, in pages', async () => {
  await node.call('svc_habitat_createWorkspace', { workspaceId: 'lists', options: { owner: 'lena' } });
  for (const name of ['a', 'b', 'c']) await set(`lists-${name}`, { container: 'lists' });
  const lena = await tokenOf('lena');
  const first = await lena('svc_habitat_getBoundaries', { limit: 2 });
  expect(Object.keys(first.boundaries as Fields)).toEqual(['lists-a', 'lists-b']);
  const second = await lena('svc_habitat_getBoundaries', { limit: 2, cursor: first.nextCursor });
  expect(Object.keys(second.boundaries as Fields)).toEqual(['lists-c', 'open']);
  expect(second.nextCursor).toBeUndefined();
  expect(await lena('svc_habitat_status')).toMatchObject({ boundaries: 4 });
});
