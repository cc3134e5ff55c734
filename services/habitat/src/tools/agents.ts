/** agent_*: agents come, are found, and go. */
import { z } from 'zod';
import { neverDenied } from '@svc/contract/decision.ts';
import { BrainName, DisplayName, IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { page, TimestampMs } from '@svc/contract/params.ts';
import { type HabitatDeps, defineTool } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { readAgents } from '../store/agent-rows.ts';
import type { SpawnDenial, Spawned } from '../store/spawn.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { Reference } from './references.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const SPAWN_REFUSES = ['E_QUOTA', 'E_RATE_LIMIT', 'AGENT_NOT_FOUND', 'E_NOT_FOUND'] as const;

const spawnName = DisplayName.optional().describe('Default: agent- and the end of its id.');
const spawnRole = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,64}$/u, 'must be 1-64 characters without control characters')
  .optional()
  .describe('What it is for; admin, editor or viewer also give it that role in its workspace.');

const spawned = z.strictObject({
  id: z.string(),
  agentId: z.string(),
  name: z.string(),
  role: z.string().nullable(),
  brain: z.string().nullable(),
  parent: z.string().nullable(),
  team: z.string().nullable(),
  workspace: z.string(),
  roles: z.array(z.string()),
  state: z.literal('idle'),
  createdAt: TimestampMs,
});

type SpawnContext = ToolContext<HabitatDeps, SpawnDenial, never>;

/** Asked only where it decides. */
async function readBrainHome({ deps, caller }: SpawnContext, brain: string | undefined): Promise<string | null> {
  if (brain === undefined || caller.operator || caller.subject.brain === brain) return null;
  return (await deps.brain.home({ resource: `brain:${brain}` })).own;
}

function shownSpawned({ agent, roles }: Spawned): z.input<typeof spawned> {
  const { roleId: _roleId, reportsTo: _reportsTo, createdBy: _createdBy, ...shown } = agent;
  return { id: agent.agentId, ...shown, roles: [...roles], state: 'idle' };
}

const agentSpawn = defineTool({
  name: 'agent_spawn',
  area: 'agents',
  description:
    'Makes an agent with a role in the workspace of its team, or in the default one; the first of a team gets a new workspace and is its admin.',
  input: z.strictObject({
    name: spawnName,
    role: spawnRole,
    parent: IdentityId.optional().describe('Agent above it; default: the caller, if it is an agent.'),
    brain: BrainName.optional().describe(
      'Brain it works with; row rules see it when the caller has it too, or is admin of its home, and as long as that is so.',
    ),
    team: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,60}$/, 'must be 1-60 letters, digits, dots, underscores or dashes')
      .optional()

      .describe(
        'Its workspace is org-<team>, for operators and those of the team; for others one of their own, which the answer names. Row rules see it as long as whoever gave it belongs to the team.',
      ),
    roleId: Reference.optional().describe('Team role it is meant for.'),
    reportsTo: IdentityId.optional().describe('Agent it reports to.'),
  }),
  output: spawned,
  access: 'identified',
  effect: 'write',
  refuses: SPAWN_REFUSES,
  example: { name: 'scout', role: 'researcher', team: 'red' },
  async handler(wish, context) {
    const brainHome = await readBrainHome(context, wish.brain);
    return shownSpawned(settled(context, await context.deps.store.spawn(context, { ...wish, brainHome })));
  },
});

const svcAgentSpawn = defineTool({
  name: 'svc_agent_spawn',
  area: 'agents',
  description: 'Makes an agent in the default workspace: agent_spawn with two arguments.',
  input: z.strictObject({ name: spawnName, role: spawnRole }),
  output: spawned,
  access: 'identified',
  effect: 'write',
  refuses: ['E_QUOTA', 'E_RATE_LIMIT'],
  example: { name: 'scout' },
  async handler(wish, context) {
    const { decision, ...outcome } = await context.deps.store.spawn(context, { ...wish, brainHome: null });
    // It names neither an agent nor a role of a team.
    const made = neverDenied(neverDenied(decision, 'AGENT_NOT_FOUND'), 'E_NOT_FOUND');
    return shownSpawned(settled(context, { ...outcome, decision: made }));
  },
});

const agentList = defineTool({
  name: 'agent_list',
  area: 'agents',
  description: 'Live agents of the workspaces the caller belongs to.',
  input: z.strictObject({ ...page, workspace: WorkspaceName.optional().describe('Only those whose home it is.') }),
  output: z.strictObject({
    agents: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        role: z.string().nullable(),
        state: z.enum(['idle', 'working']),
        team: z.string().nullable(),
        workspace: z.string(),
        brain: z.string().nullable(),
        parent: z.string().nullable(),
        createdAt: TimestampMs,
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler({ limit, cursor, workspace = null }, { deps, caller }) {
    const { operator, identity, token } = actorOf(caller);
    const position = positionOf(limit, cursor);
    const view = { everything: operator, identity, bound: token?.bound ?? null };
    const rows = await readAgents(deps.store.client, { ...view, workspace, ...position });
    const { items, next } = nextPage(rows, position, ({ agentId }) => agentId);
    return {
      agents: items.map(({ agentId: id, roleId: _roleId, reportsTo: _reportsTo, createdBy: _createdBy, ...shown }) => ({
        id,
        ...shown,
      })),
      ...next,
    };
  },
});

const agentKill = defineTool({
  name: 'agent_kill',
  area: 'agents',
  description: 'Ends an agent for good: its roles and tokens are gone, its open tasks have failed.',
  input: z.strictObject({ id: IdentityId }),
  output: z.strictObject({ killed: z.literal(true), id: z.string() }),
  access: 'identified',
  effect: 'write-idempotent',
  destructive: true,
  refuses: ['AGENT_NOT_FOUND'],
  dress: { killed: false },
  aliases: { agentId: 'id' },
  example: { id: 'agt_1' },
  async handler({ id }, context) {
    settled(context, await context.deps.store.kill(context, id), { id });
    context.deps.inboxFilled();
    return { killed: true as const, id };
  },
});

export const agentTools = [agentSpawn, svcAgentSpawn, agentList, agentKill];
