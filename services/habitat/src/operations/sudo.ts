/** What other services ask about scopes, and the tasks under which sessions work. */
import { allow, deny } from '@svc/contract/decision.ts';
import { parseScope, type Scope } from '../domain/sudo-scopes.ts';
import { readTaskScopes } from '../store/boot-task.ts';
import { readPermission } from '../store/sudo-permission.ts';
import { readTask } from '../store/sudo-rows.ts';
import type { HabitatHandlers } from './handlers.ts';

export const sudoOperations: HabitatHandlers<'sudo' | 'beginTask' | 'task' | 'endTask'> = {
  sudo: ({ principal, scope }, { deps }) => readPermission(deps, principal, scope),
  async beginTask({ taskId, scopes: texts, as }, { deps, deadlineAt }) {
    const scopes = new Map<string, Scope>();
    for (const text of texts) {
      const scope = parseScope(text);
      if (scope === null) return deny('E_SUDO_SCOPE', { scope: text });
      scopes.set(scope.text, scope);
    }
    const call = { caller: { ...as, deadlineAt }, idempotency: null };
    const { decision } = await deps.store.beginTask(call, { taskId, scopes: [...scopes.values()] });
    return decision.ok ? allow(shown(decision.value)) : decision;
  },
  async task({ taskId }, { deps: { store } }) {
    const { client } = store;
    const task = await readTask(client, taskId);
    return { task: task === null ? null : shown(await readTaskScopes(client, taskId)) };
  },
  async endTask({ taskId, as }, { deps, deadlineAt }) {
    await deps.store.endTask({ caller: { ...as, deadlineAt }, idempotency: null }, taskId);
    return {};
  },
};

function shown({ scopes, pending }: Awaited<ReturnType<typeof readTaskScopes>>) {
  return { scopes: [...scopes], pending: [...pending] };
}
