/** Copies of topics of other nodes: under whom they are counted, and how long they are kept. */
import type { SqlClient } from '@svc/runtime/database.ts';

/** Under whom a copy is counted: the node that sent it here, or the family of who fetched it. */
type BroughtBy = { readonly node: string } | { readonly family: string };

export async function countBrought(client: SqlClient, by: BroughtBy): Promise<number> {
  const of = 'node' in by ? by.node : by.family;
  const [row] = await client.$queryRawUnsafe<{ topics: number }[]>(
    `SELECT count(*)::int AS topics FROM agora.topics
     WHERE replica AND ${'node' in by ? 'brought_by' : 'brought_by IS NULL AND family'} = $1`,
    of,
  );
  return row?.topics ?? 0;
}

export async function countReplicas(client: SqlClient): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ topics: number }[]>(
    'SELECT count(*)::int AS topics FROM agora.topics WHERE replica',
  );
  return row?.topics ?? 0;
}

/** Days since a copy was synced: of one that is decided or past its time, and of any other. */
const KEPT_DAYS = { over: 30, open: 120 } as const;
const AT_ONCE = 100;

/** Their owner has them; whoever wants one again fetches it. Returns how many went. */
export async function sweepReplicas(client: SqlClient): Promise<number> {
  const since = (days: number): string => `now() - interval '${days} days'`;
  const [row] = await client.$queryRawUnsafe<{ gone: number }[]>(
    `WITH gone AS (
       DELETE FROM agora.topics WHERE topic IN (
         SELECT topic FROM agora.topics WHERE replica AND (synced_at < ${since(KEPT_DAYS.open)}
           OR (synced_at < ${since(KEPT_DAYS.over)} AND (status <> 'open' OR deadline < now())))
         LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
       ) RETURNING topic
     ), entries AS (DELETE FROM agora.ballot_entries USING gone WHERE ballot_entries.topic = gone.topic),
     proofs AS (DELETE FROM agora.equivocations USING gone WHERE equivocations.topic = gone.topic),
     strays AS (DELETE FROM agora.stray_ballots USING gone WHERE stray_ballots.topic = gone.topic)
     SELECT count(*)::int AS gone FROM gone`,
  );
  return row?.gone ?? 0;
}
