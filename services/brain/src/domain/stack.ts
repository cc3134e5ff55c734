/** The session pointer: a stack of brains, top first, each on a branch. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';

type StackType = 'private' | 'public';

export interface StackEntry {
  readonly brain: string;
  readonly branch: string;
  /** `public` brains are read-only in this session. */
  readonly type: StackType;
}

export interface Pointer {
  /** 1 to MAX_STACK entries. */
  readonly stack: readonly [StackEntry, ...StackEntry[]];
  /** The branch this session last used per brain. */
  readonly branches: Readonly<Record<string, string>>;
}

export const MAX_STACK = 16;
export const DEFAULT_BRANCH = 'main';

export function freshPointer(brain: string): Pointer {
  return { stack: [{ brain, branch: DEFAULT_BRANCH, type: 'private' }], branches: {} };
}

interface EntryWish {
  readonly brain: string;
  readonly branch?: string | undefined;
  readonly type?: StackType | undefined;
}

/** Puts a brain on top; one that is on the stack already moves there with the type and branch given. */
export function pushBrain(pointer: Pointer, wish: EntryWish): Decision<Pointer, 'E_LIMIT'> {
  const present = pointer.stack.find((entry) => entry.brain === wish.brain);
  const others = pointer.stack.filter((entry) => entry.brain !== wish.brain);
  if (present === undefined && others.length >= MAX_STACK) return deny('E_LIMIT', { limit: MAX_STACK });
  return allow(withStack(pointer, [entryFor(pointer, wish, present), ...others]));
}

export function popBrain(pointer: Pointer): Decision<{ popped: string; pointer: Pointer }, 'E_STACK_EMPTY'> {
  const [top, next, ...rest] = pointer.stack;
  if (next === undefined) return deny('E_STACK_EMPTY');
  return allow({ popped: top.brain, pointer: { ...pointer, stack: [next, ...rest] } });
}

/** Takes one brain off the stack wherever it lies; null when it is not on it. */
export function removeBrain(pointer: Pointer, brain: string): Decision<Pointer, 'E_STACK_EMPTY'> | null {
  const rest = pointer.stack.filter((entry) => entry.brain !== brain);
  if (rest.length === pointer.stack.length) return null;
  const [top, ...others] = rest;
  return top === undefined ? deny('E_STACK_EMPTY') : allow({ ...pointer, stack: [top, ...others] });
}

/** Replaces the top by another brain; one that lay below moves up. */
export function switchBrain(pointer: Pointer, wish: EntryWish): Pointer {
  const present = pointer.stack.find((entry) => entry.brain === wish.brain);
  const below = pointer.stack.slice(1).filter((entry) => entry.brain !== wish.brain);
  return withStack(pointer, [entryFor(pointer, wish, present), ...below]);
}

/** The stack becomes exactly these, first on top; repeated names count once. */
export function loadBrains(pointer: Pointer, brains: readonly [string, ...string[]], type: StackType): Pointer {
  const [top, ...others] = new Set(brains);
  const entry = (brain: string): StackEntry => entryFor(pointer, { brain, type }, undefined);
  return withStack(pointer, [entry(top ?? brains[0]), ...others.map(entry)]);
}

/** Changes the branch of the top entry, or of `brain` where it lies. */
export function switchBranch(pointer: Pointer, brain: string, branch: string): Pointer {
  const [top, ...others] = pointer.stack.map((entry) => (entry.brain === brain ? { ...entry, branch } : entry));
  const moved = top === undefined ? pointer : withStack(pointer, [top, ...others]);
  return { ...moved, branches: { ...moved.branches, [brain]: branch } };
}

function entryFor(pointer: Pointer, wish: EntryWish, present: StackEntry | undefined): StackEntry {
  const remembered = Object.hasOwn(pointer.branches, wish.brain) ? pointer.branches[wish.brain] : undefined;
  return {
    brain: wish.brain,
    branch: wish.branch ?? present?.branch ?? remembered ?? DEFAULT_BRANCH,
    type: wish.type ?? present?.type ?? 'private',
  };
}

function withStack(pointer: Pointer, stack: Pointer['stack']): Pointer {
  return { stack, branches: { ...pointer.branches, [stack[0].brain]: stack[0].branch } };
}
