/** Tokens as rows: minted under a hash, ended for good. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { sweepRows } from '@svc/runtime/row-sweep.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import type { HabitatUnit } from './unit.ts';

const LIVE = 'revoked_at IS NULL AND clock_timestamp() < expires_at';

interface NewToken {
  readonly hash: string;
  readonly tokenId: string;
  readonly kind: 'habitat' | 'auth';
  readonly agentId: string;
  /** Bound to it; null = not bound. */
  readonly workspace: string | null;
  readonly readOnly: boolean;
  readonly profile: string | null;
  readonly claims: Readonly<Record<string, unknown>> | null;
  readonly by: string;
  /** Times in ms since the epoch, by the clock of the database. */
  readonly mintedAt: number;
  readonly expiresAt: number;
}

/** Clock of the database, in whole ms since the epoch. */
export async function readClock(client: SqlClient): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ at: number }[]>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at',
  );
  if (row === undefined) throw new Error('the database does not tell the time');
  return row.at;
}

/**
 * Holds the roles of the identity until the transaction ends. Whoever takes the last one waits, and then finds the token
 * that is minted meanwhile.
 */
export async function holdRolesOf(tx: SqlClient, userId: string): Promise<void> {
  await tx.$executeRawUnsafe(
    'SELECT 1 FROM habitat.roles WHERE user_id = $1 ORDER BY workspace_id, role FOR KEY SHARE',
    userId,
  );
}

export async function insertToken(unit: HabitatUnit, token: NewToken): Promise<void> {
  const { hash, tokenId, kind, agentId, workspace, readOnly, profile, claims, by, mintedAt, expiresAt } = token;
  await unit.tx.$executeRawUnsafe(
    `INSERT INTO habitat.tokens
       (hash, token_id, kind, agent_id, workspace, read_only, profile, claims, minted_by, minted_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json, $9, to_timestamp($10::float8 / 1000), to_timestamp($11::float8 / 1000))`,
    hash,
    tokenId,
    kind,
    agentId,
    workspace,
    readOnly,
    profile,
    claims === null ? null : JSON.stringify(claims),
    by,
    mintedAt,
    expiresAt,
  );
  unit.emit({
    name: 'token:minted',
    ...inWorkspace(workspace),
    payload: { tokenId, agentId, expiresAt, by, parties: parties(agentId, by) },
  });
  unit.audit({
    event: 'token:minted',
    workspace,
    data: { tokenId, kind, agentId, bound: workspace, readOnly, profile, expiresAt, by },
  });
}

interface EndedRow {
  readonly tokenId: string;
  readonly agentId: string;
  readonly workspace: string | null;
}

/** Every live token of the identity ends, whatever it is for. */
export async function endTokensOf(unit: HabitatUnit, agentId: string, by: string): Promise<void> {
  unit.end({ agentIds: [agentId] });
  noteEnded(unit, await endWhere(unit, 'agent_id = $2', by, agentId), by);
}

/** Those with which the identity acts in the workspace alone. */
export async function endTokensBoundTo(
  unit: HabitatUnit,
  { agentId, workspace }: Pick<NewToken, 'agentId'> & { readonly workspace: string },
  by: string,
): Promise<void> {
  noteEnded(unit, await endWhere(unit, 'agent_id = $2 AND workspace = $3', by, agentId, workspace), by);
}

/** False when it had ended already. */
export async function endToken(unit: HabitatUnit, tokenId: string, by: string): Promise<boolean> {
  const ended = await endWhere(unit, 'token_id = $2', by, tokenId);
  noteEnded(unit, ended, by);
  return ended.length > 0;
}

function endWhere({ tx }: HabitatUnit, where: string, by: string, ...values: string[]): Promise<EndedRow[]> {
  return tx.$queryRawUnsafe<EndedRow[]>(
    `UPDATE habitat.tokens SET revoked_at = clock_timestamp(), revoked_by = $1 WHERE ${where} AND ${LIVE}
     RETURNING token_id AS "tokenId", agent_id AS "agentId", workspace`,
    by,
    ...values,
  );
}

function noteEnded(unit: HabitatUnit, ended: readonly EndedRow[], by: string): void {
  if (ended.length === 0) return;
  unit.touch();
  unit.end({ tokenIds: ended.map(({ tokenId }) => tokenId) });
  for (const { tokenId, agentId, workspace } of ended) {
    unit.emit({
      name: 'token:revoked',
      ...inWorkspace(workspace),
      payload: { tokenId, agentId, by, parties: parties(agentId, by) },
    });
    unit.audit({ event: 'token:revoked', workspace, data: { tokenId, agentId, by } });
  }
}

function parties(agentId: string, by: string): string[] {
  return [...new Set([agentId, by])];
}

function inWorkspace(workspace: string | null): { workspace?: string } {
  return workspace === null ? {} : { workspace };
}

interface FoundToken {
  readonly tokenId: string;
  readonly agentId: string;
  readonly bound: string | null;
  readonly mintedBy: string;
  /** It was found by its raw value. */
  readonly presented: boolean;
}

const HASH_OR_ID = /^([0-9a-f]{64}|tok_[0-9a-f]{1,64})$/;

/** By the hash of the raw value, by the hash itself, or by the id; locked until the transaction ends. */
export async function findToken(tx: SqlClient, given: string, hashOfGiven: string): Promise<FoundToken | null> {
  const [row] = await tx.$queryRawUnsafe<FoundToken[]>(
    `SELECT token_id AS "tokenId", agent_id AS "agentId", workspace AS bound, minted_by AS "mintedBy",
       hash = $2 AS presented
     FROM habitat.tokens WHERE hash IN ($1::text, $2) OR token_id = $1::text FOR UPDATE`,
    HASH_OR_ID.test(given) ? given : null, // a raw token stays out of statements and their logs
    hashOfGiven,
  );
  return row ?? null;
}

/** Of a token that is known to be there. */
export async function readTokenHash(client: SqlClient, tokenId: string): Promise<string> {
  const [row] = await client.$queryRawUnsafe<{ hash: string }[]>(
    'SELECT hash FROM habitat.tokens WHERE token_id = $1',
    tokenId,
  );
  if (row === undefined) throw new Error('the token of a stored reply is missing');
  return row.hash;
}

interface AuthClaims {
  readonly userId: string;
  readonly roles: string[];
  /** Ms since the epoch. */
  readonly expiresAt: number;
}

/** Of a live application token; null = there is none. */
export async function readAuthToken(client: SqlClient, hash: string): Promise<AuthClaims | null> {
  const [row] = await client.$queryRawUnsafe<{ claims: Omit<AuthClaims, 'expiresAt'>; expiresAt: number }[]>(
    `SELECT claims, ${epochMs('expires_at')} AS "expiresAt" FROM habitat.tokens
     WHERE hash = $1 AND kind = 'auth' AND ${LIVE}`,
    hash,
  );
  return row === undefined ? null : { ...row.claims, expiresAt: row.expiresAt };
}

/** Deletes tokens that ended long ago; returns how many. */
export function sweepTokens(client: SqlClient, keptDays: number): Promise<number> {
  const condition = 'least(expires_at, revoked_at) < now() - make_interval(days => $1::int)';
  return sweepRows(client, { table: 'habitat.tokens', condition, values: [keptDays] });
}
