/** Which brain and branch a call means, and as whom it acts there. */
import { actorName } from '@svc/contract/actor.ts';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { deny, type Decision } from '@svc/contract/decision.ts';
import { holdsAtLeast } from '@svc/contract/registry.ts';
import { isAnonymous } from '@svc/contract/subject.ts';
import type { Caller, ToolContext } from '@svc/contract/tool.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { checkedPath } from '../blocked-path.ts';
import type { AskedBrain } from '../brain/brain-router.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import type { BrainDeps } from '../deps.ts';
import { DEFAULT_BRANCH, type Pointer, type StackEntry } from '../domain/stack.ts';
import type { RowView } from '../ports.ts';
import type { OpContext } from '../writer/context.ts';

export type Context = ToolContext<BrainDeps, never, never>;

/** The parts of a tool's context that targets are made of; any tool's context fits. */
export type CallContext = Pick<Context, 'deps' | 'caller' | 'idempotency' | 'now' | 'repeatable' | 'markReplayed'>;

export const READ_RAISES = ['BRAIN_LOAD_FAIL'] as const;
/** Of reads that name a file or a category. */
export const PATH_RAISES = [...READ_RAISES, 'VAF_PATH_BLOCKED'] as const;
export const CHANGE_RAISES = [...READ_RAISES, 'UNAUTHORIZED', 'FORBIDDEN', 'RLS_DENIED'] as const;
/** Of changes of files. */
export const WRITE_RAISES = [...CHANGE_RAISES, 'VAF_PATH_BLOCKED', 'E_ISLAND_WRITE_DENIED'] as const;
export const READ_REFUSES = ['E_BRANCH_ABSENT', 'E_REF_ABSENT'] as const;
/** Of whoever changes a working tree and declares besides what else it may meet. */
export const CHANGE_REFUSES = [
  'E_LOCKED',
  'E_FENCED',
  'E_READ_ONLY',
  'E_BRAIN_DIVERTED',
  'E_STATE_WRITE',
  'E_BRANCH_ABSENT',
  'E_LIMIT',
] as const;
/** Of reads of a branch as it is now. */
export const PRESENT_REFUSES = ['E_BRANCH_ABSENT'] as const;
/** Of whoever makes or moves commits, with which nothing grows that is counted. */
export const COMMIT_REFUSES = [...CHANGE_REFUSES, 'E_BUSY'] as const;
export const WRITE_REFUSES = [...COMMIT_REFUSES, 'E_QUOTA'] as const;

export interface TargetWish {
  readonly brain?: string | undefined;
  readonly branch?: string | undefined;
}

/** A brain and a branch of it, to be asked as this caller. */
export interface Target extends StackEntry, AskedBrain {
  readonly op: OpContext;
}

export interface Guard {
  readonly agentId?: string | undefined;
  readonly fence?: number | undefined;
}

/** The one brain a call is about: the one it names, else the top of the session's stack. */
export async function resolveTarget(context: CallContext, wish: TargetWish, guard?: Guard): Promise<Target> {
  const pointer = await context.deps.sessions.read(context.caller.session);
  return targetAt(context, entryFor(pointer, wish), guard);
}

function targetAt(context: CallContext, entry: StackEntry, guard?: Guard): Target {
  const op = opContext(context, guard);
  return { ...entry, op, ...context.deps.router.brain(entry.brain, op) };
}

function entryFor(pointer: Pointer, wish: TargetWish): StackEntry {
  const [top] = pointer.stack;
  const brain = wish.brain ?? top.brain;
  const entry = pointer.stack.find((candidate) => candidate.brain === brain);
  const branch = wish.branch ?? entry?.branch ?? pointer.branches[brain] ?? DEFAULT_BRANCH;
  return { brain, branch, type: entry?.type ?? 'private' };
}

/** Where a read looks, in order: what the call names, else every brain of the stack from the top. */
export async function resolveReads(
  context: CallContext,
  wish: TargetWish & { at?: string | undefined },
): Promise<Target[]> {
  if (wish.brain !== undefined || wish.branch !== undefined || wish.at !== undefined)
    return [await resolveTarget(context, wish)];
  const pointer = await context.deps.sessions.read(context.caller.session);
  return pointer.stack.map((entry) => targetAt(context, entry));
}

/** The brain to be written, after the checks that need nothing but the call. */
export async function resolveWrite(context: CallContext, wish: TargetWish & Guard): Promise<Target> {
  requireWriter(context.caller);
  const target = await resolveTarget(context, wish, wish);
  if (target.type === 'public') throw new Refusal('E_READ_ONLY', { brain: target.brain });
  return target;
}

