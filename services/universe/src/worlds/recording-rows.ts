/** Rows of manifests on their way into a brain. */
import type { Bearer } from '@svc/contract/operations.brain-files.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Waiting } from '@svc/runtime/runs-through.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';

export interface RecordingRow {
  readonly recordingId: string;
  readonly manifestId: string;
  readonly world: string;
  readonly actor: string;
  readonly bearer: Bearer;
  readonly brain: string;
  readonly branch: string;
  readonly content: string;
  readonly stateRoot: string;
  /** Null = it is not known yet. */
  readonly added: boolean | null;
  readonly argsHash: string | null;
  /** By the clock of the database. */
  readonly ageMs: number;
}

type NewRecording = Omit<RecordingRow, 'added' | 'ageMs'> & { readonly openKey: string | null };

const COLUMNS = `recording_id AS "recordingId", manifest_id AS "manifestId", world, actor, bearer, brain, branch, content,
  state_root AS "stateRoot", added, args_hash AS "argsHash",
  ${epochMs('clock_timestamp()')} - ${epochMs('started_at')} AS "ageMs"`;
/** As long as the outcome of a keyed call. */
const KEPT = `interval '24 hours'`;

async function readOne(client: SqlClient, rest: string, value: string): Promise<RecordingRow | null> {
  const [row = null] = await client.$queryRawUnsafe<RecordingRow[]>(
    `SELECT ${COLUMNS} FROM universe.recordings WHERE ${rest}`,
    value,
  );
  return row;
}

export function readRecording(client: SqlClient, recordingId: string): Promise<RecordingRow | null> {
  return readOne(client, 'recording_id = $1', recordingId);
}

export function readBegunRecording(client: SqlClient, openKey: string): Promise<RecordingRow | null> {
  return readOne(client, `open_key = $1 AND started_at >= now() - ${KEPT}`, openKey);
}

/** False = there is one under that key. */
export async function insertRecording(tx: SqlClient, recording: NewRecording): Promise<boolean> {
  const { recordingId, manifestId, world, actor, bearer, brain, branch, content } = recording;
  const { stateRoot, openKey, argsHash } = recording;
  if (openKey !== null) {
    await tx.$executeRawUnsafe(
      `UPDATE universe.recordings SET open_key = NULL WHERE open_key = $1 AND started_at < now() - ${KEPT}`,
      openKey,
    );
  }
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO universe.recordings (recording_id, manifest_id, world, actor, bearer, brain, branch, content, state_root,
       open_key, args_hash, started_at)
     VALUES ($1, $2, $3, $4, $5::json, $6, $7, $8, $9, $10, $11, clock_timestamp()) ON CONFLICT DO NOTHING`,
    recordingId,
    manifestId,
    world,
    actor,
    JSON.stringify(bearer),
    brain,
    branch,
    content,
    stateRoot,
    openKey,
    argsHash,
  );
  return inserted === 1;
}

/** False = it was before. One without a key is asked for by nobody again. */
export async function markRecorded(tx: SqlClient, recordingId: string, added: boolean): Promise<boolean> {
  const marked = await tx.$executeRawUnsafe(
    'UPDATE universe.recordings SET added = $2 WHERE recording_id = $1 AND added IS NULL',
    recordingId,
    added,
  );
  await tx.$executeRawUnsafe(
    'DELETE FROM universe.recordings WHERE recording_id = $1 AND open_key IS NULL',
    recordingId,
  );
  return marked === 1;
}

export async function deleteRecording(client: SqlClient, recordingId: string): Promise<void> {
  await client.$executeRawUnsafe(
    'DELETE FROM universe.recordings WHERE recording_id = $1 AND added IS NULL',
    recordingId,
  );
}

/** Those that nobody is about to finish, the oldest first, behind `after`. */
export async function readOpenRecordings(
  client: SqlClient,
  olderThanMs: number,
  after: Waiting | null,
  limit: number,
): Promise<Waiting[]> {
  return client.$queryRawUnsafe<Waiting[]>(
    `SELECT recording_id AS id, started_at::text AS at FROM universe.recordings
     WHERE added IS NULL AND started_at < clock_timestamp() - $1::float8 * interval '1 ms'
       AND (started_at, recording_id) > ($2::timestamptz, $3)
     ORDER BY started_at, recording_id LIMIT $4::int`,
    olderThanMs,
    after?.at ?? '-infinity',
    after?.id ?? '',
    limit,
  );
}

export async function sweepRecordings(client: SqlClient): Promise<void> {
  await client.$executeRawUnsafe(
    `DELETE FROM universe.recordings WHERE added IS NOT NULL AND started_at < now() - ${KEPT}`,
  );
}
