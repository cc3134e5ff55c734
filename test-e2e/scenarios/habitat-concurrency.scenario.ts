/** The registry under many hands at once, and killed in the middle of its work. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields, type Reply } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { REGISTRY_KILL_ROUNDS } from '../settings.ts';
import { newName, ownTarget, REGISTRY_APART, type Scenario, verifies } from '../verifies.ts';

const CLIENTS = 4;
const EACH = 50;

interface Family {
  readonly tool: string;
  /** Arguments of the n-th; `run` makes names unique. */
  args(run: string, n: number): Fields;
  /** What a second call with the same arguments answers. */
  readonly duplicate: string | null;
}

const FAMILIES: readonly Family[] = [
  {
    tool: 'svc_habitat_createWorkspace',
    args: (run, n) => ({ workspaceId: `${run}-w${n}`, options: { owner: `${run}-u${n}` } }),
    duplicate: null,
  },
  { tool: 'teams_createOrg', args: (run, n) => ({ name: `${run} o${n}` }), duplicate: 'E_DUPLICATE' },
  { tool: 'agent_spawn', args: (run, n) => ({ name: `${run}-a${n}`, team: run }), duplicate: null },
  {
    tool: 'svc_habitat_addRole',
    args: (run, n) => ({ workspaceId: 'default', userId: `${run}-r${n}`, role: 'viewer' }),
    duplicate: null,
  },
];

verifies('access:concurrent-changes', async ({ place, report }) => {
  const run = newName('c').replaceAll('-', '');
  const callers = Array.from({ length: CLIENTS }, (_, gateway) => new Caller(place, { gateway }));
  const everyone = <Value>(work: (caller: Caller, client: number) => Promise<Value>): Promise<Value[]> =>
    Promise.all(callers.map((caller, client) => work(caller, client)));
  const startedAt = performance.now();
  for (const { tool, args, duplicate } of FAMILIES) {
    const replies = await everyone((caller, client) =>
      Promise.all(Array.from({ length: EACH }, (_, n) => caller.call(tool, args(run, client * EACH + n)))),
    );
    expect([tool, ...new Set(replies.flat().map(codeOf))]).toEqual([tool, null]);
    if (duplicate === null) continue;
    const again = await everyone((caller, client) => caller.call(tool, args(run, client)));
    expect([tool, ...new Set(again.map(codeOf))]).toEqual([tool, duplicate]);
  }
  report(`${CLIENTS * EACH * FAMILIES.length} changes at once in ${Math.round(performance.now() - startedAt)} ms`);
  await expectWhole(callers[0] ?? new Caller(place), run, CLIENTS * EACH);
});

/** Everything is there once: rows, roles, and the team's workspace with one admin among editors. */
async function expectWhole(caller: Caller, run: string, count: number): Promise<void> {
  const workspaces = await everyPage(caller, 'svc_habitat_listWorkspaces', 'workspaces');
  const mine = workspaces.filter(({ workspaceId }) => String(workspaceId).startsWith(`${run}-w`));
  expect(new Set(mine.map(({ workspaceId }) => workspaceId)).size).toBe(count);
  const orgs = await everyPage(caller, 'teams_listOrgs', 'orgs');
  expect(orgs.filter(({ name }) => String(name).startsWith(`${run} o`))).toHaveLength(count);
  const agents = await everyPage(caller, 'agent_list', 'agents', { workspace: `org-${run}` });
  expect(agents).toHaveLength(count);
  const roles = await Promise.all(
    agents.map(({ id }) =>
      caller.ok<{ roles: string[] }>('svc_habitat_getUserRoles', { workspaceId: `org-${run}`, userId: id }),
    ),
  );
  const admins = roles.filter(({ roles: held }) => held.includes('admin'));
  expect([admins.length, roles.every(({ roles: held }) => held.length === 1)]).toEqual([1, true]);
}

