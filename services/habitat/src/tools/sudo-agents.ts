/** sudo_*: scopes of agents. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { TimestampMs } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { defineTool } from '../deps.ts';
import { actorOf, isSelf } from '../domain/actor.ts';
import { holdsRole } from '../roles.ts';
import { readPermission } from '../store/sudo-permission.ts';
import { principalOfAgent } from '../store/sudo-rows.ts';
import { agentPrincipal } from '../store/sudo-store.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { permissionShown, scopeNamed, ScopeText } from './sudo-results.ts';

const agentId = IdentityId.describe('Agent or user.');

const sudoCan = defineTool({
  name: 'sudo_can',
  area: 'sudo',
  description: 'Whether an agent holds a scope now; for the agent itself, admins of its workspace and operators.',
  input: z.strictObject({ agentId, action: ScopeText }),
  output: z.strictObject({ agentId: z.string(), action: z.string(), ...permissionShown }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { agentId: 'agt_1', action: 'network' },
  async handler({ agentId: id, action }, { deps, caller }) {
    await requireInsight(deps.store.client, caller, id);
    return { agentId: id, action, ...(await readPermission(deps, principalOfAgent(id), action)) };
  },
});

async function requireInsight(client: SqlClient, caller: Caller, agent: string): Promise<void> {
  if (caller.operator || isSelf(actorOf(caller), agent)) return;
  const { workspace } = await agentPrincipal(client, agent);
  if (workspace === null || !(await holdsRole(client, caller, workspace, 'admin')))
    throw new CallError('FORBIDDEN', 'This is for the agent itself, admins of its workspace and operators.');
}

const sudoGrant = defineTool({
  name: 'sudo_grant',
  area: 'sudo',
  description: 'Gives an agent a scope for ten minutes. Nobody but an operator grants to themselves.',
  input: z.strictObject({ agentId, capability: ScopeText }),
  output: z.strictObject({ agentId: z.string(), granted: z.string(), expiresAt: TimestampMs }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['AGENT_NOT_FOUND', 'E_SUDO_SCOPE'],
  example: { agentId: 'agt_1', capability: 'canNetwork' },
  async handler({ agentId: id, capability }, context) {
    const scope = context.take(scopeNamed(capability));
    const outcome = await context.deps.store.grantToAgent(context, { agentId: id, scope });
    const { expiresAt } = settled(context, outcome);
    return { agentId: id, granted: scope.text, expiresAt };
  },
});

const sudoRevoke = defineTool({
  name: 'sudo_revoke',
  area: 'sudo',
  description:
    'Takes a scope back from an agent, at once everywhere; for who granted it, the agent itself and operators.',
  input: z.strictObject({ agentId, capability: ScopeText }),
  output: z.strictObject({ agentId: z.string(), revoked: z.boolean(), scope: z.string() }),
  access: 'identified',
  effect: 'write-idempotent',
  destructive: true,
  refuses: ['E_SUDO_SCOPE'],
  example: { agentId: 'agt_1', capability: 'network' },
  async handler({ agentId: id, capability }, context) {
    const scope = context.take(scopeNamed(capability));
    const outcome = await context.deps.store.revokeFromAgent(context, { agentId: id, scope });
    return { agentId: id, revoked: settled(context, outcome), scope: scope.text };
  },
});

export const sudoAgentTools = [sudoCan, sudoGrant, sudoRevoke];
