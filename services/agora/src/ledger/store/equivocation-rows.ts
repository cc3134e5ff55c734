/** Rows of proofs against voters, and of what this node signed for its own. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Ballot } from '../domain/ledger.ts';
import { type Evidence, type SignedBallot, voterKey } from '../domain/merge.ts';

/**
 * Of these voters those that voted there under that node, or may, and of whom no proof is kept yet. Anybody can prove things
 * of voters that it invents, so nothing else is worth verifying: there is at most one proof for each ballot, and one for each
 * node that votes here.
 */
export async function readAccusable(
  tx: SqlClient,
  topic: string,
  voters: readonly Pick<Ballot, 'voter' | 'node'>[],
): Promise<ReadonlySet<string>> {
  if (voters.length === 0) return new Set();
  const rows = await tx.$queryRawUnsafe<{ voter: string; node: string }[]>(
    `SELECT voter, node FROM unnest($2::text[], $3::text[]) AS told(voter, node)
     WHERE NOT EXISTS (
       SELECT 1 FROM agora.equivocations q WHERE q.topic = $1 AND q.voter = told.voter AND q.node = told.node
     ) AND (
       EXISTS (SELECT 1 FROM agora.ballot_entries e WHERE e.topic = $1 AND e.voter = told.voter AND e.node = told.node)
       OR EXISTS (SELECT 1 FROM agora.node_principal p WHERE p.agent_id = told.voter AND p.node = told.node)
     )`,
    topic,
    voters.map(({ voter }) => voter),
    voters.map(({ node }) => node),
  );
  return new Set(rows.map(voterKey));
}

/** Keeps one for each voter and node, and returns against whom it was new. */
export async function insertEquivocations(tx: SqlClient, topic: string, pairs: readonly Evidence[]): Promise<Liar[]> {
  if (pairs.length === 0) return [];
  return tx.$queryRawUnsafe<Liar[]>(
    `WITH kept AS (
       INSERT INTO agora.equivocations (topic, voter, node, pair, at)
       SELECT $1, voter, node, pair, clock_timestamp()
       FROM unnest($2::text[], $3::text[], $4::text[]) AS told(voter, node, pair)
       ON CONFLICT DO NOTHING RETURNING voter, node
     )
     SELECT voter, EXISTS (
       SELECT 1 FROM agora.ballot_entries e WHERE e.topic = $1 AND e.voter = kept.voter AND e.node = kept.node
     ) AS "hasVoted" FROM kept ORDER BY voter`,
    topic,
    pairs.map(([{ ballot }]) => ballot.voter),
    pairs.map(([{ ballot }]) => ballot.node),
    pairs.map((pair) => JSON.stringify(pair)),
  );
}

interface Liar {
  readonly voter: string;
  /** Under the node that the proof is of. */
  readonly hasVoted: boolean;
}

/** By voter. */
export async function readEquivocations(tx: SqlClient, topic: string): Promise<Evidence[]> {
  const rows = await tx.$queryRawUnsafe<{ pair: string }[]>(
    'SELECT pair FROM agora.equivocations WHERE topic = $1 ORDER BY voter, node',
    topic,
  );
  return rows.map(({ pair }) => JSON.parse(pair) as Evidence);
}

/** Those against the voters of these entries, and the newest of all others, so many of them. */
export async function readProofsOf(
  tx: SqlClient,
  topic: string,
  { after, last, others }: { readonly after: number; readonly last: number; readonly others: number },
): Promise<Evidence[]> {
  const rows = await tx.$queryRawUnsafe<{ pair: string }[]>(
    `WITH told AS (
       SELECT q.pair, q.at, EXISTS (
         SELECT 1 FROM agora.ballot_entries e
         WHERE e.topic = q.topic AND e.voter = q.voter AND e.node = q.node AND e.seq > $2::int AND e.seq <= $3::int
       ) AS here FROM agora.equivocations q WHERE q.topic = $1
     ) SELECT pair FROM told WHERE here
     UNION ALL (SELECT pair FROM told WHERE NOT here ORDER BY at DESC LIMIT $4::int)`,
    topic,
    after,
    last,
    others,
  );
  return rows.map(({ pair }) => JSON.parse(pair) as Evidence);
}

/** One outcome for each voter and header, for good: the ballot that was signed first. */
export async function keepSigned(tx: SqlClient, owner: string, { ballot, sig }: SignedBallot): Promise<SignedBallot> {
  await tx.$executeRawUnsafe(
    `INSERT INTO agora.signed_ballots (header, voter, owner, topic, ballot, sig, at)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp()) ON CONFLICT DO NOTHING`,
    ballot.header,
    ballot.voter,
    owner,
    ballot.topic,
    JSON.stringify(ballot),
    sig,
  );
  const [row] = await tx.$queryRawUnsafe<{ ballot: string; sig: string }[]>(
    'SELECT ballot, sig FROM agora.signed_ballots WHERE header = $1 AND voter = $2',
    ballot.header,
    ballot.voter,
  );
  if (row === undefined) throw new Error('a signed ballot is missing');
  return { ballot: JSON.parse(row.ballot) as SignedBallot['ballot'], sig: row.sig };
}
