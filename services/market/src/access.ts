/** What of the market there is for whom. */
import { actingAs, mayActIn } from '@svc/contract/actor.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { Registry } from './registry.ts';

/** What somebody may see: everything, or what is open to all and what the workspaces share in which they act. */
export type View = 'everything' | { readonly scopes: readonly string[] };

export async function viewOf(registry: Pick<Registry, 'roles'>, caller: Caller): Promise<View> {
  if (caller.operator) return 'everything';
  const identity = actingAs(caller);
  return identity === null ? { scopes: [] } : viewOfAgent(registry, caller, identity);
}

/** As the agent sees it. */
export async function viewOfAgent(registry: Pick<Registry, 'roles'>, caller: Caller, agentId: string): Promise<View> {
  const roles = await registry.roles(agentId, caller.registry);
  const workspaces = Object.keys(roles).filter((workspace) => mayActIn(caller, workspace));
  return { scopes: workspaces.map(scopeOf) };
}

/** What a listing, its bids and its trades carry that only the members of the workspace may see. */
export function scopeOf(workspace: string): string {
  return `workspace:${workspace}`;
}

export function workspaceOfScope(scope: string | null): string | null {
  return scope === null ? null : scope.slice('workspace:'.length);
}

export function maySee(view: View, scope: string | null): boolean {
  return scope === null || view === 'everything' || view.scopes.includes(scope);
}
