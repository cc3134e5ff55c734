/** The lease rows, and the section in which a brain is written: its row locked, so no lease can change meanwhile. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Statement } from '@svc/runtime/transaction.ts';
import { GUEST_LEASE_MS, type LeaseRow } from '../domain/lease.ts';

/** What a transaction that may write sees of its brain. `now` is the database's clock, ms since the epoch. */
interface EnteredSection {
  readonly transaction: SqlClient;
  readonly lease: LeaseRow;
  readonly now: number;
  /** A session of work goes on in the brain, of whomever. */
  readonly isEvolving: boolean;
}

export interface WriteSection extends EnteredSection {
  /** Sends it now; whether it took effect is waited for with COMMIT, so that nothing after it may need to know. */
  soon(statement: Statement): void;
}

interface LeaseColumns {
  readonly agent_id: string | null;
  readonly verified: boolean;
  readonly session: string | null;
  readonly secret_hash: Buffer | null;
  readonly fence: bigint;
  readonly acquired_ms: number | null;
  readonly expires_ms: number | null;
  readonly now_ms: number;
}

interface ExpiredLease {
  readonly brain: string;
  readonly agentId: string;
  readonly fence: number;
  readonly heldMs: number;
}

const COLUMNS = `l.agent_id, l.verified, l.session, l.secret_hash, l.fence,
  (extract(epoch from l.acquired_at) * 1000)::double precision AS acquired_ms,
  (extract(epoch from l.expires_at) * 1000)::double precision AS expires_ms,
  (extract(epoch from clock_timestamp()) * 1000)::double precision AS now_ms`;

/** The row exists from the brain's opening on. */
export async function createLeaseRow(client: SqlClient, brain: string): Promise<void> {
  await client.$executeRawUnsafe('INSERT INTO brain.brain_leases (brain) VALUES ($1) ON CONFLICT DO NOTHING', brain);
}

export async function readLease(client: SqlClient, brain: string): Promise<{ lease: LeaseRow; now: number }> {
  const rows = await client.$queryRawUnsafe<LeaseColumns[]>(
    `SELECT ${COLUMNS} FROM brain.brain_leases l WHERE l.brain = $1`,
    brain,
  );
  return leaseOf(rows[0], brain);
}

export async function lockLease(transaction: SqlClient, brain: string): Promise<{ lease: LeaseRow; now: number }> {
  const rows = await transaction.$queryRawUnsafe<LeaseColumns[]>(
    `SELECT ${COLUMNS} FROM brain.brain_leases l WHERE l.brain = $1 FOR UPDATE`,
    brain,
  );
  return leaseOf(rows[0], brain);
}

/** Until the end of the transaction no lease is granted, ended or forced. */
export async function shareLease(transaction: SqlClient, brain: string): Promise<{ lease: LeaseRow; now: number }> {
  const rows = await transaction.$queryRawUnsafe<LeaseColumns[]>(
    `SELECT ${COLUMNS} FROM brain.brain_leases l WHERE l.brain = $1 FOR SHARE`,
    brain,
  );
  return leaseOf(rows[0], brain);
}

/** Locks owner and lease rows for the rest of the transaction; null when another process owns the brain by now. */
export async function enterWriteSection(
  transaction: SqlClient,
  brain: string,
  owner: { process: string; epoch: number },
): Promise<EnteredSection | null> {
  const rows = await transaction.$queryRawUnsafe<(LeaseColumns & { evolving: boolean })[]>(
    `SELECT ${COLUMNS}, EXISTS (
       SELECT 1 FROM brain.brain_homes h JOIN brain.evolution_sessions e ON e.brain_id = h.id
       WHERE h.brain = l.brain AND e.active_key IS NOT NULL) AS evolving
     FROM brain.brain_leases l JOIN brain.brain_owners o ON o.brain = l.brain
     WHERE l.brain = $1 AND o.process = $2 AND o.epoch = $3::bigint FOR SHARE OF l, o`,
    brain,
    owner.process,
    owner.epoch,
  );
  const [row] = rows;
  return row === undefined ? null : { transaction, ...leaseOf(row, brain), isEvolving: row.evolving };
}

