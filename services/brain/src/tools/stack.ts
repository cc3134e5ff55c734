/** The brains of a session: which ones, in which order, on which branch. */
import { z } from 'zod';
import { brainAndBranch, ifMatch, leaseGuard, PathText, Sha256Hex } from '@svc/contract/params.ts';
import { BrainName, BranchName } from '@svc/contract/names.ts';
import { allow, type Decision, neverDenied } from '@svc/contract/decision.ts';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { checkedPath } from '../blocked-path.ts';
import { DEFAULT_WORKSPACE, familyOf, isAnonymous } from '@svc/contract/subject.ts';
import { defineTool } from '../deps.ts';
import { homeOfMaker } from '../domain/home.ts';
import { loadBrains, type Pointer, popBrain, pushBrain, removeBrain, switchBrain } from '../domain/stack.ts';
import type { RowView } from '../ports.ts';
import { findBranch } from '../operations/branches.ts';
import { changeFile } from '../operations/files.ts';
import { shownStack, stackNames, stackShown } from './results.ts';
import {
  type CallContext,
  COMMIT_REFUSES,
  opContext,
  requireWriter,
  resolveWrite,
  settled,
  WRITE_RAISES,
} from './target.ts';

const create = z.boolean().optional().describe('Make the brain when it does not exist.');
const stackType = z.enum(['private', 'public']).optional().describe('public = read-only in this session.');
const OPENING_REFUSES = ['E_BRANCH_ABSENT', 'E_QUOTA', 'E_STATE_WRITE'] as const;
const OPENING_RAISES = ['BRAIN_LOAD_FAIL', 'UNAUTHORIZED', 'FORBIDDEN', 'RLS_DENIED'] as const;

/** Makes sure that the brain (and the branch, when named) can be opened; true when it was made just now. */
async function openBrain(
  context: CallContext,
  name: string,
  { create: wanted = false, branch }: { create?: boolean | undefined; branch?: string | undefined },
): Promise<boolean> {
  const { deps, caller } = context;
  let created = false;
  const rows = await deps.rules.view(caller.subject, name, caller.registry);
  if (!rows.mayOpen) throw new CallError('BRAIN_LOAD_FAIL'); // whether it is there or not
  if (!(await deps.host.exists(name))) {
    if (!wanted) throw new CallError('BRAIN_LOAD_FAIL');
    created = await createBrain(context, name, rows);
  }
  const asked = deps.router.brain(name, opContext(context));
  const opened = await asked.ask(findBranch, { branch: branch ?? 'main' });
  if (!opened.ok) throw new Refusal(opened.code, opened.details);
  return created;
}

/** Makes a brain of a name that is free; false when somebody else made it at that moment. */
async function createBrain(context: CallContext, name: string, rows: RowView): Promise<boolean> {
  const { deps, caller } = context;
  requireWriter(caller);
  if (!rows.mayChange) throw new CallError('RLS_DENIED');
  // Boundaries below the name may be those of a brain that is gone; they are for whom they admit.
  const isOpenBelow = rows.scopes().every((path) => rows.mayWrite(path));
  if (!caller.operator && !isOpenBelow) throw new CallError('RLS_DENIED');
  const workspace = homeOfMaker(caller.subject) ?? DEFAULT_WORKSPACE;
  const family = caller.operator ? null : familyOf(caller.subject);
  const outcome = await deps.host.create(name, { by: opContext(context).actor, workspace, family });
  if (typeof outcome === 'object') throw new Refusal('E_QUOTA', { limit: outcome.limit }, outcome.message);
  return outcome === 'created';
}

/** Moves the session; to which brain it goes after which is learned of everybody who says who it is. */
function moved<Value, Code extends string = never>(
  { deps, caller, idempotency, now }: CallContext,
  decide: (pointer: Pointer) => Decision<{ pointer: Pointer; value: Value }, Code>,
) {
  const { operator, subject } = caller;
  const isKnown = !isAnonymous(subject) && subject.unknownWorkspace !== true;
  const workspace = isKnown ? (subject.workspace ?? '') : operator ? '' : null;
  const learner = workspace === null ? null : { workspace, now };
  return deps.sessions.change(caller.session, idempotency, decide, learner);
}

const push = defineTool({
  name: 'brain_push',
  area: 'brain',
  description: "Puts a brain on top of the session's stack.",
  input: z.strictObject({ name: BrainName, type: stackType, create, branch: BranchName.optional() }),
  output: z.strictObject({ pushed: z.string(), ...stackShown, created: z.boolean() }),
  access: 'public',
  effect: 'write-idempotent',
  refuses: [...OPENING_REFUSES, 'E_LIMIT'],
  raises: OPENING_RAISES,
  aliases: { brain: 'name' },
  example: { name: 'research', create: true },
  async handler({ name, type = 'private', branch, ...wish }, context) {
    const created = await openBrain(context, name, { ...wish, branch });
    const outcome = await moved(context, (pointer) => {
      const pushed = pushBrain(pointer, { brain: name, branch, type });
      return pushed.ok ? allow({ pointer: pushed.value, value: { ...shownStack(pushed.value), created } }) : pushed;
    });
    return { pushed: name, ...context.take(settled(context, outcome)) };
  },
});