async function everyPage(caller: Caller, tool: string, field: string, args: Fields = {}): Promise<Fields[]> {
  const rows: Fields[] = [];
  for (let cursor: unknown; ; ) {
    const page = await caller.ok(tool, { ...args, limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...(page[field] as Fields[]));
    if (page.nextCursor === undefined) return rows;
    cursor = page.nextCursor;
  }
}

const target = ownTarget({}, { apart: REGISTRY_APART });
const TYPED = ['SERVICE_UNAVAILABLE', 'E_BUSY', 'TIMEOUT', 'E_OUTCOME_UNKNOWN', 'INTERNAL', 'TOOL_NOT_FOUND'];

verifies(
  'access:killed-in-the-middle',
  async (scenario) => {
    const { place, habitats } = target.get();
    const run = newName('k').replaceAll('-', '');
    const work = grantWhile({ ...scenario, place }, run);
    try {
      for (let kill = 0; kill < REGISTRY_KILL_ROUNDS; kill += 1) {
        await delay(1500);
        const victim = habitats[kill % habitats.length];
        const before = work.acknowledged.length;
        await victim?.kill();
        await victim?.start();
        await waitFor(() => work.acknowledged.length > before + 20, {
          what: 'grants after the kill',
        });
      }
    } finally {
      await work.stop();
    }
    expect(work.untyped).toEqual([]);
    const operator = new Caller(place);
    const held = await Promise.all(
      work.acknowledged.map((userId) =>
        operator.ok<{ roles: string[] }>('svc_habitat_getUserRoles', { workspaceId: run, userId }),
      ),
    );
    expect(held.filter(({ roles }) => roles.length !== 1)).toEqual([]);
    const wanted = new Set(work.acknowledged);
    const audited = await waitFor(
      async () => {
        const entries = await everyPage(operator, 'svc_audit_list', 'entries', {
          workspace: run,
          event: 'role:granted',
        });
        const users = entries.map(({ data }) => String((data as Fields).userId));
        return [...wanted].every((user) => users.includes(user)) ? users : null;
      },
      { what: 'an audit entry of every grant' },
    );
    expect(new Set(audited).size).toBe(audited.length);
    expect(await operator.ok('svc_audit_verify')).toMatchObject({ ok: true });
    scenario.report(
      `${work.acknowledged.length} grants acknowledged over ${REGISTRY_KILL_ROUNDS} kills of the registry, none lost`,
    );
  },
  { on: target, timeoutMs: 300_000 + REGISTRY_KILL_ROUNDS * 20_000 },
);

interface Granting {
  readonly acknowledged: string[];
  /** Answers that no caller could make sense of. */
  readonly untyped: string[];
  stop(): Promise<void>;
}

/** Four callers that grant one role after the other until they are stopped. */
function grantWhile({ place }: Pick<Scenario, 'place'>, run: string): Granting {
  const acknowledged: string[] = [];
  const untyped: string[] = [];
  let stopped = false;
  const client = async (index: number): Promise<void> => {
    const caller = new Caller(place, { gateway: index, headers: { 'x-svc-timeout-ms': '3000' } });
    for (let n = 0; !stopped; n += 1) {
      const userId = `${run}-${index}-${n}`;
      const reply = await caller
        .call('svc_habitat_addRole', { workspaceId: run, userId, role: 'viewer' })
        .catch(() => null);
      if (reply === null) await delay(50);
      else note(reply, userId);
    }
  };
  const note = (reply: Reply, userId: string): void => {
    const code = codeOf(reply);
    if (code === null) acknowledged.push(userId);
    else if (!TYPED.includes(code)) untyped.push(code);
  };
  const work = new Caller(place)
    .ok('svc_habitat_createWorkspace', { workspaceId: run, options: { owner: `${run}-owner` } })
    .then(() => Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index))));
  return {
    acknowledged,
    untyped,
    async stop() {
      stopped = true;
      await work;
    },
  };
}
