/** What holds when several processes change the registry at once, on any database. */
import { describe, expect, test } from 'vitest';
import type { Database } from '@svc/runtime/database.ts';
import { useHabitat } from '../testing/test-habitat.ts';
import { identified } from '../testing/test-people.ts';

type Fields = Record<string, unknown>;

const TRIALS = 25;

/** Nodes that share nothing but the database. `nodes` > 1 needs a database for several processes. */
export function describeRaces(name: string, open: () => Promise<Database>, nodes: number): void {
  describe(`the registry under races on ${name}`, () => {
    const { next } = useHabitat({ open, nodes });
    const call = (tool: string, args: Fields = {}, over = {}) => next().call(tool, args, over);
    const grant = (workspaceId: string, userId: string, role = 'viewer') =>
      call('svc_habitat_addRole', { workspaceId, userId, role });
    const remove = (workspaceId: string, userId: string, role = 'viewer') =>
      call('svc_habitat_removeRole', { workspaceId, userId, role });
    const mint = async (agentId: string) => (await call('svc_habitat_mintToken', { agentId })).token;
    const isValid = async (token: unknown) => (await call('svc_habitat_verifyToken', { token })).valid;

    test('50 identities make one workspace: one owner, one admin, 49 refusals', async () => {
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          call('svc_habitat_createWorkspace', { workspaceId: 'race' }, identified(`racer${index}`)),
        ),
      );
      expect(replies.filter(({ created }) => created === true)).toHaveLength(1);
      expect(replies.filter(({ code }) => code === 'HABITAT_WORKSPACE_EXISTS')).toHaveLength(49);
      const rows = await next().rows(`SELECT role FROM habitat.roles WHERE workspace_id = 'race'`);
      expect(rows).toEqual([{ role: 'admin' }]);
    });

    test('of two admins who remove each other one stays', async () => {
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const workspaceId = `pair${trial}`;
        const [a, b] = [`a${trial}`, `b${trial}`];
        await call('svc_habitat_createWorkspace', { workspaceId, options: { owner: a } });
        await grant(workspaceId, b, 'admin');
        const take = (who: string, whom: string) =>
          call('svc_habitat_removeRole', { workspaceId, userId: whom, role: 'admin' }, identified(who));
        const outcomes = await Promise.allSettled([take(a, b), take(b, a)]);
        const said = outcomes.map((outcome) =>
          outcome.status === 'fulfilled'
            ? (outcome.value.code ?? outcome.value.removed)
            : String(outcome.reason.message),
        );
        expect(said.filter((one) => one === true)).toHaveLength(1);
        expect(['E_LAST_ADMIN', 'FORBIDDEN']).toContain(said.find((one) => one !== true));
        const held = await Promise.all([a, b].map((userId) => next().registry.roles({ userId, workspaceId })));
        expect(held.flatMap(({ roles }) => roles)).toEqual(['admin']);
      }
    });

    test('a token minted while the last role goes is dead, and a later grant does not revive it', async () => {
      await call('svc_habitat_createWorkspace', { workspaceId: 'm1' });
      let minted = 0;
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const userId = `minted${trial}`;
        await grant('m1', userId);
        const [token] = await Promise.all([mint(userId), remove('m1', userId)]);
        if (token === undefined) continue;
        minted += 1;
        expect(await isValid(token)).toBe(false);
        await grant('m1', userId);
        expect(await isValid(token)).toBe(false);
      }
      expect(minted).toBeGreaterThan(0);
    });

    test('the last two roles, taken at once in two workspaces, end the tokens', async () => {
      await call('svc_habitat_createWorkspace', { workspaceId: 'l1' });
      await call('svc_habitat_createWorkspace', { workspaceId: 'l2' });
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const userId = `last${trial}`;
        await Promise.all([grant('l1', userId), grant('l2', userId)]);
        const token = await mint(userId);
        expect(await isValid(token)).toBe(true);
        await Promise.all([remove('l1', userId), remove('l2', userId)]);
        await grant('l1', userId);
        expect(await isValid(token)).toBe(false);
      }
    });

    test('what one node has changed every other node knows at once', async () => {
      await call('svc_habitat_createWorkspace', { workspaceId: 'f1' });
      await grant('f1', 'fay');
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const token = String(await mint('fay'));
        expect(await isValid(token)).toBe(true);
        await grant('f1', 'fay', 'admin');
        expect(await call('svc_habitat_verifyToken', { token })).toMatchObject({
          subject: { roles: ['admin', 'viewer'] },
        });
        await remove('f1', 'fay', 'admin');
        const { token: seen } = await next().registry.subject({ token });
        expect(seen?.roles).toEqual({ f1: ['viewer'] });
        expect(await call('svc_habitat_revokeToken', { tokenOrHash: token })).toEqual({ revoked: true });
        expect(await isValid(token)).toBe(false);
      }
    });

    test('two agents of a team that has no workspace: one makes it, the other joins', async () => {
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const place = async (agentId: string) => {
          const { store, platform } = next().deps;
          const caller = { subject: {}, operator: true, token: null, deadlineAt: platform.clock.now() + 10_000 };
          const wish = { agentId, workspace: `org-${trial}`, by: 'operator', source: 'operator' as const };
          const { decision } = await store.provision({ caller, idempotency: null }, wish);
          if (!decision.ok) throw new Error(decision.code);
          return decision.value;
        };
        const agents = [`agt_${trial}_1`, `agt_${trial}_2`];
        const both = await Promise.all(agents.map(place));
        expect(new Set(both.map(({ roles }) => roles[0]))).toEqual(new Set(['admin', 'editor']));
        expect((await place(`agt_${trial}_1`)).created).toBe(false);
      }
    });

    test('the revision rises with each change and never repeats', async () => {
      const before = (await next().registry.revision()).stamp.rev;
      await Promise.all(Array.from({ length: 30 }, (_, index) => grant('default', `crowd${index}`)));
      expect((await next().registry.revision()).stamp.rev).toBe(before + 30);
    });
  });
}
