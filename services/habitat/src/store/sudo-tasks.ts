/** Tasks: who may open, see and touch them. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type Acting, actorOf, mayActIn } from '../domain/actor.ts';
import { SUDO } from '../domain/sudo.ts';
import type { Scope } from '../domain/sudo-scopes.ts';
import { holdsRole } from '../roles.ts';
import { readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './unit.ts';
import {
  countTasks,
  insertTask,
  lockNewTask,
  lockPrincipal,
  type PendingScope,
  principalOfTask,
  readHeld,
  readPending,
  readTask,
  type SudoTask,
} from './sudo-rows.ts';
import {
  escalate,
  type Escalation,
  type GrantDone,
  grantScope,
  revokeScope,
  type ScopeWish,
  taskPrincipal,
} from './sudo-store.ts';

export interface TaskWish {
  readonly taskId?: string | undefined;
  readonly scopes: readonly Scope[];
}

interface TaskOpened {
  readonly task: SudoTask;
  readonly created: boolean;
  /** Held now. */
  readonly scopes: readonly string[];
  readonly pending: readonly PendingScope[];
}

/** The caller's own task of that id, with the scopes asked for if it is a new one. */
export async function openTask(
  unit: HabitatUnit,
  { taskId = unit.ids.next('tsk'), scopes }: TaskWish,
): Promise<Decision<TaskOpened, 'E_SUDO_TASK_EXISTS' | 'E_QUOTA'>> {
  const { tx, caller } = unit;
  const actor = actorOf(caller);
  const { workspace = DEFAULT_WORKSPACE } = caller.subject;
  const { family } = await readPlaced(tx, actor.name);
  await lockNewTask(tx, taskId, family);
  const present = await readTask(tx, taskId);
  if (present !== null) {
    const isOwn = present.owner === actor.name && mayActIn(actor, present.workspace);
    return isOwn ? allow(await asOpened(tx, present, false)) : deny('E_SUDO_TASK_EXISTS');
  }
  if ((await countTasks(tx, family)) >= SUDO.liveTasks) return deny('E_QUOTA');
  const task = await insertTask(tx, { taskId, owner: actor.name, workspace, forMs: SUDO.taskMs });
  const principal = taskPrincipal(task);
  for (const scope of scopes) {
    const decision = await escalate(unit, { principal, scope, workspace, reason: null });
    if (!decision.ok) throw new Error('a new task may ask for more scopes than it may escalate to in a minute');
  }
  return allow(await asOpened(tx, task, true));
}

async function asOpened(tx: SqlClient, task: SudoTask, created: boolean): Promise<TaskOpened> {
  const key = principalOfTask(task.taskId);
  const held = await readHeld(tx, key);
  return { task, created, scopes: held.map(({ scope }) => scope), pending: await readPending(tx, key) };
}

/** A task as it stands to the caller. */
interface TaskInView {
  readonly task: SudoTask;
  readonly isOwner: boolean;
  /** Else the caller is not to learn that the task is there. */
  readonly isSeen: boolean;
}

async function viewOf(client: SqlClient, caller: Acting, taskId: string): Promise<TaskInView | null> {
  const task = await readTask(client, taskId);
  if (task === null) return null;
  const actor = actorOf(caller);
  const isOwner = task.owner === actor.name && mayActIn(actor, task.workspace);
  return { task, isOwner, isSeen: isOwner || (await holdsRole(client, caller, task.workspace, 'admin')) };
}

/** Null = there is none of that id, or not the caller's. */
export async function ownTask(client: SqlClient, caller: Acting, taskId: string): Promise<SudoTask | null> {
  const view = await viewOf(client, caller, taskId);
  return view?.isOwner === true ? view.task : null;
}

/** Whether the caller may know of the task. */
export async function seesTask(client: SqlClient, caller: Acting, taskId: string): Promise<boolean> {
  return (await viewOf(client, caller, taskId))?.isSeen ?? false;
}

interface TaskScope {
  readonly taskId: string;
  readonly scope: Scope;
}

/** For who opened the task, or an operator. Throws FORBIDDEN to others who see it. */
export async function escalateTask(
  unit: HabitatUnit,
  { taskId, scope, reason }: TaskScope & { readonly reason: string | null },
): Promise<Decision<Escalation, 'E_SUDO_TASK_ABSENT' | 'E_RATE_LIMIT'>> {
  const { tx, caller } = unit;
  await lockPrincipal(tx, principalOfTask(taskId));
  const view = await viewOf(tx, caller, taskId);
  if (view === null || !view.isSeen) return deny('E_SUDO_TASK_ABSENT');
  if (!view.isOwner && !caller.operator)
    throw new CallError('FORBIDDEN', 'For a task asks who opened it, or an operator.');
  const { workspace } = view.task;
  return escalate(unit, { principal: taskPrincipal(view.task), scope, workspace, reason });
}

export function grantToTask(unit: HabitatUnit, wish: TaskScope): Promise<Decision<GrantDone, 'E_SUDO_TASK_ABSENT'>> {
  return onTask(unit, wish, grantScope);
}

/** False when there was nothing to end. */
export function revokeFromTask(unit: HabitatUnit, wish: TaskScope): Promise<Decision<boolean, 'E_SUDO_TASK_ABSENT'>> {
  return onTask(unit, wish, revokeScope);
}

/** To a caller who may not, and who does not see the task, there is none. Throws FORBIDDEN to who sees it. */
async function onTask<Value>(
  unit: HabitatUnit,
  { taskId, scope }: TaskScope,
  work: (unit: HabitatUnit, wish: ScopeWish) => Promise<Decision<Value, 'FORBIDDEN'>>,
): Promise<Decision<Value, 'E_SUDO_TASK_ABSENT'>> {
  const { tx, caller } = unit;
  await lockPrincipal(tx, principalOfTask(taskId));
  const view = await viewOf(tx, caller, taskId);
  if (view === null) return deny('E_SUDO_TASK_ABSENT');
  const decision = await work(unit, { principal: taskPrincipal(view.task), scope });
  if (decision.ok) return decision;
  if (view.isSeen) throw new CallError('FORBIDDEN', decision.message);
  return deny('E_SUDO_TASK_ABSENT');
}
