/** What a caller may do to a brain as a whole, because of where the brain is at home. */
import { CallError } from '@svc/contract/codes.ts';
import { holdsAtLeast } from '@svc/contract/registry.ts';
import type { CallContext } from './target.ts';
import { requireWriter } from './target.ts';

/** `guest` = no role there. */
export type Standing = 'operator' | 'admin' | 'member' | 'guest';

type Asking = Pick<CallContext, 'deps' | 'caller'>;

export async function standingAtHome({ deps, caller }: Asking, brain: string): Promise<Standing> {
  if (caller.operator) return 'operator';
  const roles = await deps.homeRoles(caller, await deps.host.homeOf(brain));
  if (holdsAtLeast(roles, 'admin')) return 'admin';
  return roles.length > 0 ? 'member' : 'guest';
}

/** Throws UNAUTHORIZED or FORBIDDEN to everybody but operators and the admins of the brain's home. */
export async function requireHomeAdmin(context: Asking, brain: string): Promise<void> {
  requireWriter(context.caller);
  const standing = await standingAtHome(context, brain);
  if (standing !== 'operator' && standing !== 'admin')
    throw new CallError('FORBIDDEN', 'This is for admins of the workspace where the brain is at home, and operators.');
}
