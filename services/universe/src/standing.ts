/** Where a call is at home, and what the caller is there. */
import { actorOf, mayActIn } from '@svc/contract/actor.ts';
import { holdsAtLeast, type Role, rolesIn } from '@svc/contract/registry.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { Roles } from '@svc/runtime/registry-reader.ts';
import type { UniverseDeps } from './deps.ts';

const DEFAULT_WORKSPACE = 'default';
type Who = Pick<Caller, 'subject' | 'operator' | 'token' | 'registry'>;

/** What somebody is in the workspaces in which the call may act. */
export interface Standing {
  /** As whom it is recorded. */
  readonly name: string;
  readonly operator: boolean;
  /** Null = an operator, or nobody. */
  readonly identity: string | null;
  /** Every workspace = null. */
  readonly workspaces: readonly string[] | null;
  holds(workspace: string, role: Role): boolean;
}

export async function standingOf({ registry }: Pick<UniverseDeps, 'registry'>, caller: Who): Promise<Standing> {
  const { name, operator, identity } = actorOf(caller);
  if (operator) return { name, operator, identity: null, workspaces: null, holds: () => true };
  const roles: Roles = identity === null ? {} : await registry.roles(identity, caller.registry);
  const workspaces = Object.keys(roles).filter(
    (workspace) => mayActIn(caller, workspace) && holdsAtLeast(rolesIn(roles, workspace), 'viewer'),
  );
  return {
    name,
    operator,
    identity,
    workspaces,
    holds: (workspace, role) => workspaces.includes(workspace) && holdsAtLeast(rolesIn(roles, workspace), role),
  };
}

/** Those of them that hold no role there, as far as the call may know. */
export async function withoutRole(
  { deps, caller }: { readonly deps: Pick<UniverseDeps, 'registry'>; readonly caller: Pick<Caller, 'registry'> },
  workspace: string,
  identities: readonly string[],
): Promise<string[]> {
  const looked = identities.map(async (identity) => {
    const roles = rolesIn(await deps.registry.roles(identity, caller.registry), workspace);
    return roles.length === 0 ? [identity] : [];
  });
  return (await Promise.all(looked)).flat();
}

export function homeOf({ subject }: Pick<Caller, 'subject'>, named?: string): string {
  return named ?? subject.workspace ?? DEFAULT_WORKSPACE;
}
