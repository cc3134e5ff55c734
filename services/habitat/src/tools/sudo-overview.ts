/** What there is of tasks and scopes. */
import { z } from 'zod';
import { page, TimestampMs } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { SUDO, suggestionsFor } from '../domain/sudo.ts';
import { levelOf, SCOPE_NAMES, SCOPES } from '../domain/sudo-scopes.ts';
import { principalOfTask, readDenials } from '../store/sudo-rows.ts';
import { countInView, type ListedTask, listTasks, showTask, type TaskPosition } from '../store/sudo-views.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { TaskId } from './sudo-results.ts';

const sudoListTasks = defineTool({
  name: 'sudo_listTasks',
  area: 'sudo',
  description:
    'Live tasks with their scopes: own ones, those of workspaces the caller is an admin of, all for an operator.',
  input: z.strictObject({ ...page }),
  output: z.strictObject({
    tasks: z.array(
      z.strictObject({
        taskId: z.string(),
        owner: z.string(),
        scopes: z.array(z.string()),
        level: z.int(),
        pending: z.int(),
        expiresAt: TimestampMs,
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(wish, { deps, caller }) {
    const { items, next } = await readTasks(deps, caller, wish);
    const tasks = items.map(({ taskId, owner, scopes, pending, expiresAt }) => ({
      taskId,
      owner,
      scopes,
      level: levelOf(scopes),
      pending,
      expiresAt,
    }));
    return { tasks, ...next };
  },
});

interface PageWish {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A page of the tasks that the caller sees, newest first. */
async function readTasks({ store }: HabitatDeps, caller: Caller, { limit, cursor }: PageWish) {
  const position = positionOf(limit, cursor);
  const found = await listTasks(store.client, actorOf(caller), taskPosition(position.after), position.limit + 1);
  return nextPage<ListedTask>(found, position, ({ createdAt, taskId }) => `${createdAt}:${taskId}`);
}

function taskPosition(after: string | null): TaskPosition | null {
  if (after === null) return null;
  const [, createdAt, taskId] = /^(\d{1,15}):(.+)$/.exec(after) ?? [];
  if (createdAt === undefined || taskId === undefined) {
    throw invalidArguments([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  }
  return { createdAt: Number(createdAt), taskId };
}

const svcSudoListTasks = defineTool({
  name: 'svc_sudo_listTasks',
  area: 'sudo',
  description: 'Live tasks with their scopes and how much has happened to each; the same tasks as sudo_listTasks.',
  input: z.strictObject({ ...page }),
  output: z.strictObject({
    tasks: z.array(
      z.strictObject({
        id: z.string(),
        taskId: z.string(),
        scopes: z.array(z.string()),
        level: z.int(),
        history: z.int(),
        expiresAt: TimestampMs,
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(wish, { deps, caller }) {
    const { items, next } = await readTasks(deps, caller, wish);
    const tasks = items.map(({ taskId, scopes, history, expiresAt }) => ({
      id: taskId,
      taskId,
      scopes,
      level: levelOf(scopes),
      history,
      expiresAt,
    }));
    return { tasks, ...next };
  },
});

const grantShown = z.strictObject({
  scope: z.string(),
  grantedBy: z.string(),
  grantedAt: TimestampMs,
  expiresAt: TimestampMs,
  requestId: z.string().nullable(),
  reason: z.string().nullable(),
  usedAt: TimestampMs.nullable(),
});

const requestShown = z.strictObject({
  requestId: z.string(),
  scope: z.string(),
  reason: z.string().nullable(),
  by: z.string(),
  at: TimestampMs,
  expiresAt: TimestampMs,
  state: z.enum(['pending', 'granted', 'denied', 'expired']),
  endedBy: z.string().nullable(),
});

const svcSudoGetTask = defineTool({
  name: 'svc_sudo_getTask',
  area: 'sudo',
  description: 'One task: its live grants, its requests and its last 100 events, newest first.',
  input: z.strictObject({ taskId: TaskId }),
  output: z.strictObject({
    taskId: z.string(),
    owner: z.string(),
    workspace: z.string(),
    scopes: z.array(z.string()),
    level: z.int(),
    grants: z.array(grantShown),
    requests: z.array(requestShown),
    history: z.array(z.strictObject({ event: z.string(), scope: z.string(), by: z.string(), at: TimestampMs })),
    createdAt: TimestampMs,
    expiresAt: TimestampMs,
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_SUDO_TASK_ABSENT'],
  example: { taskId: 'tsk_1' },
  async handler({ taskId }, context) {
    const task = await showTask(context.deps.store.client, actorOf(context.caller), taskId);
    if (task === null) throw context.refuse('E_SUDO_TASK_ABSENT');
    const { history: _count, pending: _pending, entries, ...shown } = task;
    return { ...shown, level: levelOf(shown.scopes), history: entries };
  },
});

const svcSudoGetScopes = defineTool({
  name: 'svc_sudo_getScopes',
  area: 'sudo',
  description: 'The scopes there are, their levels, the capabilities that stand for them, and who may grant them.',
  input: z.strictObject({}),
  output: z.strictObject({
    scopes: z.array(
      z.strictObject({
        scope: z.string(),
        level: z.int(),
        capability: z.string(),
        grantedBy: z.array(z.string()),
      }),
    ),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: {},
  async handler() {
    const scopes = SCOPE_NAMES.map((scope) => {
      const { level, capability, grantedBy } = SCOPES[scope];
      return { scope, level, capability, grantedBy: [...grantedBy] };
    });
    return { scopes };
  },
});

const svcSudoGetLayerStatus = defineTool({
  name: 'svc_sudo_getLayerStatus',
  area: 'sudo',
  description: 'The layer of scopes: its version, and how many tasks, grants and requests the caller sees.',
  input: z.strictObject({}),
  output: z.strictObject({
    name: z.literal('sudo'),
    type: z.literal('layer'),
    version: z.string(),
    enabled: z.literal(true),
    tasks: z.int(),
    grants: z.int(),
    pending: z.int(),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_input, { deps, caller }) {
    const counts = await countInView(deps.store.client, actorOf(caller));
    const { version } = deps.platform.node;
    return { name: 'sudo' as const, type: 'layer' as const, version, enabled: true as const, ...counts };
  },
});

const svcSudoSuggest = defineTool({
  name: 'svc_sudo_suggest',
  area: 'sudo',
  description:
    'What a task might ask for again, because it was denied lately, and what it might drop, because it is not used.',
  input: z.strictObject({ taskId: TaskId }),
  output: z.strictObject({
    task: z.string(),
    taskId: z.string(),
    suggestions: z.array(
      z.strictObject({
        scope: z.string(),
        action: z.enum(['request', 'drop']),
        count: z.int(),
        reason: z.string(),
      }),
    ),
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_SUDO_TASK_ABSENT'],
  example: { taskId: 'tsk_1' },
  async handler({ taskId }, context) {
    const { client } = context.deps.store;
    const task = await showTask(client, actorOf(context.caller), taskId);
    if (task === null) throw context.refuse('E_SUDO_TASK_ABSENT');
    const { denials, now } = await readDenials(client, principalOfTask(taskId), SUDO.deniedWithinMs);
    return { task: taskId, taskId, suggestions: suggestionsFor(task.grants, denials, now) };
  },
});

export const sudoOverviewTools = [
  sudoListTasks,
  svcSudoGetTask,
  svcSudoListTasks,
  svcSudoGetScopes,
  svcSudoGetLayerStatus,
  svcSudoSuggest,
];
