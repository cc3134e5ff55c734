/** The vectors of passages as they are stored: a cache, which may be emptied at any time. */
import type { SqlClient } from '@svc/runtime/database.ts';

/** Of which brain, by its own id, and of which model. */
export interface VectorSpace {
  readonly brainId: string;
  readonly space: string;
}

export interface StoredVector {
  readonly passage: string;
  /** Empty = the model does not take the passage. */
  readonly vector: Int8Array;
}

/** Passages of one statement. */
const CHUNK = 5000;

export async function readVectors(
  client: SqlClient,
  { brainId, space }: VectorSpace,
  passages: readonly string[],
): Promise<Map<string, Int8Array>> {
  const rows = await client.$queryRawUnsafe<{ passage: string; vector: Uint8Array }[]>(
    'SELECT passage, vector FROM brain.brain_vectors WHERE brain_id = $1 AND space = $2 AND passage = ANY($3::text[])',
    brainId,
    space,
    passages,
  );
  return new Map(rows.map(({ passage, vector }) => [passage, new Int8Array(vector)]));
}

export async function writeVectors(
  client: SqlClient,
  { brainId, space }: VectorSpace,
  vectors: readonly StoredVector[],
): Promise<void> {
  await client.$executeRawUnsafe(
    `INSERT INTO brain.brain_vectors (brain_id, space, passage, vector)
     SELECT $1, $2, v.passage, decode(v.vector, 'hex')
     FROM unnest($3::text[], $4::text[]) AS v(passage, vector)
     ON CONFLICT (brain_id, space, passage) DO UPDATE SET vector = excluded.vector`,
    brainId,
    space,
    vectors.map(({ passage }) => passage),
    vectors.map(({ vector }) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('hex')),
  );
}

/** By passage, how many numbers its vector has. */
export async function readPassages(client: SqlClient, { brainId, space }: VectorSpace): Promise<Map<string, number>> {
  const rows = await client.$queryRawUnsafe<{ passage: string; length: number }[]>(
    'SELECT passage, length(vector) AS length FROM brain.brain_vectors WHERE brain_id = $1 AND space = $2',
    brainId,
    space,
  );
  return new Map(rows.map(({ passage, length }) => [passage, length]));
}

export async function deletePassages(
  client: SqlClient,
  { brainId, space }: VectorSpace,
  passages: readonly string[],
): Promise<void> {
  for (let from = 0; from < passages.length; from += CHUNK)
    await client.$executeRawUnsafe(
      'DELETE FROM brain.brain_vectors WHERE brain_id = $1 AND space = $2 AND passage = ANY($3::text[])',
      brainId,
      space,
      passages.slice(from, from + CHUNK),
    );
}

/** Those of all other models; null = of every one. */
export async function deleteOtherSpaces(client: SqlClient, brainId: string, space: string | null): Promise<void> {
  await client.$executeRawUnsafe(
    'DELETE FROM brain.brain_vectors WHERE brain_id = $1 AND space IS DISTINCT FROM $2',
    brainId,
    space,
  );
}
