/** svc_agents_*: what agents are told to do. */
import { z } from 'zod';
import { IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { PlainText } from '@svc/contract/params.ts';
import { defineTool } from '../deps.ts';
import { currentWorkspace } from './current.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const words = PlainText.min(1).max(4096);

const delegateTask = defineTool({
  name: 'svc_agents_delegate_mcp',
  area: 'agents',
  description: 'Puts a task into the inbox of an agent, where it stays until the agent takes it; it is not done yet.',
  input: z.strictObject({ id: IdentityId.describe('Agent.'), task: words }),
  output: z.strictObject({
    delegated: z.literal(true),
    agentId: z.string(),
    taskId: z.string(),
    stream: z.string(),
    status: z.literal('queued'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['AGENT_NOT_FOUND', 'E_QUARANTINED', 'E_INBOX_FULL'],
  dress: { delegated: false },
  aliases: { agentId: 'id' },
  example: { id: 'agt_1', task: 'Summarise the notes of this week.' },
  async handler({ id, task }, context) {
    const { store, inboxFilled } = context.deps;
    const outcome = await store.delegate(context, { agentId: id, task });
    inboxFilled();
    return { delegated: true as const, agentId: id, status: 'queued' as const, ...settled(context, outcome) };
  },
});

const broadcastMessage = defineTool({
  name: 'svc_agents_broadcast',
  area: 'agents',
  description: 'Sends one message to every live agent of a workspace.',
  input: z.strictObject({
    message: words,
    workspace: WorkspaceName.optional().describe('Default: the current one.'),
  }),
  output: z.strictObject({
    broadcast: z.literal(true),
    id: z.string(),
    workspace: z.string(),
    count: z.int(),
    results: z.array(z.strictObject({ agentId: z.string(), name: z.string(), queued: z.literal(true) })),
  }),
  access: 'workspace:editor',
  effect: 'write',
  refuses: ['E_RATE_LIMIT'],
  example: { message: 'The build is green again.' },
  async handler({ message, workspace: named }, context) {
    const { deps, caller } = context;
    const workspace = named ?? (await currentWorkspace(deps, caller));
    const { recipients, ...sent } = settled(context, await deps.store.broadcast(context, { workspace, message }));
    deps.inboxFilled();
    const results = recipients.map((recipient) => ({ ...recipient, queued: true as const }));
    return { broadcast: true as const, ...sent, count: results.length, results };
  },
});

export const delegationTools = [delegateTask, broadcastMessage];
