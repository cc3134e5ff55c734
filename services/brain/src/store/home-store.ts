/** Where brains belong, and which of them are on their way to another name or to the deleted ones. */
import { CallError } from '@svc/contract/codes.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { SqlClient } from '@svc/runtime/database.ts';

export interface Home {
  /** The brain's own for as long as it lives, whatever it is called. */
  readonly id: string;
  readonly workspace: string;
}

/** Held to the end of the transaction: names are given, changed and taken away one after the other. */
export async function lockNames(transaction: SqlClient): Promise<void> {
  await transaction.$executeRawUnsafe('LOCK TABLE brain.brain_homes IN SHARE ROW EXCLUSIVE MODE');
}

interface NewHome extends Home {
  /** Under which its maker counts; null = an operator or the service made it. */
  readonly family: string | null;
}

/** Of a brain that was made just now; what another one of that name left behind is gone. */
export async function writeHome(transaction: SqlClient, brain: string, home: NewHome): Promise<void> {
  const { id, workspace, family } = home;
  await transaction.$executeRawUnsafe(
    `INSERT INTO brain.brain_homes (brain, id, workspace, family, at) VALUES ($1, $2, $3, $4, clock_timestamp())
     ON CONFLICT (brain) DO UPDATE
       SET id = excluded.id, workspace = excluded.workspace, family = excluded.family, at = excluded.at`,
    brain,
    id,
    workspace,
    family,
  );
}

/** How many brains are at home there, and how many the family has made anywhere. */
export async function countHomes(
  transaction: SqlClient,
  workspace: string,
  family: string,
): Promise<{ readonly here: number; readonly made: number }> {
  const [row] = await transaction.$queryRawUnsafe<{ here: number; made: number }[]>(
    `SELECT count(*) FILTER (WHERE workspace = $1)::int AS here, count(*) FILTER (WHERE family = $2)::int AS made
     FROM brain.brain_homes WHERE workspace = $1 OR family = $2`,
    workspace,
    family,
  );
  return row ?? { here: 0, made: 0 };
}

/**
 * A brain that nobody is known to have made is at home where the one that was deleted last under its name was, because
 * an operator brought that one back; else in the default workspace.
 */
export async function openHome(client: SqlClient, brain: string, id: string): Promise<Home> {
  await client.$executeRawUnsafe(
    `INSERT INTO brain.brain_homes (brain, id, workspace, at)
     SELECT $1, coalesce(d.id, $2), coalesce(d.workspace, $3), clock_timestamp() FROM (SELECT 1) one
     LEFT JOIN (SELECT id, workspace FROM brain.brain_deleted WHERE brain = $1 ORDER BY at DESC LIMIT 1) d ON true
     ON CONFLICT DO NOTHING`,
    brain,
    id,
    DEFAULT_WORKSPACE,
  );
  const home = await readHome(client, brain);
  if (home === null) throw new Error(`brain ${brain} has no home`);
  return home;
}

export async function readHome(client: SqlClient, brain: string): Promise<Home | null> {
  const rows = await client.$queryRawUnsafe<Home[]>(
    'SELECT id, workspace FROM brain.brain_homes WHERE brain = $1',
    brain,
  );
  return rows[0] ?? null;
}

/** A brain as a call found it. */
export interface FoundBrain {
  readonly brain: string;
  /** Its own for as long as it lives. */
  readonly brainId: string;
}

/**
 * Until the end of the transaction the brain is neither deleted nor renamed, so no row is left behind by one that goes.
 * Throws BRAIN_LOAD_FAIL when it went since it was found.
 */
export async function holdBrain(transaction: SqlClient, { brain, brainId }: FoundBrain): Promise<void> {
  const rows = await transaction.$queryRawUnsafe<unknown[]>(
    'SELECT 1 FROM brain.brain_homes WHERE brain = $1 AND id = $2 FOR KEY SHARE',
    brain,
    brainId,
  );
  if (rows.length === 0) throw new CallError('BRAIN_LOAD_FAIL');
}

/** A brain that was deleted and is kept. */
interface DeletedBrain extends Home {
  readonly folder: string;
  readonly brain: string;
}

export async function readDeleted(client: SqlClient): Promise<DeletedBrain[]> {
  return client.$queryRawUnsafe<DeletedBrain[]>(
    'SELECT folder, brain, id, workspace FROM brain.brain_deleted ORDER BY at DESC',
  );
}

export async function noteDeleted(
  transaction: SqlClient,
  deleted: DeletedBrain & { readonly by: string },
): Promise<void> {
  await transaction.$executeRawUnsafe(
    `INSERT INTO brain.brain_deleted (folder, brain, id, workspace, by, at) VALUES ($1, $2, $3, $4, $5, clock_timestamp())`,
    deleted.folder,
    deleted.brain,
    deleted.id,
    deleted.workspace,
    deleted.by,
  );
}

/** Tables whose rows lie under the own id of a brain: they stay with one that is deleted, as long as that is kept. */
export const NOTES = [
  'brain_objects',
  'brain_geo_keys',
  'brain_places',
  'brain_resolutions',
  'brain_citations',
  'brain_links',
  'brain_attention',
  'evolution_sessions',
  'evolution_events',
  'brain_vectors',
] as const;

