/** Tasks and their scopes: opening, asking, granting, taking back. */
import { z } from 'zod';
import { TimestampMs } from '@svc/contract/params.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import { levelOf, MAX_LEVEL, parseScope, type Scope, scopeOfLevel } from '../domain/sudo-scopes.ts';
import { NO_GRANT, readPermission } from '../store/sudo-permission.ts';
import { principalOfTask } from '../store/sudo-rows.ts';
import { seesTask } from '../store/sudo-tasks.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { escalationShown, permissionShown, scopeNamed, ScopeText, shownEscalation, TaskId } from './sudo-results.ts';

const MAX_SCOPES = 16;
const named = { task: z.string(), taskId: z.string() };

const svcSudoCreateTask = defineTool({
  name: 'svc_sudo_createTask',
  area: 'sudo',
  description:
    'Opens a task that can hold scopes for 24 hours; scopes that are not given at once wait for a grant. An own id again answers that task.',
  input: z.strictObject({
    taskId: TaskId.refine(
      (id) => !id.startsWith('boot.'),
      'must not begin with boot., as the tasks of sessions do',
    ).optional(),
    scopes: z.array(ScopeText).max(MAX_SCOPES).optional().describe("Default ['read']."),
  }),
  output: z.strictObject({
    taskId: z.string(),
    scopes: z.array(z.string()).describe('Held now.'),
    pending: z.array(z.strictObject({ scope: z.string(), requestId: z.string() })),
    level: z.int(),
    expiresAt: TimestampMs,
    created: z.boolean(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_SUDO_TASK_EXISTS', 'E_SUDO_SCOPE', 'E_QUOTA'],
  example: { scopes: ['read', 'network'] },
  async handler({ taskId, scopes = ['read'] }, context) {
    const wanted = new Map(scopes.map((text) => context.take(scopeNamed(text))).map((scope) => [scope.text, scope]));
    const outcome = await context.deps.store.openTask(context, { taskId, scopes: [...wanted.values()] });
    const { task, created, scopes: held, pending } = settled(context, outcome);
    const { taskId: id, expiresAt } = task;
    return { taskId: id, scopes: [...held], pending: [...pending], level: levelOf(held), expiresAt, created };
  },
});
const sudoEscalate = defineTool({
  name: 'sudo_escalate',
  area: 'sudo',
  description:
    'Asks for a scope for an own task, by name or level; granted at once, or pending until somebody grants it.',
  input: z.strictObject({
    task: TaskId,
    level: z
      .union([ScopeText, z.int().min(1).max(MAX_LEVEL)])
      .optional()
      .describe('Scope name, or 1-10 for the highest scope not above it; default read.'),
  }),
  output: escalationShown,
  access: 'identified',
  effect: 'write',
  refuses: ['E_SUDO_TASK_ABSENT', 'E_SUDO_SCOPE', 'E_RATE_LIMIT'],
  dress: { granted: false },
  example: { task: 'tsk_1', level: 'network' },
  async handler({ task, level = 'read' }, context) {
    return escalateTask(context, { taskId: task, scope: scopeAt(level), reason: null });
  },
});

function scopeAt(level: string | number): Scope | null {
  if (typeof level === 'number') return scopeOfLevel(level);
  return /^\d{1,2}$/.test(level) ? scopeOfLevel(Number(level)) : parseScope(level);
}

const svcSudoEscalate = defineTool({
  name: 'svc_sudo_escalate',
  area: 'sudo',
  description:
    'Asks for a scope for an own task; granted at once, or pending until somebody grants it within 15 minutes.',
  input: z.strictObject({
    taskId: TaskId,
    scope: ScopeText,
    reason: z
      .string()
      .max(500)
      .regex(/^(?:[^\p{Cc}\p{Cs}]|[\n\r\t])*$/u, 'must be text without control characters')
      .optional()
      .describe('For whoever answers.'),
  }),
  output: escalationShown,
  access: 'identified',
  effect: 'write',
  refuses: ['E_SUDO_TASK_ABSENT', 'E_SUDO_SCOPE', 'E_RATE_LIMIT'],
  dress: { granted: false },
  example: { taskId: 'tsk_1', scope: 'network:api.example.org', reason: 'fetch prices' },
  async handler({ taskId, scope, reason = null }, context) {
    return escalateTask(context, { taskId, scope: parseScope(scope), reason });
  },
});

type EscalateContext = ToolContext<HabitatDeps, 'E_SUDO_TASK_ABSENT' | 'E_SUDO_SCOPE' | 'E_RATE_LIMIT', never>;

interface EscalateWish {
  readonly taskId: string;
  readonly scope: Scope | null;
  readonly reason: string | null;
}

async function escalateTask(context: EscalateContext, { taskId, scope, reason }: EscalateWish) {
  if (scope === null) throw context.refuse('E_SUDO_SCOPE');
  return shownEscalation(settled(context, await context.deps.store.escalateTask(context, { taskId, scope, reason })));
}

const svcSudoCan = defineTool({
  name: 'svc_sudo_can',
  area: 'sudo',
  description: 'Whether a task holds a scope now; never for a task that the caller does not see.',
  input: z.strictObject({ taskId: TaskId, scope: ScopeText }),
  output: z.strictObject({ ...named, scope: z.string(), ...permissionShown }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: { taskId: 'tsk_1', scope: 'network' },
  async handler({ taskId, scope }, { deps, caller }) {
    const isSeen = await seesTask(deps.store.client, caller, taskId);
    const permission = isSeen ? await readPermission(deps, principalOfTask(taskId), scope) : NO_GRANT;
    return { task: taskId, taskId, scope, ...permission };
  },
});

const svcSudoGrant = defineTool({
  name: 'svc_sudo_grant',
  area: 'sudo',
  description: 'Gives a task a scope for ten minutes, answering its request if there is one.',
  input: z.strictObject({ taskId: TaskId, scope: ScopeText }),
  output: z.strictObject({
    ...named,
    granted: z.string(),
    expiresAt: TimestampMs,
    requestId: z.string().optional(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_SUDO_TASK_ABSENT', 'E_SUDO_SCOPE'],
  example: { taskId: 'tsk_1', scope: 'network' },
  async handler({ taskId, scope: text }, context) {
    const scope = context.take(scopeNamed(text));
    const outcome = await context.deps.store.grantToTask(context, { taskId, scope });
    const { expiresAt, requestId } = settled(context, outcome);
    const answered = requestId === null ? {} : { requestId };
    return { task: taskId, taskId, granted: scope.text, expiresAt, ...answered };
  },
});

const svcSudoRevoke = defineTool({
  name: 'svc_sudo_revoke',
  area: 'sudo',
  description: 'Takes a scope back from a task at once, or denies its request.',
  input: z.strictObject({ taskId: TaskId, scope: ScopeText }),
  output: z.strictObject({ ...named, scope: z.string(), revoked: z.boolean() }),
  access: 'identified',
  effect: 'write-idempotent',
  destructive: true,
  refuses: ['E_SUDO_TASK_ABSENT', 'E_SUDO_SCOPE'],
  example: { taskId: 'tsk_1', scope: 'network' },
  async handler({ taskId, scope: text }, context) {
    const scope = context.take(scopeNamed(text));
    const outcome = await context.deps.store.revokeFromTask(context, { taskId, scope });
    return { task: taskId, taskId, scope: scope.text, revoked: settled(context, outcome) };
  },
});

export const sudoTaskTools = [
  svcSudoCreateTask,
  sudoEscalate,
  svcSudoEscalate,
  svcSudoCan,
  svcSudoGrant,
  svcSudoRevoke,
];
