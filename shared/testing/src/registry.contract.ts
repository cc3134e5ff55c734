/** What a registry of identities answers, so that the one in memory does not say what the real one would not. */
import { randomUUID } from 'node:crypto';
import type { OperationClient } from '@svc/runtime/operations.ts';
import type { RegistryClient } from '@svc/runtime/registry.ts';
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { Policy } from '@svc/contract/policy.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

type Asked = Pick<OperationClient<typeof HABITAT, 'brain'>, 'attached' | 'copyPolicies' | 'removeCopies'> &
  Pick<OperationClient<typeof HABITAT, 'agora'>, 'accounts'> &
  Pick<RegistryClient<'gateway'>, 'revision' | 'subject' | 'tokenStands' | 'context' | 'roles' | 'policies'>;

interface RegistryUnderTest {
  readonly ask: Asked;
  /** A role in a workspace, which is made when it is not there. */
  grant(agentId: string, workspace: string, role: string): Promise<void>;
  mint(agentId: string, options?: { readonly bound?: string; readonly readOnly?: boolean }): Promise<string>;
  revoke(token: string): Promise<void>;
  setPolicy(resource: string, policy: Pick<Policy, 'readableBy' | 'container'>): Promise<void>;
  close(): Promise<void>;
}

export function describeRegistry(name: string, open: () => Promise<RegistryUnderTest>): void {
  describe(`registry of identities: ${name}`, () => {
    let registry: RegistryUnderTest;
    beforeAll(async () => {
      registry = await open();
    });
    afterAll(() => registry.close());
    const named = (word: string) => `${word}-${randomUUID().slice(0, 8)}`;

    test('an identity is who has a role somewhere; its first workspace is its home', async () => {
      const { ask, grant } = registry;
      const [agentId, home, other] = [named('a'), named('w'), named('w')];
      expect(await ask.context({ agentId })).toMatchObject({ subject: null, quarantined: false, roles: {} });
      expect(await ask.roles({ userId: agentId, workspaceId: home })).toMatchObject({ known: false, roles: [] });
      await grant(agentId, home, 'editor');
      await grant(agentId, other, 'viewer');
      const inHome = { userId: agentId, agentId, workspace: home, roles: ['editor'], family: agentId };
      const { subject, roles } = await ask.context({ agentId });
      expect(subject).toEqual(inHome);
      expect(roles).toEqual({ [home]: ['editor'], [other]: ['viewer'] });
      expect((await ask.context({ agentId, workspace: other })).subject).toMatchObject({ workspace: other });
      expect((await ask.context({ agentId, workspace: named('none') })).subject).toEqual(inHome);
      expect(await ask.roles({ userId: agentId, workspaceId: home })).toMatchObject({ known: true, roles: ['editor'] });
      expect(await ask.roles({ userId: named('b'), workspaceId: home })).toMatchObject({ known: true, roles: [] });
    });

    test('every change raises the revision, and those of boundaries also their own part of the stamp', async () => {
      const { ask, grant, setPolicy } = registry;
      const workspace = named('w');
      await grant(named('a'), workspace, 'viewer');
      const before = (await ask.revision()).stamp;
      expect((await ask.revision()).stamp).toEqual(before);
      await grant(named('a'), workspace, 'viewer');
      const granted = (await ask.revision()).stamp;
      expect(granted.rev).toBeGreaterThan(before.rev);
      expect(granted.policies).toBe(before.policies);
      await setPolicy(`brain:${named('b')}`, { readableBy: ['role:admin'], container: workspace });
      const closed = (await ask.revision()).stamp;
      expect(closed.policies).toBeGreaterThan(granted.policies);
      expect(closed.rev).toBeGreaterThanOrEqual(closed.policies);
      expect((await ask.policies({ resources: [] })).stamp).toEqual(closed);
    });

    test('a token is its agent within its limits until it is revoked', async () => {
      const { ask, grant, mint, revoke } = registry;
      const [agentId, home, other] = [named('a'), named('w'), named('w')];
      await grant(agentId, home, 'editor');
      await grant(agentId, other, 'viewer');
      const token = await mint(agentId);
      const { token: verified } = await ask.subject({ token });
      expect(verified).toMatchObject({
        subject: { userId: agentId, agentId, workspace: home, roles: ['editor'] },
        limits: { bound: null, readOnly: false, profile: null },
        roles: { [home]: ['editor'], [other]: ['viewer'] },
        quarantined: false,
      });
      expect(verified?.accounts).toContain(agentId);
      expect((await ask.accounts({ agentId })).accounts).toEqual(verified?.accounts);
      const bound = await ask.subject({ token: await mint(agentId, { bound: other, readOnly: true }) });
      expect(bound.token).toMatchObject({ limits: { bound: other, readOnly: true }, subject: { workspace: other } });
      const { tokenId = '' } = verified?.limits ?? {};
      expect(await ask.tokenStands({ tokenId })).toMatchObject({ stands: true });
      await revoke(token);
      expect((await ask.subject({ token })).token).toBeNull();
      expect(await ask.tokenStands({ tokenId })).toMatchObject({ stands: false });
      expect((await ask.subject({ token: `svc_${'0'.repeat(64)}` })).token).toBeNull();
    });

    test('boundaries are found by their place, and copied with all that is below', async () => {
      const { ask, grant, setPolicy } = registry;
      const [workspace, root, to] = [named('w'), `brain:${named('r')}`, `brain:${named('t')}`];
      await grant(named('a'), workspace, 'viewer');
      for (const resource of [root, `${root}/hr`, `${root}x`])
        await setPolicy(resource, { readableBy: ['role:admin'], container: workspace });
      const { policies } = await ask.attached({ root, prefixes: [] });
      expect(Object.keys(policies).sort()).toEqual([root, `${root}/hr`]);
      expect(Object.keys((await ask.attached({ root: named('none'), prefixes: [`${root}x`] })).policies)).toEqual([
        `${root}x`,
      ]);
      expect((await ask.policies({ resources: [root, `${root}/no`] })).policies).toEqual({ [root]: policies[root] });
      const copies = await ask.copyPolicies({ from: root, to, by: 'ada' });
      expect(copies).toMatchObject({ copied: 2, resources: expect.arrayContaining([to, `${to}/hr`]) });
      const gone = { resources: [...(copies.resources ?? []), `${to}/none`], by: 'ada' };
      expect((await ask.removeCopies(gone)).removed).toBe(2);
      expect((await ask.policies({ resources: gone.resources })).policies).toEqual({});
      expect((await ask.copyPolicies({ from: root, to, by: 'ada' })).copied).toBe(2);
      expect((await ask.copyPolicies({ from: root, to, by: 'ada' })).copied).toBe(0);
      expect((await ask.policies({ resources: [`${to}/hr`] })).policies[`${to}/hr`]).toEqual(policies[`${root}/hr`]);
      await setPolicy(`${to}/hr`, { readableBy: ['role:viewer'], container: workspace });
      expect((await ask.copyPolicies({ from: root, to, by: 'ada' })).copied).toBeNull();
    });
  });
}
