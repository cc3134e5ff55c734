/** In whose memory a call looks. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import { isAnonymous, UserCtx } from '@svc/contract/subject.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import type { CallContext } from '../../tools/target.ts';
import { keyProblem } from '../domain/key.ts';
import type { MemoryPlace } from '../memory-store.ts';

export const scopeArguments = {
  workspace: z
    .union([WorkspaceName, z.literal('')])
    .nullable()
    .optional()
    .describe('Whose memory; default: the workspace of the caller. Empty or null = the space that all callers share.'),
  userCtx: UserCtx.optional(),
};

export const shownWorkspace = z.string().nullable().describe('Null = the space that all callers share.');

interface ScopeWish {
  readonly workspace?: string | null | undefined;
  readonly userCtx?: UserCtx | undefined;
}

/** The workspace; null = the space that all callers share. Throws RLS_DENIED where the caller has no role. */
export async function scopeOf({ deps, caller }: CallContext, wish: ScopeWish): Promise<string | null> {
  const { operator, subject } = caller;
  if (wish.workspace !== undefined) {
    const named = wish.workspace === '' ? null : wish.workspace;
    if (named === null || operator || (await deps.homeRoles(caller, named)).length > 0) return named;
    throw new CallError('RLS_DENIED');
  }
  if (subject.unknownWorkspace === true) throw new CallError('RLS_DENIED');
  // Who says nothing of himself is in the workspace of its session; that makes him no member of it.
  if (isAnonymous(subject)) return operator ? (wish.userCtx?.workspace ?? null) : null;
  return subject.workspace ?? null;
}

/** Throws RLS_DENIED, and VAF_INPUT_INVALID when the key does not fit into the memory of that workspace. */
export async function placeOf(
  context: CallContext,
  { key, ...wish }: ScopeWish & { key: string },
): Promise<MemoryPlace> {
  const workspace = await scopeOf(context, wish);
  const message = keyProblem(workspace, key);
  if (message !== null) throw invalidArguments([{ path: 'key', message }]);
  return { workspace, key };
}
