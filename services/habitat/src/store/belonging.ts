/** Reads of who belongs to what: each one statement, so that rows and stamp belong together. */
import { foldCase } from '@svc/contract/names.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { assertStamped, type StampRow, stampOf } from '../revision.ts';
import type { Stamped } from './identity-rows.ts';

/** The id itself when there is such a thing, else the only one that has the name in a confirmed organisation: anybody may
 * call theirs like others. */
const meant = (table: 'orgs' | 'depts' | 'teams') =>
  `coalesce((SELECT id FROM habitat.${table} WHERE id = $2),
    (SELECT min(x.id) FROM habitat.${table} x JOIN habitat.orgs o ON o.id = ${table === 'orgs' ? 'x.id' : 'x.org'}
     WHERE x.folded = $3 AND o.confirmed_at IS NOT NULL HAVING count(*) = 1))`;
/** Parameters: $1 the identity, $2 the reference, $3 the same as names are compared. Each says which id is meant, and whether
 * the identity belongs to `meant`. */
const assigned = (part: 'org' | 'dept' | 'team') => ({
  meant: meant(`${part}s`),
  belongs: `EXISTS (SELECT 1 FROM habitat.assignments WHERE agent_id = $1 AND ${part} = meant)`,
});
const BELONGS = {
  org: assigned('org'),
  dept: assigned('dept'),
  team: assigned('team'),
  workspace: {
    meant: `(SELECT workspace_id FROM habitat.workspaces WHERE workspace_id = $2 OR folded = $3
      ORDER BY workspace_id = $2 DESC LIMIT 1)`,
    belongs: 'EXISTS (SELECT 1 FROM habitat.roles WHERE user_id = $1 AND workspace_id = meant)',
  },
  agent: {
    meant: `coalesce((SELECT agent_id FROM habitat.agents WHERE agent_id = $2 AND killed_at IS NULL),
      (SELECT min(user_id) FROM habitat.roles WHERE user_id = $2),
      (SELECT min(agent_id) FROM habitat.agents WHERE name = $2 AND killed_at IS NULL HAVING count(*) = 1))`,
    belongs: '$1 = meant',
  },
} as const;
type Kind = keyof typeof BELONGS;
const UNKNOWN = { meant: 'NULL::text', belongs: 'false' } as const;

const OWNER = /^(?<kind>org|dept|team|workspace|agent):(?<reference>.+)$/s;

export interface Membership {
  readonly member: boolean;
  /** The owner by its id; null = not a member. */
  readonly owner: string | null;
}

export async function isMemberOf(client: SqlClient, owner: string, agentId: string): Promise<Stamped<Membership>> {
  const { kind, reference = '' } = OWNER.exec(owner)?.groups ?? {};
  const { meant: id, belongs } = kind === undefined ? UNKNOWN : BELONGS[kind as Kind];
  // Each parameter is named in every statement, so that its type is known.
  const [row] = await client.$queryRawUnsafe<(StampRow & { member: boolean | null; meant: string | null })[]>(
    `SELECT rev, policies, settings, meant, $1::text <> '' AND $2::text <> '' AND $3::text <> '' AND ${belongs} AS member
       FROM habitat.registry_revision, LATERAL (SELECT ${id} AS meant) of_owner`,
    agentId,
    reference,
    foldCase(reference),
  );
  assertStamped(row);
  const member = row.member === true;
  return { stamp: stampOf(row), value: { member, owner: member ? `${kind}:${row.meant}` : null } };
}

/** Null = assigned to no confirmed organisation. */
export async function readPlan(client: SqlClient, agentId: string): Promise<Stamped<string | null>> {
  const [row] = await client.$queryRawUnsafe<(StampRow & { plan: string | null })[]>(
    `SELECT rev, policies, settings, (SELECT o.plan FROM habitat.assignments s JOIN habitat.orgs o ON o.id = s.org
       WHERE s.agent_id = $1 AND o.confirmed_at IS NOT NULL) AS plan FROM habitat.registry_revision`,
    agentId,
  );
  assertStamped(row);
  return { stamp: stampOf(row), value: row.plan };
}

export interface Account {
  readonly kind: 'identity' | 'org' | null;
  readonly isOwner: boolean;
  readonly isMember: boolean;
  /** Of the role in which `by` is assigned to the organisation. */
  readonly permissions: readonly string[];
}

/** An organisation goes before an identity that has taken its id as a name. */
const ACCOUNT = `SELECT r.rev, r.policies, r.settings,
    CASE WHEN o.id IS NOT NULL THEN 'org'
      WHEN EXISTS (SELECT 1 FROM habitat.roles WHERE user_id = $1)
        AND NOT EXISTS (SELECT 1 FROM habitat.agents WHERE agent_id = $1 AND killed_at IS NOT NULL) THEN 'identity'
      END AS kind,
    coalesce(o.owner = $2, false) AS "isOwner", s.agent_id IS NOT NULL AS "isMember",
    coalesce(t.permissions, '{}') AS permissions
  FROM habitat.registry_revision r LEFT JOIN habitat.orgs o ON o.id = $1
    LEFT JOIN habitat.assignments s ON s.org = o.id AND s.agent_id = $2
    LEFT JOIN habitat.team_roles t ON t.id = s.role`;

export async function readAccount(client: SqlClient, account: string, by: string | null): Promise<Stamped<Account>> {
  const [row] = await client.$queryRawUnsafe<(Account & StampRow)[]>(ACCOUNT, account, by);
  assertStamped(row);
  const { kind, isOwner, isMember, permissions } = row;
  return { stamp: stampOf(row), value: { kind, isOwner, isMember, permissions } };
}
