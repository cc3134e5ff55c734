/** The end of an agent, with all that hung on it: one transaction. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { actorOf } from '../domain/actor.ts';
import { agentNotFound, mayKill, maySeeAgent } from '../domain/agent-rights.ts';
import { failOpenTasks } from './agent-inbox.ts';
import { type AgentRow, endAgent, lockAgent, readRelation } from './agent-rows.ts';
import { removeAssignment } from './assignment-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { removeEveryRole } from './role-rows.ts';

const REASON = 'agent killed';

/** Throws FORBIDDEN to who may know the agent, but no more. */
export async function kill(unit: HabitatUnit, agentId: string): Promise<Decision<null, 'AGENT_NOT_FOUND'>> {
  const { tx } = unit;
  const actor = actorOf(unit.caller);
  const agent = await lockAgent(tx, agentId, 'UPDATE');
  if (agent === null) return agentNotFound(agentId);
  const relation = await readRelation(tx, actor, agent);
  if (!maySeeAgent(actor, relation)) return agentNotFound(agentId);
  if (!mayKill(actor, relation))
    throw new CallError('FORBIDDEN', 'An agent is ended by itself, its maker, admins of its home and operators.');
  await endOf(unit, agent);
  return allow(null);
}

/** The row is locked. */
export async function endOf(unit: HabitatUnit, agent: AgentRow): Promise<void> {
  const { tx } = unit;
  const { agentId, workspace } = agent;
  const by = actorOf(unit.caller).name;
  await removeAssignment(tx, agentId);
  await endAgent(tx, agent);
  await removeEveryRole(unit, agentId, by);
  const failedTasks = await failOpenTasks(tx, agentId, REASON);
  unit.emit({ name: 'agent:killed', workspace, payload: { agentId, by } });
  unit.audit({ event: 'agent:killed', workspace, data: { agentId, failedTasks, by } });
}
