/** The rows of citations. */
import { hash } from 'node:crypto';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Position } from '@svc/runtime/paging.ts';
import type { Citation, CitedWish } from './domain/citation.ts';

const COLUMNS = `id, commit, context, verified, by, (extract(epoch from at) * 1000)::double precision AS at`;

export type NewCitation = Omit<Citation, 'at'>;

/** False when the same is there. */
export async function insertCitation(tx: SqlClient, brainId: string, citation: NewCitation): Promise<boolean> {
  const { id, commit, verified, context, by } = citation;
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO brain.brain_citations (brain_id, id, commit, verified, context, context_hash, by, at)
     VALUES ($1, $2, $3, $4::boolean, $5, $6, $7, clock_timestamp()) ON CONFLICT DO NOTHING`,
    brainId,
    id,
    commit,
    verified,
    context,
    hash('sha256', context, 'hex'),
    by,
  );
  return inserted === 1;
}

/** Newest first; one more than the limit when there are more. */
export async function readCitations(
  client: SqlClient,
  brainId: string,
  { limit, after }: Position,
): Promise<Citation[]> {
  const rows = await client.$queryRawUnsafe<Citation[]>(
    `SELECT ${COLUMNS} FROM brain.brain_citations WHERE brain_id = $1 AND ($2::text IS NULL OR id < $2)
     ORDER BY id DESC LIMIT $3::int`,
    brainId,
    after,
    limit + 1,
  );
  return rows.map(rounded);
}

/** The last citation of each commit that is meant, of so many of them as it takes to see that they are several. */
export async function readLatest(client: SqlClient, brainId: string, wish: CitedWish): Promise<Citation[]> {
  const rows = await client.$queryRawUnsafe<Citation[]>(
    `SELECT DISTINCT ON (commit = $4 AND NOT verified, commit, verified) ${COLUMNS} FROM brain.brain_citations
     WHERE brain_id = $1 AND CASE WHEN verified THEN commit = ANY($2::text[]) OR starts_with(commit, $3)
       ELSE starts_with(commit, $4) END
     ORDER BY commit = $4 AND NOT verified DESC, commit, verified, id DESC LIMIT 2`,
    brainId,
    wish.ids,
    wish.idPrefix,
    wish.text,
  );
  return rows.map(rounded);
}

function rounded(row: Citation): Citation {
  return { ...row, at: Math.round(row.at) };
}
