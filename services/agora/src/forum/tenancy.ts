/** Where somebody posts and what posts there are for somebody; without identity only what is everybody's. */
import { mayActIn } from '@svc/contract/actor.ts';
import { WorkspaceName } from '@svc/contract/names.ts';
import { familyOf, identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { AgoraDeps } from '../deps.ts';

export interface Tenancy {
  /** Null = nobody. */
  readonly agentId: string | null;
  readonly family: string | null;
  /** Where it is at home; null = nowhere. */
  readonly home: string | null;
  /** Whose posts it sees and where it may post. */
  readonly workspaces: readonly string[];
}

/** Roles are those of this moment. Throws SERVICE_UNAVAILABLE. */
export async function tenancyOf({ registry }: Pick<AgoraDeps, 'registry'>, caller: Caller): Promise<Tenancy> {
  const { subject, operator } = caller;
  const agentId = identityOf(subject);
  if (agentId === null) return { agentId, family: null, home: null, workspaces: [] };
  const roles = await registry.roles(agentId, caller.registry);
  const held = Object.keys(roles).filter((workspace) => mayActIn(caller, workspace));
  const home = subject.unknownWorkspace === true ? null : (subject.workspace ?? null);
  // What an operator declares is believed; for a token only the registry speaks.
  const workspaces = operator && home !== null ? [...new Set([home, ...held])] : held;
  return { agentId, family: familyOf(subject), home, workspaces };
}

export type Placed =
  | { readonly ok: true; readonly workspace: string | null }
  | { readonly ok: false; readonly reason: 'invalid_workspace' | 'workspace_denied' };

/** `wanted`: absent = at home; empty or null = everybody's. */
export function decidePlace({ agentId, home, workspaces }: Tenancy, wanted: string | null | undefined): Placed {
  if (wanted === '' || wanted === null) return { ok: true, workspace: null };
  if (wanted !== undefined && !WorkspaceName.safeParse(wanted).success)
    return { ok: false, reason: 'invalid_workspace' };
  const place = wanted ?? (agentId === null ? null : home);
  if (place === null || workspaces.includes(place)) return { ok: true, workspace: place };
  return { ok: false, reason: 'workspace_denied' };
}
