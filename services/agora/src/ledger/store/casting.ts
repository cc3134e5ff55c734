/** What changes a topic of this node: ballots, evidence against voters, and time. Each runs inside a transaction of its caller. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { NodeSigner } from '../../federation/domain/keyring.ts';
import { LOCAL } from '../../federation/domain/settings.ts';
import { type BallotRefusal, decideBallot, type Voter } from '../domain/ballot-gates.ts';
import { type Ballot, ballotHash, type Entry, type Status } from '../domain/ledger.ts';
import type { Evidence, SignedBallot } from '../domain/merge.ts';
import {
  type Closing,
  closingByBallot,
  closingByTime,
  decisionOf,
  emptySums,
  plus,
  type Sums,
} from '../domain/tally.ts';
import { insertEquivocations } from './equivocation-rows.ts';
import { type AgoraUnit, told } from './events.ts';
import type { LedgerHashes } from './ledger-hash.ts';
import { insertEntries, lockTopic, readEntries, readEntryOf, type TopicRow, updateTopic } from './topic-rows.ts';

export interface Casting {
  readonly signer: NodeSigner;
  readonly hashes: LedgerHashes;
}

export type CastRefusal = BallotRefusal | 'E_NOT_OWNER';

/** What the registry says of a voter, as of the call. `weight` in thousandths. */
export interface VoterFacts extends Omit<Voter, 'previous'> {
  readonly weight: number;
}

export interface CastWish {
  readonly topic: string;
  readonly voter: string;
  readonly outcome: string;
  /** As the node of the voter signed it; null = the voter is of this node. */
  readonly signed: SignedBallot | null;
}

/** The topic with the ballot in it. */
export async function castIn(
  { tx, emit }: AgoraUnit,
  casting: Casting,
  { topic, voter, outcome, signed }: CastWish,
  { weight, ...facts }: VoterFacts,
): Promise<Decision<TopicRow, CastRefusal>> {
  const row = await lockTopic(tx, topic);
  if (row === null) return deny('E_TOPIC_ABSENT');
  const { header, headerHash, entries, now } = row;
  const own = { header: headerHash, topic, voter, node: casting.signer.name, outcome, votedAt: now };
  const ballot = signed?.ballot ?? own;
  const polling = { header, status: statusNow(casting, row), entries, now, votedAt: ballot.votedAt };
  const before = await readEntryOf(tx, row, voter);
  const previous = before?.entry.ballot.outcome ?? null;
  const decision = decideBallot(polling, { ...facts, previous }, outcome);
  if (!decidesHere(casting, row) && facts.isMember) return deny('E_NOT_OWNER', { owner: header.owner });
  if (!decision.ok) return decision;
  const sig = signed?.sig ?? casting.signer.sign('svc-agora-ballot', ballot);
  return admit({ tx, emit }, casting, row, { ballot, sig, weight });
}

/**
 * A deployment that was started under another name, or without one, signs nothing that others would believe: its topics wait
 * until it has its name again.
 */
function decidesHere({ signer }: Casting, { replica, header: { owner } }: TopicRow): boolean {
  return !replica && (owner === LOCAL || owner === signer.name);
}

interface Admission {
  readonly ballot: Ballot;
  readonly sig: string | null;
  readonly weight: number;
}

export async function admit(
  { tx, emit }: Pick<AgoraUnit, 'tx' | 'emit'>,
  casting: Casting,
  row: TopicRow,
  { ballot, sig, weight }: Admission,
): Promise<Decision<TopicRow, never>> {
  const { header, now } = row;
  const { topic, voter, outcome } = ballot;
  const entry: Entry = {
    seq: row.entries + 1,
    ballot,
    ballotSig: sig,
    weight,
    admittedAt: now,
  };
  const entrySig = casting.signer.sign('svc-agora-entry', entry);
  const inserted = await insertEntries(tx, topic, [{ entry, sig: entrySig, hash: ballotHash(ballot) }]);
  const kept = inserted.get(entry.seq);
  if (kept === undefined) throw new Error('a locked topic took another ballot');
  const isVoid = kept === 'void';
  const sums = isVoid ? row.sums : plus(header, row.sums, { outcome, weight });
  const voided = isVoid ? [...row.voided, voter].sort() : row.voided;
  await updateTopic(tx, topic, { entries: entry.seq, sums, voided });
  const shown = header.sealed ? null : outcome;
  emit({ name: 'vote:cast', payload: { ...told(header), voter, outcome: shown, votes: sums.votes } });
  if (isVoid) emit({ name: 'vote:voided', payload: { ...told(header), voter, votes: sums.votes } });
  const cast = { ...row, entries: entry.seq, sums, voided };
  const closing = closingByBallot(header, sums, now);
  return allow(closing === null ? cast : await decideIn({ tx, emit }, casting, cast, closing));
}