export async function writeLease(transaction: SqlClient, brain: string, { fence, holder }: LeaseRow): Promise<void> {
  const { agentId, verified, session, secretHash, acquiredAt, expiresAt } = holder ?? NOBODY;
  await transaction.$executeRawUnsafe(
    `UPDATE brain.brain_leases SET fence = $2::bigint, agent_id = $3, verified = $4::boolean, session = $5,
       secret_hash = decode($6, 'hex'), acquired_at = to_timestamp($7::double precision / 1000),
       expires_at = to_timestamp($8::double precision / 1000) WHERE brain = $1`,
    brain,
    fence,
    agentId,
    verified,
    session,
    secretHash,
    acquiredAt,
    expiresAt,
  );
}

const NOBODY = { agentId: null, verified: false, session: null, secretHash: null, acquiredAt: null, expiresAt: null };

interface MembersLease {
  readonly brain: string;
  readonly agentId: string;
  readonly fence: number;
  /** Where the brain is at home. */
  readonly workspace: string;
}

const GUEST_LEASE = `interval '${GUEST_LEASE_MS} milliseconds'`;

/** Live leases of known holders that last longer than those of guests may. */
export async function readMembersLeases(client: SqlClient): Promise<MembersLease[]> {
  return client.$queryRawUnsafe<MembersLease[]>(
    `SELECT l.brain, l.agent_id AS "agentId", l.fence::float8 AS fence, h.workspace
     FROM brain.brain_leases l JOIN brain.brain_homes h ON h.brain = l.brain
     WHERE l.verified AND l.expires_at > greatest(clock_timestamp(), l.acquired_at + ${GUEST_LEASE})`,
  );
}

/** Its holder holds it as a guest does from now on. */
export async function boundLease(client: SqlClient, { brain, agentId, fence }: MembersLease): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE brain.brain_leases SET expires_at = least(expires_at, greatest(clock_timestamp(), acquired_at + ${GUEST_LEASE}))
     WHERE brain = $1 AND agent_id = $2 AND fence = $3::bigint`,
    brain,
    agentId,
    fence,
  );
}

/** Frees leases past their time, for their event's sake; every statement that looks treats them as free already. */
export async function freeExpiredLeases(transaction: SqlClient): Promise<ExpiredLease[]> {
  const rows = await transaction.$queryRawUnsafe<{ brain: string; agent_id: string; fence: bigint; held_ms: number }[]>(
    `WITH expired AS (
       SELECT brain, agent_id, fence, acquired_at, expires_at FROM brain.brain_leases
       WHERE expires_at <= clock_timestamp() AND agent_id IS NOT NULL FOR UPDATE SKIP LOCKED
     ), freed AS (
       UPDATE brain.brain_leases l SET agent_id = NULL, verified = false, session = NULL, secret_hash = NULL,
         acquired_at = NULL, expires_at = NULL FROM expired WHERE l.brain = expired.brain
     )
     SELECT brain, agent_id, fence,
       (extract(epoch from (expires_at - acquired_at)) * 1000)::double precision AS held_ms FROM expired`,
  );
  return rows.map((row) => ({
    brain: row.brain,
    agentId: row.agent_id,
    fence: Number(row.fence),
    heldMs: row.held_ms,
  }));
}

function leaseOf(row: LeaseColumns | undefined, brain: string): { lease: LeaseRow; now: number } {
  if (row === undefined) throw new Error(`brain ${brain} has no lease row`);
  const { agent_id: agentId, session, secret_hash: secret, acquired_ms: acquiredAt, expires_ms: expiresAt } = row;
  const held = agentId !== null && session !== null && secret !== null && acquiredAt !== null && expiresAt !== null;
  const holder = held
    ? {
        agentId,
        verified: row.verified,
        session,
        secretHash: Buffer.from(secret).toString('hex'),
        acquiredAt: Math.floor(acquiredAt),
        expiresAt: Math.floor(expiresAt),
      }
    : null;
  return { lease: { fence: Number(row.fence), holder }, now: Math.floor(row.now_ms) };
}
