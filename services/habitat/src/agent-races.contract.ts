/** What holds of agents and organisations when several processes change them at once, on any database. */
import { describe, expect, test } from 'vitest';
import type { Database } from '@svc/runtime/database.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { codeOf, enrol, type Person } from '../testing/test-people.ts';
import { useHabitat } from '../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

const TRIALS = 10;
/** More than a process has connections. */
const CROWD = 60;
const WAITING = `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;

/** Nodes that share nothing but the database. `nodes` > 1 needs a database for several processes. */
export function describeAgentRaces(name: string, open: () => Promise<Database>, nodes: number): void {
  describe(`agents and organisations under races on ${name}`, () => {
    const { next, nodeOf } = useHabitat({ open, nodes });
    const call = (tool: string, args: Fields = {}) => next().call(tool, args);
    const spawned = async (args: Fields = {}) => String((await call('agent_spawn', args)).agentId);

    test('of two who spawn into a new team at once one is admin, the other editor', async () => {
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const team = `red${trial}`;
        const both = await Promise.all([call('agent_spawn', { team }), call('agent_spawn', { team })]);
        expect(both.map(({ roles }) => String(roles)).sort()).toEqual(['admin', 'editor']);
      }
    });

    test('of two spawns of one person into a new team one makes its workspace, the other joins', async () => {
      const [one, other] = [await enrol(next(), 'racer'), await enrol(next(), 'rival')];
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const spawn = (person: Person) => person.call('agent_spawn', { team: `new${trial}` }, next());
        const both = await Promise.all([spawn(one), spawn(one)]);
        expect(both.map(({ roles }) => String(roles)).sort()).toEqual(['admin', 'editor']);
        expect(new Set(both.map(({ workspace }) => workspace)).size).toBe(1);
        // Another family has a workspace of its own for a team of that name, and learns nothing of the first.
        expect(await spawn(other)).toMatchObject({ roles: ['admin'] });
      }
    });

    test('no workspace gets more than 200 live agents', async () => {
      const ids = [await spawned({ team: 'full' })];
      for (let index = 1; index < 190; index += 1) ids.push(await spawned({ team: 'full' }));
      const codes = await Promise.all(Array.from({ length: 24 }, () => codeOf(call('agent_spawn', { team: 'full' }))));
      expect(codes.filter((code) => code === null)).toHaveLength(10);
      expect(codes.filter((code) => code === 'E_QUOTA')).toHaveLength(14);
    }, 90_000);

    test.skipIf(nodes === 1)('a crowd at one workspace leaves the connections of its process to others', async () => {
      const node = nodeOf(0);
      const beside = await open();
      await node.call('agent_spawn', { team: 'crowded' });
      let crowd: Promise<unknown>[] = [];
      await withPgTransaction(beside.pool, async (tx) => {
        await tx.$queryRawUnsafe(`SELECT 1 FROM habitat.workspaces WHERE workspace_id = 'org-crowded' FOR UPDATE`);
        crowd = Array.from({ length: CROWD }, () => node.call('agent_spawn', { team: 'crowded' }));
        await expect.poll(() => poolClient(beside.pool).$queryRawUnsafe(WAITING)).toEqual([{ waiting: 1 }]);
        expect(await node.call('agent_spawn', { team: 'elsewhere' })).toMatchObject({ workspace: 'org-elsewhere' });
      });
      await Promise.all(crowd);
      await beside.close();
    });

    test('nobody spawns more than 60 agents a minute', async () => {
      const person = await enrol(next(), 'busy', { workspace: 'org-busy' });
      const spawn = () => person.code('agent_spawn', { team: 'busy' }, next());
      const codes = await Promise.all(Array.from({ length: 70 }, spawn));
      expect(codes.filter((code) => code === null)).toHaveLength(60);
      expect(codes.filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(10);
    }, 90_000);

    test('an agent is killed once, and nothing of it survives what happens at the same time', async () => {
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const parent = await spawned({ team: `kill${trial}` });
        const id = await spawned({ team: `kill${trial}`, parent });
        const [first, second, child, , , minted] = await Promise.all([
          codeOf(call('agent_kill', { id })),
          codeOf(call('agent_kill', { id })),
          call('agent_spawn', { team: `kill${trial}`, parent: id }),
          call('svc_agents_delegate_mcp', { id, task: 'x' }),
          call('svc_agents_delegate_mcp', { id, task: 'y' }),
          call('svc_habitat_mintToken', { agentId: id }),
        ]);
        expect([String(first), String(second)].sort()).toEqual(['AGENT_NOT_FOUND', 'null']);
        expect(child.code === 'AGENT_NOT_FOUND' || typeof child.agentId === 'string').toBe(true);
        expect(await next().rows('SELECT 1 FROM habitat.agents WHERE parent = $1', id)).toEqual([]);
        expect(await next().rows('SELECT 1 FROM habitat.roles WHERE user_id = $1', id)).toEqual([]);
        expect(
          await next().rows('SELECT 1 FROM habitat.agent_tasks WHERE agent_id = $1 AND ended_at IS NULL', id),
        ).toEqual([]);
        expect(await call('svc_habitat_verifyToken', { token: minted.token ?? 'none' })).toEqual({ valid: false });
      }
    });

    test('an inbox never takes more than a thousand open tasks', async () => {
      const id = await spawned();
      await next().rows(
        `INSERT INTO habitat.agent_tasks (task_id, agent_id, task, status, "by", at)
         SELECT 'task_' || $1 || n, $1, 'x', 'queued', 'test', now() FROM generate_series(1, 995) n`,
        id,
      );
      const codes = await Promise.all(
        Array.from({ length: 12 }, () => codeOf(call('svc_agents_delegate_mcp', { id, task: 'x' }))),
      );
      expect(codes.filter((code) => code === null)).toHaveLength(5);
      expect(codes.filter((code) => code === 'E_INBOX_FULL')).toHaveLength(7);
    });

    test('four organisations at once; of four with one name, one', async () => {
      const many = await Promise.all(
        ['a', 'b', 'c', 'd'].map((letter) => codeOf(call('teams_createOrg', { name: `Org ${letter}` }))),
      );
      expect(many).toEqual([null, null, null, null]);
      const same = await Promise.all(
        ['Acme', 'acme', 'ACME', 'aCME'].map((org) => codeOf(call('teams_createOrg', { name: org }))),
      );
      expect(same.filter((code) => code === null)).toHaveLength(1);
      expect(same.filter((code) => code === 'E_DUPLICATE')).toHaveLength(3);
      const owner = await enrol(next(), 'collector');
      const codes = await Promise.all(
        Array.from({ length: 24 }, (_, index) => owner.code('teams_createOrg', { name: `C ${index}` }, next())),
      );
      expect(codes.filter((code) => code === 'E_QUOTA')).toHaveLength(4);
    });

    test('two who are to report to each other at once do not', async () => {
      const { id: org } = await call('teams_createOrg', { name: 'Chain' });
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const ids = [await spawned(), await spawned(), await spawned()];
        for (const agentId of ids) await call('teams_assign', { agentId, org });
        const codes = await Promise.all(
          ids.map((agentId, index) => codeOf(call('teams_assign', { agentId, org, reportsTo: ids[(index + 1) % 3] }))),
        );
        expect(codes.filter((code) => code === 'E_CYCLE')).toHaveLength(1);
        expect(codes.filter((code) => code === null)).toHaveLength(2);
      }
    });

    test('moves between organisations at once end in one place, and nobody reports across them', async () => {
      const orgs = await Promise.all(
        ['M1', 'M2'].map(async (org) => (await call('teams_createOrg', { name: org })).id),
      );
      const [one, other] = [await spawned(), await spawned()];
      for (let trial = 0; trial < TRIALS; trial += 1) {
        await Promise.all([
          call('teams_assign', { agentId: one, org: orgs[trial % 2] }),
          call('teams_assign', { agentId: other, org: orgs[0] }),
          call('teams_assign', { agentId: other, org: orgs[1] }),
          call('teams_assign', { agentId: other, org: orgs[0], reportsTo: one }),
          call('teams_assign', { agentId: one, org: orgs[1], reportsTo: other }),
        ]);
        const across = await next().rows(
          `SELECT 1 FROM habitat.assignments s JOIN habitat.assignments t ON t.agent_id = s.reports_to WHERE s.org <> t.org`,
        );
        expect(across).toEqual([]);
      }
      expect(
        await next().rows('SELECT 1 FROM habitat.assignments WHERE agent_id = ANY($1::text[])', [one, other]),
      ).toHaveLength(2);
    });
  });
}