/** Also where time has closed it and nobody has looked yet; what waits for the name of its owner is open until then. */
export function statusNow(casting: Casting, row: TopicRow): Status {
  const { header, sums, status, now } = row;
  if (status !== 'open' || !decidesHere(casting, row)) return status;
  return closingByTime(header, sums, now)?.status ?? 'open';
}

/** What time has closed. Null = there was nothing to do. */
export async function closeIn(unit: AgoraUnit, casting: Casting, topic: string): Promise<TopicRow | null> {
  const row = await lockTopic(unit.tx, topic);
  if (row === null || !decidesHere(casting, row) || row.status !== 'open') return null;
  const closing = closingByTime(row.header, row.sums, row.now);
  return closing === null ? null : decideIn(unit, casting, row, closing);
}

export async function decideIn(
  { tx, emit }: Pick<AgoraUnit, 'tx' | 'emit'>,
  { signer, hashes }: Casting,
  row: TopicRow,
  closing: Closing,
): Promise<TopicRow> {
  const { header, sums, entries, voided } = row;
  const decision = decisionOf(header, sums, closing, { entries, voided });
  const sig = signer.sign('svc-agora-decision', decision);
  const decided = { ...row, status: decision.status, decision: { decision, sig } };
  const hash = await hashes.of(tx, decided);
  const { status, winner, votes, decidedAt } = decision;
  await updateTopic(tx, header.topic, { status, hash, decision: { text: canonicalJson(decision), sig } });
  emit({ name: 'vote:decided', payload: { ...told(header), status, winner, votes, decidedAt } });
  return { ...decided, hash };
}

/** Voters whose node signed two outcomes count for nothing, from then on and everywhere. `pairs` are proven. */
export async function voidIn(
  { tx, emit }: AgoraUnit,
  casting: Casting,
  row: TopicRow,
  pairs: readonly Evidence[],
): Promise<TopicRow> {
  const { header, status } = row;
  const liars = await insertEquivocations(tx, header.topic, pairs);
  const gone = liars.filter(({ hasVoted }) => hasVoted).map(({ voter }) => voter);
  // What becomes known later is listed and changes nothing any more.
  if (gone.length === 0 || status !== 'open' || statusNow(casting, row) !== 'open') return row;
  const voided = [...row.voided, ...gone].sort();
  const sums = await sumWithout(tx, row, voided);
  await updateTopic(tx, header.topic, { voided, sums });
  for (const voter of gone) emit({ name: 'vote:voided', payload: { ...told(header), voter, votes: sums.votes } });
  const after = { ...row, voided, sums };
  const closing = decidesHere(casting, row) ? closingByBallot(header, sums, row.now) : null;
  return closing === null ? after : decideIn({ tx, emit }, casting, after, closing);
}

const COUNTED_AT_ONCE = 1000;

/** What the ballots of all others come to. */
export async function sumWithout(tx: SqlClient, row: TopicRow, voided: readonly string[]): Promise<Sums> {
  const isVoid = new Set(voided);
  let sums = emptySums(row.header);
  for (let after = 0; after < row.entries; after += COUNTED_AT_ONCE) {
    for (const { entry } of await readEntries(tx, row, after, COUNTED_AT_ONCE)) {
      const { ballot, weight } = entry;
      if (!isVoid.has(ballot.voter)) sums = plus(row.header, sums, { outcome: ballot.outcome, weight });
    }
  }
  return sums;
}
