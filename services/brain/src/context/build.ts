/** Builds contexts, and keeps for a while what it built: it is given again while nothing that went into it has changed. */
import { hash } from 'node:crypto';
import { sortedJson } from '@svc/contract/canonical.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { isAnonymous, type Subject } from '@svc/contract/subject.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { type CallContext, resolveTarget, type Target } from '../tools/target.ts';
import { collectPieces } from './collect.ts';
import type { BuiltContext, ContextWish, Noted } from './context-store.ts';
import { assemble, type AssembledContext } from './domain/assemble.ts';
import { keepContext, readContext } from './operations.ts';

export interface Built extends Noted {
  readonly context: AssembledContext;
}

/** `found`: the brain and branch of the wish, when whoever asks has found them already. Who asks notes what came of it. */
export async function buildContext(
  context: CallContext,
  wish: ContextWish,
  found?: Target,
): Promise<Decision<Built, ReadRefusal>> {
  const target = found ?? (await resolveTarget(context, wish));
  const { registry, operator, session, subject } = context.caller;
  const workspace = workspaceOf(subject);
  // Without a stamp nobody knows whether the rules are still the same.
  const wisher = registry === null ? null : hashed([session, subject, operator, registry, wish]);
  const wished = { branch: wish.branch, workspace, wisher };
  const state = await target.ask(readContext, wished);
  if (!state.ok) return state;
  const { key, kept } = state.value;
  const assembled = kept === null ? await assembleFor(context, target, workspace, wish) : allow(kept);
  if (!assembled.ok) return assembled;
  if (key !== null && kept === null) await target.ask(keepContext, { wished, key, context: assembled.value });
  return allow({ context: assembled.value, built: builtOf(wish, assembled.value), wasKnown: kept !== null });
}

/** Whose work is told of; empty = of those who are in none. */
function workspaceOf(subject: Subject): string {
  return isAnonymous(subject) || subject.unknownWorkspace === true ? '' : (subject.workspace ?? '');
}

function hashed(parts: readonly unknown[]): string {
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
