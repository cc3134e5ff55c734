/** Lists of what a caller may see. A scope is the workspaces in which the caller holds a role; null = everything. */
import type { Policy } from '@svc/contract/policy.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { POLICY_COLUMNS } from './policy-rows.ts';
import { WORKSPACE_COLUMNS, type WorkspaceRow } from './workspace-rows.ts';

export type Scope = readonly string[] | null;

interface Slice {
  readonly limit: number;
  readonly after: string | null;
}

/** In order of their ids, one more than the limit when there are more. The default workspace is everybody's. */
export function listWorkspaces(client: SqlClient, scope: Scope, { limit, after }: Slice): Promise<WorkspaceRow[]> {
  return client.$queryRawUnsafe<WorkspaceRow[]>(
    `SELECT ${WORKSPACE_COLUMNS} FROM habitat.workspaces
     WHERE ($1::text[] IS NULL OR workspace_id = ANY($1::text[]))
       AND ($2::text IS NULL OR workspace_id COLLATE "C" > $2::text)
     ORDER BY workspace_id COLLATE "C" LIMIT $3::int`,
    scope === null ? null : [...scope, DEFAULT_WORKSPACE],
    after,
    limit + 1,
  );
}

/** Boundaries in the scope and in `public`; identities that hold a role in the scope. */
export async function countVisible(client: SqlClient, scope: Scope): Promise<{ boundaries: number; inputs: number }> {
  const [row] = await client.$queryRawUnsafe<{ boundaries: number; inputs: number }[]>(
    `SELECT (SELECT count(*) FROM habitat.policies
        WHERE $1::text[] IS NULL OR container = 'public' OR container = ANY($1::text[]))::float8 AS boundaries,
      (SELECT count(DISTINCT user_id) FROM habitat.roles
        WHERE $1::text[] IS NULL OR workspace_id = ANY($1::text[]))::float8 AS inputs`,
    scope,
  );
  return row ?? { boundaries: 0, inputs: 0 };
}

interface ListedPolicy {
  readonly resource: string;
  readonly policy: Policy;
}

/** In order of the resources, one more than the limit when there are more. */
export function listPolicies(client: SqlClient, scope: Scope, { limit, after }: Slice): Promise<ListedPolicy[]> {
  return client.$queryRawUnsafe<ListedPolicy[]>(
    `SELECT resource, ${POLICY_COLUMNS} AS policy FROM habitat.policies
     WHERE ($1::text[] IS NULL OR container = 'public' OR container = ANY($1::text[]))
       AND ($2::text IS NULL OR resource COLLATE "C" > $2::text)
     ORDER BY resource COLLATE "C" LIMIT $3::int`,
    scope,
    after,
    limit + 1,
  );
}

interface ListedToken {
  readonly tokenId: string;
  readonly hashPrefix: string;
  readonly agentId: string;
  readonly workspace: string | null;
  readonly readOnly: boolean;
  readonly profile: string | null;
  readonly mintedBy: string;
  readonly mintedAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
}

/** Whose tokens are listed: all of them, or those of `self` and those bound to a workspace that `self` administers. */
interface TokenScope {
  readonly all: boolean;
  readonly self: string | null;
  /** Of `self` only those that act in this workspace alone; null = all. */
  readonly selfIn: string | null;
  readonly administered: readonly string[];
  /** Of this agent alone. */
  readonly agentId: string | null;
}

/** Newest first, one more than the limit when there are more. */
export function listTokens(client: SqlClient, scope: TokenScope, { limit, after }: Slice): Promise<ListedToken[]> {
  return client.$queryRawUnsafe<ListedToken[]>(
    `SELECT token_id AS "tokenId", left(hash, 12) AS "hashPrefix", agent_id AS "agentId", workspace,
       read_only AS "readOnly", profile, minted_by AS "mintedBy", ${epochMs('minted_at')} AS "mintedAt",
       ${epochMs('expires_at')} AS "expiresAt", ${epochMs('revoked_at')} AS "revokedAt",
       ${epochMs('last_used_at')} AS "lastUsedAt"
     FROM habitat.tokens
     WHERE kind = 'habitat' AND ($1::bool OR workspace = ANY($3::text[])
         OR (agent_id = $2::text AND ($7::text IS NULL OR workspace = $7::text)))
       AND ($4::text IS NULL OR agent_id = $4::text) AND ($5::text IS NULL OR token_id < $5::text)
     ORDER BY token_id DESC LIMIT $6::int`,
    scope.all,
    scope.self,
    scope.administered,
    scope.agentId,
    after,
    limit + 1,
    scope.selfIn,
  );
}
