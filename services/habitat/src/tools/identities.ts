/** Who an agent or user is, as far as the caller may know. */
import { z } from 'zod';
import { IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { defineTool } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { agentNotFound } from '../domain/agent-rights.ts';
import { capabilitiesOf } from '../domain/capabilities.ts';
import { visibleWorkspaces } from '../domain/grants.ts';
import { contextOf } from '../domain/identity.ts';
import { memberships } from '../roles.ts';
import { readIdentity } from '../store/identity-rows.ts';

const agentContext = defineTool({
  name: 'svc_habitat_agentContext',
  area: 'habitat',
  description: 'An agent or user as it acts in a workspace: roles, team, brain, capabilities.',
  input: z.strictObject({
    agentId: IdentityId,
    workspace: WorkspaceName.optional().describe('Default: its home; so is one in which it holds no role.'),
  }),
  output: z.strictObject({
    userId: z.string(),
    agentId: z.string(),
    name: z.string().nullable(),
    workspace: z.string(),
    roles: z.array(z.string()),
    team: z.string().nullable(),
    brain: z.string().nullable(),
    capabilities: z.strictObject({
      canRead: z.boolean(),
      canWrite: z.boolean(),
      canAdmin: z.boolean(),
      canDelete: z.boolean(),
    }),
    workspaces: z.array(z.string()).describe('Those the caller may know of.'),
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['AGENT_NOT_FOUND'],
  async handler({ agentId, workspace: wanted }, context) {
    const { deps, caller } = context;
    const { client } = deps.store;
    const { value: rows } = await readIdentity(client, agentId);
    const held = await memberships(client, caller);
    const shared = rows.roles.map(({ workspace }) => workspace).filter((workspace) => held.has(workspace));
    const visible = visibleWorkspaces(actorOf(caller), rows, shared);
    const known = visible && { ...rows, roles: rows.roles.filter(({ workspace }) => visible.includes(workspace)) };
    const subject = known && contextOf(known, wanted);
    if (visible === null || subject === null) return context.take<never>(agentNotFound(agentId));
    const { name = null, workspace = '', roles = [], team = null, brain = null } = subject;
    return {
      userId: agentId,
      agentId,
      name,
      workspace,
      roles,
      team,
      brain,
      capabilities: capabilitiesOf(roles),
      workspaces: visible.toSorted(),
    };
  },
});

export const identityTools = [agentContext];
