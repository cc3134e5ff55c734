/** What is put into the inboxes of agents: a task for one, a message to all of a workspace. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { actorOf } from '../domain/actor.ts';
import { agentNotFound, mayDelegateTo, maySeeAgent } from '../domain/agent-rights.ts';
import { requireRole } from '../roles.ts';
import {
  countMessagesLastMinute,
  countOpenTasks,
  insertMessage,
  insertTask,
  type NewMessage,
  type NewTask,
  type Recipient,
} from './agent-inbox.ts';
import { lockAgent, readRelation } from './agent-rows.ts';
import { readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { lockNames } from './name-lock.ts';
import { isQuarantined } from './trust-rows.ts';

const MAX_OPEN_TASKS = 1000;
const MAX_MESSAGES_A_MINUTE = 10;

/** Stream in which an agent finds its tasks. */
export function inboxOf(agentId: string): string {
  return `agent:${agentId}`;
}

/** Throws FORBIDDEN to who may know the agent, but no more. */
export async function delegate(
  unit: HabitatUnit,
  { agentId, task }: Omit<NewTask, 'by' | 'taskId'>,
): Promise<Decision<{ taskId: string; stream: string }, 'AGENT_NOT_FOUND' | 'E_QUARANTINED' | 'E_INBOX_FULL'>> {
  const { tx } = unit;
  const actor = actorOf(unit.caller);
  const by = actor.name;
  const taskId = unit.ids.next('task');
  const agent = await lockAgent(tx, agentId, 'UPDATE');
  if (agent === null) return agentNotFound(agentId);
  const relation = await readRelation(tx, actor, agent);
  if (!maySeeAgent(actor, relation)) return agentNotFound(agentId);
  if (!mayDelegateTo(actor, relation))
    throw new CallError('FORBIDDEN', 'An agent is given tasks by its maker, editors of its home and operators.');
  if ((await isQuarantined(tx, agentId)) || (await isQuarantined(tx, by))) return deny('E_QUARANTINED');
  if ((await countOpenTasks(tx, agentId)) >= MAX_OPEN_TASKS) return deny('E_INBOX_FULL');
  await insertTask(tx, { taskId, agentId, task, by });
  const stream = inboxOf(agentId);
  unit.emit({
    name: 'agent:delegated',
    workspace: agent.workspace,
    payload: { agentId, taskId, stream, by, parties: [...new Set([agentId, by])] },
  });
  return allow({ taskId, stream });
}

/** Channel in which the agents of a workspace find what is said to all of them. */
function channelOf(workspace: string): string {
  return `agents:${workspace}`;
}

interface Broadcast {
  readonly id: string;
  readonly workspace: string;
  readonly recipients: readonly Recipient[];
}

/** Throws FORBIDDEN to who is no editor of the workspace any more. */
export async function broadcast(
  unit: HabitatUnit,
  { workspace, message }: Omit<NewMessage, 'by' | 'messageId'>,
): Promise<Decision<Broadcast, 'E_RATE_LIMIT'>> {
  const { tx, caller } = unit;
  const by = actorOf(caller).name;
  const messageId = unit.ids.next('msg');
  const { family } = await readPlaced(tx, by);
  await lockNames(tx, [`broadcast:${family}`]);
  await requireRole(tx, caller, workspace, 'editor');
  if ((await countMessagesLastMinute(tx, family)) >= MAX_MESSAGES_A_MINUTE) return deny('E_RATE_LIMIT');
  const recipients = await insertMessage(tx, { messageId, workspace, message, by });
  unit.emit({
    name: 'agent:messaged',
    workspace,
    payload: { messageId, channel: channelOf(workspace), count: recipients.length, by },
  });
  return allow({ id: messageId, workspace, recipients });
}
