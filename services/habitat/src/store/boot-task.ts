/** The task under which a session works: begun with the scopes that it wants, ended with all of them given up. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { actorOf } from '../domain/actor.ts';
import { covers, parseScope, type Scope } from '../domain/sudo-scopes.ts';
import { endRequest, lockPrincipal, type PendingScope, principalOfTask, readHeld, readPending } from './sudo-rows.ts';
import { escalate, revokeScope, taskPrincipal } from './sudo-store.ts';
import { openTask, ownTask } from './sudo-tasks.ts';
import type { HabitatUnit } from './unit.ts';

export interface TaskScopes {
  /** Held now. */
  readonly scopes: readonly string[];
  readonly pending: readonly PendingScope[];
}

export interface BootWish {
  readonly taskId: string;
  readonly scopes: readonly Scope[];
}

/** The caller's task, with those of the scopes asked for that it neither holds nor waits for. */
export async function beginTask(
  unit: HabitatUnit,
  { taskId, scopes }: BootWish,
): Promise<Decision<TaskScopes, 'E_QUOTA' | 'E_RATE_LIMIT' | 'E_SUDO_TASK_EXISTS'>> {
  const opened = await openTask(unit, { taskId, scopes });
  if (!opened.ok) return opened;
  const { task, scopes: held, pending } = opened.value;
  const hasAsked = (scope: Scope): boolean => pending.some((waiting) => waiting.scope === scope.text);
  for (const scope of scopes) {
    if (hasAsked(scope) || held.some((text) => covers(text, scope))) continue;
    const wish = { principal: taskPrincipal(task), scope, workspace: task.workspace, reason: null };
    const decision = await escalate(unit, wish);
    if (!decision.ok) return deny('E_RATE_LIMIT');
  }
  return allow(await readTaskScopes(unit.tx, taskId));
}

/** Of a task that is not the caller's nothing is taken, and nothing is told. */
export async function endTask(unit: HabitatUnit, taskId: string): Promise<Decision<null, never>> {
  const { tx, caller } = unit;
  await lockPrincipal(tx, principalOfTask(taskId));
  const task = await ownTask(tx, caller, taskId);
  if (task === null) return allow(null);
  const principal = taskPrincipal(task);
  const { scopes, pending } = await readTaskScopes(tx, taskId);
  for (const text of scopes) {
    const scope = parseScope(text);
    if (scope !== null) await revokeScope(unit, { principal, scope });
  }
  for (const { requestId } of pending) await endRequest(tx, requestId, 'denied', actorOf(caller).name);
  return allow(null);
}

export async function readTaskScopes(tx: HabitatUnit['tx'], taskId: string): Promise<TaskScopes> {
  const key = principalOfTask(taskId);
  const held = await readHeld(tx, key);
  return { scopes: held.map(({ scope }) => scope), pending: await readPending(tx, key) };
}
