/** Tasks: who may open, see and touch them. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { actorOf, mayActIn } from '../domain/actor.ts';
import { SUDO } from '../domain/sudo.ts';
import type { Scope } from '../domain/sudo-scopes.ts';
import { holdsRole } from '../roles.ts';
import { readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './habitat-store.ts';
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
import { escalate, type SudoCall, type SudoPrincipal, taskPrincipal } from './sudo-store.ts';

export interface TaskWish {
  readonly taskId: string;
  readonly workspace: string;
  readonly scopes: readonly Scope[];
}

export interface TaskOpened {
  readonly task: SudoTask;
  readonly created: boolean;
  /** Held now. */
  readonly scopes: readonly string[];
  readonly pending: readonly PendingScope[];
}

/** The caller's own task of that id, with the scopes asked for if it is a new one. */
export async function openTask(
  unit: HabitatUnit,
  call: SudoCall,
  { taskId, workspace, scopes }: TaskWish,
): Promise<Decision<TaskOpened, 'E_SUDO_TASK_EXISTS' | 'E_QUOTA'>> {
  const { tx } = unit;
  const actor = actorOf(call.caller);
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
    const decision = await escalate(unit, call, { principal, scope, workspace, reason: null });
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

async function viewOf(client: SqlClient, caller: SudoCall['caller'], taskId: string): Promise<TaskInView | null> {
  const task = await readTask(client, taskId);
  if (task === null) return null;
  const actor = actorOf(caller);
  const isOwner = task.owner === actor.name && mayActIn(actor, task.workspace);
  return { task, isOwner, isSeen: isOwner || (await holdsRole(client, caller, task.workspace, 'admin')) };
}

/** Whether the caller may know of the task. */
export async function seesTask(client: SqlClient, caller: SudoCall['caller'], taskId: string): Promise<boolean> {
  return (await viewOf(client, caller, taskId))?.isSeen ?? false;
}

/** The task, its rows locked, if it is the caller's or the caller is an operator. Throws FORBIDDEN to others who see it. */
export async function lockOwnTask(
  tx: SqlClient,
  caller: SudoCall['caller'],
  taskId: string,
): Promise<Decision<SudoTask, 'E_SUDO_TASK_ABSENT'>> {
  await lockPrincipal(tx, principalOfTask(taskId));
  const view = await viewOf(tx, caller, taskId);
  if (view === null || !view.isSeen) return deny('E_SUDO_TASK_ABSENT');
  if (!view.isOwner && !caller.operator) throw new CallError('FORBIDDEN');
  return allow(view.task);
}

/** What `work` decides about the task; to a caller who may not, and who does not see the task, there is none. */
export async function onTask<Value>(
  tx: SqlClient,
  caller: SudoCall['caller'],
  taskId: string,
  work: (principal: SudoPrincipal) => Promise<Decision<Value, 'FORBIDDEN'>>,
): Promise<Decision<Value, 'E_SUDO_TASK_ABSENT'>> {
  await lockPrincipal(tx, principalOfTask(taskId));
  const view = await viewOf(tx, caller, taskId);
  if (view === null) return deny('E_SUDO_TASK_ABSENT');
  const decision = await work(taskPrincipal(view.task));
  if (decision.ok) return decision;
  if (view.isSeen) throw new CallError('FORBIDDEN', decision.message);
  return deny('E_SUDO_TASK_ABSENT');
}
