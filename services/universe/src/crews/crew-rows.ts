/** Statements on crews. Time is that of the database. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, hasRested } from '@svc/runtime/sql-time.ts';
import type { Member, Phase } from './domain/crew.ts';

/** What of its assembly is still to be done: agents and workspace, the pool, nothing; or all of it is to be undone. */
type AssemblyStep = 'spawn' | 'pool' | 'done' | 'undo';

export interface NewCrew {
  readonly crewId: string;
  readonly name: string;
  /** Fingerprint of its universe. */
  readonly universe: string;
  /** In hex. */
  readonly seed: string;
  readonly roster: readonly Member[];
  readonly workspace: string;
  /** Of the workspace; null = the lead. */
  readonly owner: string | null;
  /** Micro-credits. */
  readonly limit: bigint;
  readonly createdBy: string;
  readonly operator: boolean;
  /** Of the call that began it; null = it had no key. */
  readonly openKey: string | null;
}

export interface CrewRow extends NewCrew {
  readonly phase: Phase;
  readonly step: AssemblyStep;
  /** Number of its newest task. */
  readonly taskCount: number;
  readonly done: number;
  readonly refused: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

type FlatCrew = Omit<CrewRow, 'limit'> & { readonly limit: string };

const CREW_COLUMNS = `crew_id AS "crewId", name, universe, seed, roster, workspace, owner, limit_micros::text AS "limit",
  created_by AS "createdBy", operator, open_key AS "openKey", phase, step, task_count AS "taskCount", done, refused,
  ${epochMs('created_at')} AS "createdAt"`;

function rowOf(flat: FlatCrew | undefined): CrewRow | null {
  return flat === undefined ? null : { ...flat, limit: BigInt(flat.limit) };
}

/** False = the name is taken, in whatever case. */
export async function insertCrew(tx: SqlClient, crew: NewCrew): Promise<boolean> {
  const { crewId, name, universe, seed, roster, workspace, owner, limit, createdBy, operator, openKey } = crew;
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO universe.crews (crew_id, name, folded, universe, seed, roster, workspace, owner, limit_micros, created_by,
       operator, open_key, phase, step, task_count, done, refused, created_at, tried_at)
     SELECT $1, $2, lower($2), $3, $4, $5::json, $6, $7, $8::bigint, $9, $10, $11, 'assembling', 'spawn', 0, 0, 0, at, at
     FROM (SELECT clock_timestamp() AS at) moment ON CONFLICT DO NOTHING`,
    crewId,
    name,
    universe,
    seed,
    JSON.stringify(roster),
    workspace,
    owner,
    String(limit),
    createdBy,
    operator,
    openKey,
  );
  return inserted === 1;
}

export async function readCrew(client: SqlClient, name: string): Promise<CrewRow | null> {
  const [row] = await client.$queryRawUnsafe<FlatCrew[]>(
    `SELECT ${CREW_COLUMNS} FROM universe.crews WHERE name = $1`,
    name,
  );
  return rowOf(row);
}

/** Whatever case it is written in. */
export async function readCrewNamed(client: SqlClient, name: string): Promise<CrewRow | null> {
  const [row] = await client.$queryRawUnsafe<FlatCrew[]>(
    `SELECT ${CREW_COLUMNS} FROM universe.crews WHERE folded = lower($1)`,
    name,
  );
  return rowOf(row);
}

export async function readCrewById(
  client: SqlClient,
  crewId: string,
  lock: '' | 'FOR UPDATE' = '',
): Promise<CrewRow | null> {
  const [row] = await client.$queryRawUnsafe<FlatCrew[]>(
    `SELECT ${CREW_COLUMNS} FROM universe.crews WHERE crew_id = $1 ${lock}`,
    crewId,
  );
  return rowOf(row);
}

/** False = it is not at that step any more. */
export async function moveAssembly(
  client: SqlClient,
  crewId: string,
  { from, to }: { readonly from: AssemblyStep; readonly to: AssemblyStep },
): Promise<boolean> {
  const moved = await client.$executeRawUnsafe(
    'UPDATE universe.crews SET step = $3, tried_at = clock_timestamp() WHERE crew_id = $1 AND step = $2',
    crewId,
    from,
    to,
  );
  return moved === 1;
}

/** Of which nothing was made. False = it is not at its first step any more. */
export async function deleteUnmade(client: SqlClient, crewId: string): Promise<boolean> {
  const deleted = await client.$executeRawUnsafe(
    `DELETE FROM universe.crews WHERE crew_id = $1 AND step = 'spawn'`,
    crewId,
  );
  return deleted === 1;
}

export async function deleteUndone(client: SqlClient, crewId: string): Promise<void> {
  await client.$executeRawUnsafe(`DELETE FROM universe.crews WHERE crew_id = $1 AND step = 'undo'`, crewId);
}

export interface CrewChange {
  readonly phase: Phase;
  readonly taskCount?: number;
  /** More of them than before. */
  readonly done?: number;
  readonly refused?: number;
}

/** The row is locked. */
export async function updateCrew(
  tx: SqlClient,
  crewId: string,
  { phase, taskCount, done = 0, refused = 0 }: CrewChange,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE universe.crews SET phase = $2, task_count = coalesce($3, task_count), done = done + $4, refused = refused + $5
     WHERE crew_id = $1`,
    crewId,
    phase,
    taskCount ?? null,
    done,
    refused,
  );
}

/** Of what was tried before, in ms by the clock of the database. */
export interface Unassembled {
  readonly crewId: string;
  readonly step: AssemblyStep;
  readonly ageMs: number;
}

const AT_ONCE = 100;

const RESTED = "$1::float8 * interval '1 millisecond'";

/** Those that nobody has gone on with for so long. */
export function readUnassembled(client: SqlClient, restedMs: number): Promise<Unassembled[]> {
  return client.$queryRawUnsafe<Unassembled[]>(
    `SELECT crew_id AS "crewId", step, ${epochMs('clock_timestamp()')} - ${epochMs('created_at')} AS "ageMs"
     FROM universe.crews WHERE phase = 'assembling' AND ${hasRested('tried_at', RESTED)}
     ORDER BY tried_at LIMIT ${AT_ONCE}`,
    restedMs,
  );
}
