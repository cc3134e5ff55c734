/** Builds contexts, and keeps for a while what it built: it is given again while nothing that went into it has changed. */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { sortedJson } from '@svc/contract/canonical.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { isAnonymous, type Subject } from '@svc/contract/subject.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { type CallContext, resolveTarget, type Target } from '../tools/target.ts';
import { collectPieces } from './collect.ts';
import type { BuiltContext, ContextWish } from './context-store.ts';
import { assemble, type AssembledContext } from './domain/assemble.ts';
import { readState } from './operations.ts';

export const KEPT_MS = 300_000;
const KEPT_BYTES = 32 * 1024 * 1024;

/** Of one process; by everything that decides what they say. */
export type KeptContexts = LRUCache<string, AssembledContext>;

export function createKeptContexts(): KeptContexts {
  return new LRUCache({
    maxSize: KEPT_BYTES,
    // With what stands around the text.
    sizeCalculation: ({ text, citations }) => 2 * text.length + 200 * citations.length + 2000,
    ttl: KEPT_MS,
  });
}

export interface Built {
  readonly context: AssembledContext;
  readonly built: BuiltContext;
  readonly wasKnown: boolean;
}

export async function buildContext(context: CallContext, wish: ContextWish): Promise<Decision<Built, ReadRefusal>> {
  const { deps, caller } = context;
  const target = await resolveTarget(context, wish);
  const { registry, operator, session, subject } = caller;
  const workspace = workspaceOf(subject);
  const state = await target.ask(readState, { branch: wish.branch, workspace });
  if (!state.ok) return state;
  // Without a stamp nobody knows whether the rules are still the same.
  const key = registry === null ? null : keyOf([session, subject, operator, registry, wish, state.value.state]);
  const known = key === null ? undefined : deps.contexts.kept.get(key);
  const assembled = known === undefined ? await assembleFor(context, target, workspace, wish) : allow(known);
  if (!assembled.ok) return assembled;
  if (key !== null && known === undefined) deps.contexts.kept.set(key, assembled.value);
  const built = builtOf(wish, assembled.value);
  await deps.contexts.store.note(session, built, known !== undefined);
  return allow({ context: assembled.value, built, wasKnown: known !== undefined });
}

/** Whose work is told of; empty = of those who are in none. */
function workspaceOf(subject: Subject): string {
  return isAnonymous(subject) || subject.unknownWorkspace === true ? '' : (subject.workspace ?? '');
}

function keyOf(parts: readonly unknown[]): string {
  // What was stored meanwhile may name its fields in another order.
  return hash('sha256', sortedJson(parts));
}

async function assembleFor(
  context: CallContext,
  target: Target,
  workspace: string,
  { query, budget, includeTools }: ContextWish,
): Promise<Decision<AssembledContext, ReadRefusal>> {
  const tools = includeTools ? context.deps.contexts.tools : null;
  const pieces = await collectPieces(context, { target, workspace, query, tools });
  return pieces.ok ? allow(assemble(pieces.value, budget)) : pieces;
}

function builtOf(wish: ContextWish, { text, tokens, layers, breakpoints }: AssembledContext): BuiltContext {
  return { wish, hash: hash('sha256', text), tokens, layers, breakpoints };
}