export function requireIdentity({ operator, subject }: Caller): void {
  if (!operator && isAnonymous(subject)) throw new CallError('UNAUTHORIZED');
}

/** A subject that has roles needs one that may write; a read-only token never may. */
export function requireWriter(caller: Caller): void {
  requireIdentity(caller);
  const { roles = [] } = caller.subject;
  if (caller.token?.readOnly === true || (roles.length > 0 && !holdsAtLeast(roles, 'editor')))
    throw new CallError(
      'FORBIDDEN',
      'To write takes the role editor in the workspace, and a token that may do more than read.',
    );
}

/** Throws FORBIDDEN when the call names another agent than the verified one. */
export function opContext({ caller, idempotency, now, repeatable }: CallContext, guard: Guard = {}): OpContext {
  const { subject, session, deadlineAt, registry, operator } = caller;
  const verifiedAgent = subject.verified === true ? (subject.agentId ?? null) : null;
  if (verifiedAgent !== null && guard.agentId !== undefined && guard.agentId !== verifiedAgent) {
    throw new CallError('FORBIDDEN', 'agentId: is not the agent of the token');
  }
  return {
    actor: actorName(caller, guard.agentId),
    subject,
    session,
    verifiedAgent,
    declaredAgent: guard.agentId ?? subject.agentId ?? null,
    fence: guard.fence ?? null,
    since: now,
    deadlineAt,
    repeatable,
    idempotency,
    registry,
    operator,
    isService: false,
  };
}

/** The decision of an operation that takes effect once, with the reply marked when it is a stored one. */
export function settled<Value, Code extends string>(
  context: CallContext,
  outcome: Once<Value, Code>,
): Once<Value, Code>['decision'] {
  if (outcome.replayed) context.markReplayed();
  return outcome.decision;
}

/** No past state was asked for, so that none is absent. */
export function present<Value>(answer: Decision<Value, ReadRefusal>): Decision<Value, 'E_BRANCH_ABSENT'> {
  return answer.ok ? answer : deny('E_BRANCH_ABSENT', answer.details);
}

export function splitPath(path: string): { category: string; filename: string } {
  const slash = path.lastIndexOf('/');
  return { category: slash === -1 ? '' : path.slice(0, slash), filename: path.slice(slash + 1) };
}

export function joinPath(category: string, filename: string): string {
  return checkedPath(category === '' ? filename : `${category}/${filename}`);
}

const BRAINS_AT_ONCE = 8;

export interface ReadableBrain {
  readonly name: string;
  readonly rows: RowView;
}

/** The brains of the node that the caller may see, in order of their names. */
export async function readableBrains({
  deps,
  caller,
}: Pick<CallContext, 'deps' | 'caller'>): Promise<readonly ReadableBrain[]> {
  const names = await deps.host.names();
  const views = await deps.rules.views(caller.subject, names, caller.registry);
  return views.flatMap((rows, index) => (rows.mayOpen ? [{ name: names[index] ?? '', rows }] : []));
}

/** Whether the brain went since the brains were listed, as one that is deleted or renamed does: nothing is to be said of it. */
export function isGone(error: unknown): boolean {
  return error instanceof CallError && error.code === 'BRAIN_LOAD_FAIL' && error.status === 404;
}

/** Asks every brain that the caller may see, a few at a time, those that are open here first; answers in order of the names. */
export async function askEveryBrain<Answer>(
  context: CallContext,
  ask: (brain: AskedBrain, name: string) => Promise<Answer>,
): Promise<Answer[]> {
  const { deps } = context;
  const op = opContext(context);
  const readable = [...(await readableBrains(context)).entries()];
  const open = new Set(deps.host.openBrains().map((brain) => brain.context.name));
  const isOpen = ([, { name }]: (typeof readable)[number]): boolean => open.has(name);
  // What answers at once waits for none that is to be opened, however many of those there are.
  const asking = [...readable.filter(isOpen), ...readable.filter((one) => !isOpen(one))].values();
  const answers: Answer[] = [];
  // One that takes long holds up one lane and not all of them.
  const lane = async (): Promise<void> => {
    for (const [index, { name }] of asking) answers[index] = await ask(deps.router.brain(name, op), name);
  };
  await Promise.all(Array.from({ length: BRAINS_AT_ONCE }, lane));
  return answers;
}
