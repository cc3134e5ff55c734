/** Who may what in an organisation, read from assignments and the roles in them. */
import { foldCase } from '@svc/contract/names.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Actor } from '../domain/actor.ts';
import { grantingPermission, ORG_ADMIN } from '../domain/team-permissions.ts';

export interface Membership {
  readonly org: string;
  readonly confirmed: boolean;
  /** Null = assigned without a role. */
  readonly permissions: readonly string[] | null;
}

/** The organisation an identity is assigned to, and what its role there permits; null = to none. */
export async function readMembership(client: SqlClient, agentId: string): Promise<Membership | null> {
  const [row] = await client.$queryRawUnsafe<Membership[]>(
    `SELECT s.org, o.confirmed_at IS NOT NULL AS confirmed, r.permissions FROM habitat.assignments s
     JOIN habitat.orgs o ON o.id = s.org LEFT JOIN habitat.team_roles r ON r.id = s.role WHERE s.agent_id = $1`,
    agentId,
  );
  return row ?? null;
}

/**
 * Whether the team role of an identity grants the permission now; an unknown identity has none. `within`: the id or the
 * name of the organisation in which it is to count; null = anywhere, for which an operator must have confirmed the one it is from.
 */
export async function teamGrants(
  client: SqlClient,
  agentId: string,
  permission: string,
  within: string | null = null,
): Promise<boolean> {
  const membership = await readMembership(client, agentId);
  if (membership === null) return false;
  const counts = within === null ? membership.confirmed : await isCalled(client, membership.org, within);
  return counts && grantingPermission(membership.permissions ?? [], permission) !== null;
}

async function isCalled(client: SqlClient, org: string, reference: string): Promise<boolean> {
  const rows = await client.$queryRawUnsafe<unknown[]>(
    'SELECT 1 FROM habitat.orgs WHERE id = $1 AND (id = $2 OR folded = $3)',
    org,
    reference,
    foldCase(reference),
  );
  return rows.length > 0;
}

/** What somebody may do in one organisation: `everything` for its owner and for operators. */
export interface OrgStanding {
  readonly everything: boolean;
  readonly isMember: boolean;
  readonly permissions: readonly string[];
}

export async function readOrgStanding(
  client: SqlClient,
  { identity, operator }: Pick<Actor, 'identity' | 'operator'>,
  org: { readonly id: string; readonly owner: string | null },
): Promise<OrgStanding> {
  const isOwner = identity !== null && identity === org.owner;
  if (operator || isOwner) return { everything: true, isMember: true, permissions: [] };
  const membership = identity === null ? null : await readMembership(client, identity);
  if (membership?.org !== org.id) return { everything: false, isMember: false, permissions: [] };
  return { everything: false, isMember: true, permissions: membership.permissions ?? [] };
}

export function isOrgAdmin({ everything, permissions }: OrgStanding): boolean {
  return everything || grantingPermission(permissions, ORG_ADMIN) !== null;
}
