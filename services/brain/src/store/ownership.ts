/**
 * Which process works on a brain. Processes that share a data directory keep a heartbeat row each; a brain has an owner
 * row whose epoch rises with every change. Every write locks that row, so a process that lost a brain cannot write it,
 * however long it was paused.
 */
import type { SqlClient } from '@svc/runtime/database.ts';
import { isAhead } from '@svc/runtime/sql-time.ts';

export interface Owner {
  readonly process: string;
  readonly epoch: number;
}

interface Ownership {
  readonly owner: Owner | null;
  /** The owner's heartbeat is younger than DEAD_AFTER_MS. */
  readonly alive: boolean;
}

export const HEARTBEAT_EVERY_MS = 500;
export const DEAD_AFTER_MS = 2000;

const SEEN = `p.seen_at > clock_timestamp() - interval '${DEAD_AFTER_MS} milliseconds'`;

/** Whether somebody's heartbeat is one of a clock that was set back since. */
export async function beat(client: SqlClient, process: string, nodeId: string): Promise<boolean> {
  const rows = await client.$queryRawUnsafe<{ isAhead: boolean }[]>(
    `INSERT INTO brain.brain_processes (process, node_id, started_at, seen_at)
     VALUES ($1, $2, clock_timestamp(), clock_timestamp())
     ON CONFLICT (process) DO UPDATE SET seen_at = clock_timestamp()
     RETURNING EXISTS (SELECT FROM brain.brain_processes WHERE process <> $1 AND ${isAhead('seen_at')}) AS "isAhead"`,
    process,
    nodeId,
  );
  return rows[0]?.isAhead === true;
}

/**
 * A heartbeat that lies ahead counts as one of now: who lives beats again, and who is dead is so in a moment, not when the
 * clock is there once more. Not in the transaction of one's own heartbeat: two such would wait for each other.
 */
export async function bringBack(client: SqlClient): Promise<void> {
  await client.$executeRawUnsafe(
    `UPDATE brain.brain_processes SET seen_at = clock_timestamp() WHERE process IN (
       SELECT process FROM brain.brain_processes WHERE ${isAhead('seen_at')} FOR UPDATE SKIP LOCKED)`,
  );
}

/** Where a process works: `directory` null = in one that nobody has used yet; `deployment` = the name within which it speaks, or empty. */
export interface Place {
  readonly directory: string | null;
  readonly deployment: string;
}

/** Nodes of living processes that work in another directory, and that speak under another name. */
export interface Strangers {
  readonly apart: readonly string[];
  readonly unheard: readonly string[];
}

export async function readStrangers(client: SqlClient, { directory, deployment }: Place): Promise<Strangers> {
  const rows = await client.$queryRawUnsafe<{ node: string; isApart: boolean; isUnheard: boolean }[]>(
    `SELECT p.node_id AS node, p.directory IS NOT NULL AND p.directory IS DISTINCT FROM $1::text AS "isApart",
       coalesce(p.deployment <> $2, false) AS "isUnheard"
     FROM brain.brain_processes p WHERE ${SEEN} ORDER BY node`,
    directory,
    deployment,
  );
  const nodes = (of: typeof rows): string[] => [...new Set(of.map(({ node }) => node))];
  return {
    apart: nodes(rows.filter(({ isApart }) => isApart)),
    unheard: nodes(rows.filter(({ isUnheard }) => isUnheard)),
  };
}

/** Says where the process works. */
export async function settle(client: SqlClient, process: string, { directory, deployment }: Place): Promise<void> {
  await client.$executeRawUnsafe(
    'UPDATE brain.brain_processes SET directory = $2, deployment = $3 WHERE process = $1',
    process,
    directory,
    deployment,
  );
}

export async function readLiveProcesses(client: SqlClient): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ process: string }[]>(
    `SELECT p.process FROM brain.brain_processes p WHERE ${SEEN} ORDER BY p.process`,
  );
  return rows.map(({ process }) => process);
}

export async function readOwner(client: SqlClient, brain: string): Promise<Ownership> {
  const rows = await client.$queryRawUnsafe<{ process: string | null; epoch: bigint; alive: boolean }[]>(
    `SELECT o.process, o.epoch, coalesce(${SEEN}, false) AS alive
     FROM brain.brain_owners o LEFT JOIN brain.brain_processes p ON p.process = o.process WHERE o.brain = $1`,
    brain,
  );
  const row = rows[0];
  if (row === undefined || row.process === null) return { owner: null, alive: false };
  return { owner: { process: row.process, epoch: Number(row.epoch) }, alive: row.alive };
}

/** Takes a brain that nobody living owns, or confirms our own; null when somebody else has it. */
export async function claim(client: SqlClient, brain: string, process: string): Promise<Owner | null> {
  const rows = await client.$queryRawUnsafe<{ epoch: bigint }[]>(
    `INSERT INTO brain.brain_owners AS o (brain, process, epoch, at) VALUES ($1, $2, 1, clock_timestamp())
     ON CONFLICT (brain) DO UPDATE SET process = $2, epoch = o.epoch + 1, at = clock_timestamp()
       WHERE o.process IS NULL OR o.process = $2
         OR NOT EXISTS (SELECT 1 FROM brain.brain_processes p WHERE p.process = o.process AND ${SEEN})
     RETURNING epoch`,
    brain,
    process,
  );
  return rows[0] === undefined ? null : { process, epoch: Number(rows[0].epoch) };
}

/** Once no other transaction that checked the owner is under way any more; false when it is another one by now. */
export async function lockOwner(transaction: SqlClient, brain: string, owner: Owner): Promise<boolean> {
  const rows = await transaction.$queryRawUnsafe<unknown[]>(
    'SELECT FROM brain.brain_owners WHERE brain = $1 AND process = $2 AND epoch = $3::bigint FOR UPDATE',
    brain,
    owner.process,
    owner.epoch,
  );
  return rows.length > 0;
}

/** Lets go of a brain; nothing happens when somebody else took it meanwhile. */
export async function release(client: SqlClient, brain: string, owner: Owner): Promise<void> {
  await client.$executeRawUnsafe(
    'UPDATE brain.brain_owners SET process = NULL WHERE brain = $1 AND process = $2 AND epoch = $3::bigint',
    brain,
    owner.process,
    owner.epoch,
  );
}

/** A process that ends well is no longer counted on. */
export async function leave(client: SqlClient, process: string): Promise<void> {
  await client.$executeRawUnsafe('DELETE FROM brain.brain_processes WHERE process = $1', process);
}

export async function readOwnedBrains(client: SqlClient, process: string): Promise<Set<string>> {
  const rows = await client.$queryRawUnsafe<{ brain: string }[]>(
    'SELECT brain FROM brain.brain_owners WHERE process = $1',
    process,
  );
  return new Set(rows.map(({ brain }) => brain));
}
