/** Rows of proofs against voters, and of what this node signed for its own. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Evidence, SignedBallot } from '../domain/merge.ts';

/** False = it was known. */
export async function insertEquivocation(
  tx: SqlClient,
  topic: string,
  voter: string,
  pair: Evidence,
): Promise<boolean> {
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO agora.equivocations (topic, voter, pair, at) VALUES ($1, $2, $3, clock_timestamp()) ON CONFLICT DO NOTHING`,
    topic,
    voter,
    JSON.stringify(pair),
  );
  return inserted === 1;
}

/** By voter. */
export async function readEquivocations(tx: SqlClient, topic: string): Promise<Evidence[]> {
  const rows = await tx.$queryRawUnsafe<{ pair: string }[]>(
    'SELECT pair FROM agora.equivocations WHERE topic = $1 ORDER BY voter',
    topic,
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