const pop = defineTool({
  name: 'brain_pop',
  area: 'brain',
  description: "Takes the top brain off the session's stack.",
  input: z.strictObject({}),
  output: z.strictObject({ popped: z.string(), ...stackShown }),
  access: 'public',
  effect: 'write',
  refuses: ['E_STACK_EMPTY'],
  dress: { popped: null },
  async handler(_input, context) {
    const outcome = await context.deps.sessions.change(context.caller.session, context.idempotency, (pointer) => {
      const popped = popBrain(pointer);
      if (!popped.ok) return popped;
      return allow({
        pointer: popped.value.pointer,
        value: { popped: popped.value.popped, ...shownStack(popped.value.pointer) },
      });
    });
    return context.take(settled(context, outcome));
  },
});

const switchTo = defineTool({
  name: 'brain_switch',
  area: 'brain',
  description: "Replaces the top brain of the session's stack.",
  input: z.strictObject({ name: BrainName, branch: BranchName.optional(), create }),
  output: z.strictObject({ ...stackShown, branch: z.string(), created: z.boolean() }),
  access: 'public',
  effect: 'write-idempotent',
  refuses: OPENING_REFUSES,
  raises: OPENING_RAISES,
  aliases: { brain: 'name' },
  async handler({ name, branch, ...wish }, context) {
    const created = await openBrain(context, name, { ...wish, branch });
    const outcome = await moved(context, (pointer) => {
      const next = switchBrain(pointer, { brain: name, branch });
      return allow({ pointer: next, value: { ...shownStack(next), branch: next.stack[0].branch, created } });
    });
    return context.take(settled(context, outcome));
  },
});

const load = defineTool({
  name: 'brain_load',
  area: 'brain',
  description: "Makes the session's stack exactly these brains, the first on top.",
  input: z.strictObject({
    brains: z.union([BrainName, z.array(BrainName).min(1).max(16)]).describe('One name or up to 16.'),
    type: stackType,
    create,
  }),
  output: z.strictObject({ loaded: stackNames, ...stackShown, created: z.boolean() }),
  access: 'public',
  effect: 'write-idempotent',
  refuses: OPENING_REFUSES,
  raises: OPENING_RAISES,
  async handler({ brains, type = 'private', create: wanted }, context) {
    const [first = '', ...others] = typeof brains === 'string' ? [brains] : brains;
    let created = false;
    for (const name of [first, ...others]) await loadable(context, name, wanted);
    for (const name of [first, ...others]) created = (await openBrain(context, name, { create: wanted })) || created;
    const outcome = await moved(context, (pointer) => {
      const next = loadBrains(pointer, [first, ...others], type);
      return allow({
        pointer: next,
        value: { loaded: next.stack.map(({ brain }) => brain), ...shownStack(next), created },
      });
    });
    return context.take(settled(context, outcome));
  },
});

/** All or nothing: the absent one is named before any is made. */
async function loadable({ deps, caller }: CallContext, name: string, wanted: boolean | undefined): Promise<void> {
  const { mayOpen } = await deps.rules.view(caller.subject, name, caller.registry);
  if (!mayOpen || (wanted !== true && !(await deps.host.exists(name))))
    throw new CallError('BRAIN_LOAD_FAIL', undefined, { failed: name });
}

const remove = defineTool({
  name: 'brain_remove',
  area: 'brain',
  description: "Takes a brain off the session's stack, or, when none of that name is on it, removes a file.",
  input: z.strictObject({
    name: PathText.describe('Brain on the stack, else path of a file.'),
    ...brainAndBranch,
    ...leaseGuard,
    ...ifMatch,
  }),
  output: z.union([
    z.strictObject({ removed: z.literal(true), kind: z.literal('stack'), name: z.string(), stack: stackNames }),
    z.strictObject({ removed: z.literal(true), kind: z.literal('file'), name: z.string(), hash: Sha256Hex }),
  ]),
  access: 'public',
  effect: 'write',
  destructive: true,
  refuses: [...COMMIT_REFUSES, 'E_CONFLICT', 'E_FILE_ABSENT', 'E_STACK_EMPTY'],
  raises: WRITE_RAISES,
  dress: { removed: false },
  aliases: { file: 'name' },
  async handler({ name, ...wish }, context) {
    const { deps, caller } = context;
    const pointer = await deps.sessions.read(caller.session);
    if (pointer.stack.some(({ brain }) => brain === name)) {
      const outcome = await deps.sessions.change(caller.session, context.idempotency, (now) => {
        const removed = removeBrain(now, name) ?? allow(now);
        return removed.ok ? allow({ pointer: removed.value, value: shownStack(removed.value).stack }) : removed;
      });
      return { removed: true as const, kind: 'stack' as const, name, stack: context.take(settled(context, outcome)) };
    }
    const path = checkedPath(name);
    const { ask, branch } = await resolveWrite(context, wish);
    const removal = { branch, path, content: null, ifMatch: wish.ifMatch ?? null };
    const { hash } = context.take(neverDenied(settled(context, await ask(changeFile, removal)), 'E_QUOTA'));
    return { removed: true as const, kind: 'file' as const, name, hash };
  },
});

export const stackTools = [push, pop, switchTo, load, remove];
