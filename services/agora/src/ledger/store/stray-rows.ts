/** Rows of ballots that this node signed for elsewhere, and of those that came here although another node decides. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { ballotHash } from '../domain/ledger.ts';
import type { SignedBallot } from '../domain/merge.ts';

/** What this node signed already on that topic for that voter. */
export async function readSigned(
  client: SqlClient,
  owner: string,
  topic: string,
  voter: string,
): Promise<SignedBallot | null> {
  const [row] = await client.$queryRawUnsafe<{ ballot: string; sig: string }[]>(
    'SELECT ballot, sig FROM agora.signed_ballots WHERE owner = $1 AND topic = $2 AND voter = $3 ORDER BY at DESC LIMIT 1',
    owner,
    topic,
    voter,
  );
  return row === undefined ? null : { ballot: JSON.parse(row.ballot) as SignedBallot['ballot'], sig: row.sig };
}

export const signatureKey = (hash: string, sig: string): string => `${hash} ${sig}`;

/** Of ballots of these voters that this node signed and keeps: as entries of its own topic, or because it sent them to another. */
export async function readOwnSignatures(
  tx: SqlClient,
  { header, headerHash }: { readonly header: { readonly topic: string }; readonly headerHash: string },
  self: string,
  voters: readonly string[],
): Promise<ReadonlySet<string>> {
  const signed = await tx.$queryRawUnsafe<{ ballot: string; sig: string }[]>(
    'SELECT ballot, sig FROM agora.signed_ballots WHERE header = $1 AND voter = ANY($2::text[])',
    headerHash,
    voters,
  );
  const admitted = await tx.$queryRawUnsafe<{ hash: string; sig: string }[]>(
    `SELECT hash, sig FROM agora.ballot_entries
     WHERE topic = $1 AND voter = ANY($2::text[]) AND node = $3 AND sig IS NOT NULL`,
    header.topic,
    voters,
    self,
  );
  return new Set([
    ...signed.map(({ ballot, sig }) => signatureKey(ballotHash(JSON.parse(ballot) as SignedBallot['ballot']), sig)),
    ...admitted.map(({ hash, sig }) => signatureKey(hash, sig)),
  ]);
}

/** A ballot that came to a node which does not decide there: the first of a voter, in case it signed another one elsewhere. */
export async function keepStray(tx: SqlClient, { ballot, sig }: SignedBallot): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO agora.stray_ballots (topic, voter, ballot, sig, at) VALUES ($1, $2, $3, $4, clock_timestamp())
      ON CONFLICT DO NOTHING`,
    ballot.topic,
    ballot.voter,
    JSON.stringify(ballot),
    sig,
  );
}

export async function strayBallots(tx: SqlClient, topic: string): Promise<SignedBallot[]> {
  const rows = await tx.$queryRawUnsafe<{ ballot: string; sig: string }[]>(
    'SELECT ballot, sig FROM agora.stray_ballots WHERE topic = $1',
    topic,
  );
  return rows.map(({ ballot, sig }) => ({ ballot: JSON.parse(ballot) as SignedBallot['ballot'], sig }));
}