/** Of folders that an operator took away. What was noted about a brain goes too, unless it was brought back. */
export async function forgetDeleted(client: SqlClient, folders: readonly string[]): Promise<void> {
  if (folders.length === 0) return;
  const notes = NOTES.map(
    (table) => `, ${table} AS (DELETE FROM brain.${table} WHERE brain_id IN (SELECT id FROM gone))`,
  );
  await client.$queryRawUnsafe(
    `WITH forgotten AS (DELETE FROM brain.brain_deleted WHERE folder = ANY($1::text[]) RETURNING id),
       gone AS (SELECT id FROM forgotten EXCEPT SELECT id FROM brain.brain_homes),
       synapses AS (DELETE FROM brain.brain_synapses WHERE from_id IN (SELECT id FROM gone) OR to_id IN (SELECT id FROM gone)),
       usage AS (DELETE FROM brain.brain_usage WHERE scope IN (SELECT id FROM gone)) ${notes.join('')}
     SELECT 1`,
    folders,
  );
}

/** Decided, and to be carried out on disk: to another name, or to the deleted ones. */
export interface BrainMove {
  readonly brain: string;
  readonly to: string | null;
  readonly folder: string | null;
  /** What takes the place of a brain that goes to the deleted ones, below `backups`; null = nothing. */
  readonly staged: string | null;
  readonly by: string;
}

const MOVE = 'SELECT brain, "to", folder, staged, by FROM brain.brain_moves';

export async function readMoves(client: SqlClient): Promise<BrainMove[]> {
  return client.$queryRawUnsafe<BrainMove[]>(`${MOVE} ORDER BY at`);
}

/** Brains that are there as far as the database says, though their folders may still be on the way. */
export async function readArriving(client: SqlClient): Promise<string[]> {
  const rows = await client.$queryRawUnsafe<{ name: string }[]>(
    `SELECT coalesce("to", brain) AS name FROM brain.brain_moves WHERE "to" IS NOT NULL OR staged IS NOT NULL`,
  );
  return rows.map(({ name }) => name);
}

/** From or to that name, locked for whoever carries it out. */
export async function lockMove(transaction: SqlClient, brain: string): Promise<BrainMove | null> {
  const rows = await transaction.$queryRawUnsafe<BrainMove[]>(
    `${MOVE} WHERE brain = $1 OR "to" = $1 FOR UPDATE`,
    brain,
  );
  return rows[0] ?? null;
}

export async function isMoving(client: SqlClient, brain: string): Promise<boolean> {
  const rows = await client.$queryRawUnsafe<unknown[]>(`${MOVE} WHERE brain = $1 OR "to" = $1`, brain);
  return rows.length > 0;
}

export async function writeMove(transaction: SqlClient, { brain, to, folder, staged, by }: BrainMove): Promise<void> {
  await transaction.$executeRawUnsafe(
    `INSERT INTO brain.brain_moves (brain, "to", folder, staged, by, at) VALUES ($1, $2, $3, $4, $5, clock_timestamp())`,
    brain,
    to,
    folder,
    staged,
    by,
  );
}

export async function endMove(transaction: SqlClient, brain: string): Promise<void> {
  await transaction.$executeRawUnsafe('DELETE FROM brain.brain_moves WHERE brain = $1', brain);
}

/** Tables whose rows are those of one brain. A remote is kept while its brain has a home, so it goes behind that. */
const TABLES = [
  'brain_files',
  'brain_leases',
  'brain_conflicts',
  'brain_sync',
  'brain_owners',
  'brain_homes',
  'brain_remotes',
] as const;

/** Everything that is known of the brain besides its files. */
export async function dropRows(transaction: SqlClient, brain: string): Promise<void> {
  for (const table of TABLES) await transaction.$executeRawUnsafe(`DELETE FROM brain.${table} WHERE brain = $1`, brain);
}

/** The rows go on under another name; what lies there is left over from a brain that is gone. */
export async function renameRows(transaction: SqlClient, brain: string, to: string): Promise<void> {
  await dropRows(transaction, to);
  for (const table of TABLES)
    await transaction.$executeRawUnsafe(`UPDATE brain.${table} SET brain = $2 WHERE brain = $1`, brain, to);
  await transaction.$executeRawUnsafe('UPDATE brain.brain_owners SET process = NULL WHERE brain = $1', to);
}

/**
 * Another brain takes the name, under an id of its own; what was noted about the old one stays with it. The lease and its
 * fence go on: who holds one holds it at the new brain. So do the paths between brains, which are habits of workspaces.
 */
export async function replaceRows(transaction: SqlClient, brain: string, id: string): Promise<void> {
  for (const table of ['brain_files', 'brain_conflicts', 'brain_sync'])
    await transaction.$executeRawUnsafe(`DELETE FROM brain.${table} WHERE brain = $1`, brain);
  for (const end of ['from_id', 'to_id'])
    await transaction.$executeRawUnsafe(
      `UPDATE brain.brain_synapses SET ${end} = $2
       WHERE ${end} = (SELECT id FROM brain.brain_homes WHERE brain = $1)`,
      brain,
      id,
    );
  await transaction.$executeRawUnsafe(
    'UPDATE brain.brain_homes SET id = $2, at = clock_timestamp() WHERE brain = $1',
    brain,
    id,
  );
}
