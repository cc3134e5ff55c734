/**
 * Copies of one ledger become one, in whatever order they arrive and however often. Only what its owner signed counts; what a
 * copy says of its own status, tally or hash is never taken over.
 */
import { canonicalJson } from '@svc/contract/canonical.ts';
import {
  type Ballot,
  ballotHash,
  type Decision,
  type Entry,
  entryHash,
  type Header,
  headerHash,
  type HashedEntry,
  ledgerHash,
  sealedHash,
  type Status,
} from './ledger.ts';
import { isDecisionOf, statusOf, sumOf } from './tally.ts';

export interface SignedEntry {
  readonly entry: Entry;
  readonly sig: string | null;
}

export interface SignedBallot {
  readonly ballot: Ballot;
  readonly sig: string;
}

/** Two outcomes of one voter on one topic, both signed by one node: nothing else than ballots of that node can be void by it. */
export type Evidence = readonly [SignedBallot, SignedBallot];

/**
 * A decision names no ledger, and what an owner decided on one topic may look like what it could decide on another. So it also
 * signs to which it belongs: `ledger` is the hash of the decided ledger.
 */
interface Binding {
  readonly ledger: string;
  readonly sig: string;
}

export interface SignedDecision {
  readonly decision: Decision;
  readonly sig: string | null;
  /** Absent where only the owner itself has said of which ledger it is. */
  readonly bound?: Binding | undefined;
}

/** What the owner signs to bind a decision. */
export const boundBytes = (header: string, decision: Decision, ledger: string) => ({ decision, header, ledger });

/** A copy as it was collected: sets, so that joining two of them knows no order. */
export interface Copy {
  readonly header: Header;
  readonly entries: ReadonlyMap<string, SignedEntry>;
  readonly evidence: ReadonlyMap<string, Evidence>;
  readonly decisions: ReadonlyMap<string, SignedDecision>;
}

export function emptyCopy(header: Header): Copy {
  return { header, entries: new Map(), evidence: new Map(), decisions: new Map() };
}

export interface Verify {
  entry(signed: SignedEntry): boolean;
  ballot(signed: SignedBallot): boolean;
  decision(signed: SignedDecision): boolean;
}

export interface Incoming {
  readonly header: Header;
  readonly entries: Iterable<SignedEntry>;
  readonly evidence: Iterable<Evidence>;
  readonly decision: SignedDecision | null;
}

type Joined = { readonly copy: Copy; readonly rejected: number } | 'conflict';

/** `rejected` = how much of it had no valid signature or did not belong there, and was left out. */
export function join(copy: Copy, incoming: Incoming, verify: Verify): Joined {
  const hash = headerHash(copy.header);
  if (headerHash(incoming.header) !== hash) return 'conflict';
  let rejected = 0;
  const entries = new Map(copy.entries);
  for (const signed of incoming.entries) {
    if (isEntryOf(hash, copy.header, signed, verify)) keepLeast(entries, entryHash(signed.entry), signed, sigOf);
    else rejected += 1;
  }
  const evidence = new Map(copy.evidence);
  for (const pair of incoming.evidence) {
    const ordered = provenPair(hash, pair, verify);
    if (ordered === null) rejected += 1;
    else keepLeast(evidence, liarOf(ordered), ordered, nameOfPair);
  }
  const decisions = new Map(copy.decisions);
  if (incoming.decision !== null) {
    const told = incoming.decision;
    if (verify.decision(told))
      keepLeast(decisions, `${canonicalJson(told.decision)} ${told.bound?.ledger ?? ''}`, told, nameOfDecision);
    else rejected += 1;
  }
  return { copy: { header: copy.header, entries, evidence, decisions }, rejected };
}

export function isEntryOf(hash: string, header: Header, signed: SignedEntry, verify: Verify): boolean {
  const { ballot, ballotSig, seq } = signed.entry;
  return (
    seq >= 1 &&
    ballot.header === hash &&
    ballot.topic === header.topic &&
    header.ballot.includes(ballot.outcome) &&
    ballotSig !== null &&
    verify.entry(signed) &&
    verify.ballot({ ballot, sig: ballotSig })
  );
}

/** In one order, whoever found it; null when it proves nothing. */
export function provenPair(header: string, [a, b]: Evidence, verify: Pick<Verify, 'ballot'>): Evidence | null {
  const isOne = voterKey(a.ballot) === voterKey(b.ballot) && a.ballot.header === header && b.ballot.header === header;
  if (!isOne || a.ballot.outcome === b.ballot.outcome) return null;
  if (!verify.ballot(a) || !verify.ballot(b)) return null;
  return ballotHash(a.ballot) < ballotHash(b.ballot) ? [a, b] : [b, a];
}

/** A voter as a node knows it: what another node signs in its name is another voter's. */
export function voterKey({ node, voter }: Pick<Ballot, 'node' | 'voter'>): string {
  return `${node} ${voter}`;
}

/** Against whom it is. */
export const liarOf = ([{ ballot }]: Evidence): string => voterKey(ballot);

/** Of two that stand for the same, one and the same is kept, whichever came first. */
function keepLeast<Kept>(kept: Map<string, Kept>, key: string, one: Kept, nameOf: (one: Kept) => string): void {
  const before = kept.get(key);
  if (before === undefined || nameOf(one) < nameOf(before)) kept.set(key, one);
}

const sigOf = ({ sig }: SignedEntry): string => sig ?? '';

const nameOfDecision = ({ sig, bound }: SignedDecision): string => `${sig ?? ''} ${bound?.sig ?? ''}`;

const nameOfPair = (pair: Evidence): string => pair.map(({ ballot, sig }) => `${ballotHash(ballot)} ${sig}`).join(' ');

/** What a copy comes to. Everything in it follows from the sets alone. */
export interface Ledger {
  readonly status: Status;
  /** Gapless from 1 on. */
  readonly entries: readonly SignedEntry[];
  /** Voters whose admission is void. */
  readonly voided: ReadonlySet<string>;
  readonly decision: SignedDecision | null;
  /** The owner contradicts itself, or a decision is not what the admissions come to. */
  readonly disputed: boolean;
  readonly hash: string;
}

export function ledgerOf(copy: Copy): Ledger {
  const { header, evidence } = copy;
  const bySeq = Map.groupBy(copy.entries.values(), ({ entry }) => entry.seq);
  const isForked = [...bySeq.values()].some((same) => same.length > 1) || hasTwice(copy.entries.values());
  const entries = prefixOf(bySeq);
  const voided = new Set(
    entries.flatMap(({ entry: { ballot } }) => (evidence.has(voterKey(ballot)) ? [ballot.voter] : [])),
  );
  const told = decisionIn(copy, entries);
  const disputed = isForked || told === 'disputed';
  const decision = isForked || told === 'disputed' ? null : told;
  return {
    status: statusOf(decision?.decision ?? null),
    entries,
    voided,
    decision,
    disputed,
    hash: hashOf(header, entries, voided, decision),
  };
}

/** Null = its owner told none, or not all yet of what it was taken on. */
function decisionIn({ header, decisions }: Copy, entries: readonly SignedEntry[]): SignedDecision | null | 'disputed' {
  const [only, ...others] = toldIn([...decisions.values()]);
  if (only === undefined) return null;
  if (others.length > 0) return 'disputed';
  if (entries.length < only.decision.entries) return null;
  return holds(header, entries, only) ? only : 'disputed';
}

/** One that does not say of which ledger it is says nothing beside the same that does. */
function toldIn(decisions: readonly SignedDecision[]): SignedDecision[] {
  const bound = decisions.filter((one) => one.bound !== undefined);
  const named = new Set(bound.map(({ decision }) => canonicalJson(decision)));
  return [...bound, ...decisions.filter((one) => one.bound === undefined && !named.has(canonicalJson(one.decision)))];
}

function hasTwice(entries: Iterable<SignedEntry>): boolean {
  const voters = [...entries].map(({ entry }) => entry.ballot.voter);
  return new Set(voters).size < voters.length;
}

/** Up to the first gap, and up to the first place that two claim. */
function prefixOf(bySeq: ReadonlyMap<number, readonly SignedEntry[]>): SignedEntry[] {
  const entries: SignedEntry[] = [];
  for (;;) {
    const [next, ...rivals] = bySeq.get(entries.length + 1) ?? [];
    if (next === undefined || rivals.length > 0) return entries;
    entries.push(next);
  }
}

/** Voided as the decision says: what became known after it changes nothing any more. */
function holds(header: Header, entries: readonly SignedEntry[], { decision, bound }: SignedDecision): boolean {
  const voided = new Set(decision.voided);
  const counted = entries
    .slice(0, decision.entries)
    .filter(({ entry }) => !voided.has(entry.ballot.voter))
    .map(({ entry }) => ({ outcome: entry.ballot.outcome, weight: entry.weight }));
  const isOfThese = bound === undefined || bound.ledger === decidedHash(header, entries, decision);
  return isOfThese && isDecisionOf(header, sumOf(header, counted), decision);
}

function hashOf(
  header: Header,
  entries: readonly SignedEntry[],
  voided: ReadonlySet<string>,
  decision: SignedDecision | null,
): string {
  if (decision !== null) return decidedHash(header, entries, decision.decision);
  const hash = headerHash(header);
  if (header.sealed) return sealedHash(hash, entries.length);
  return ledgerHash(
    hash,
    entries.map(({ entry }) => hashedEntry(entry, voided)),
    null,
  );
}

/** Of the admissions that the decision was taken on. */
export function decidedHash(header: Header, entries: readonly SignedEntry[], decision: Decision): string {
  const voided = new Set(decision.voided);
  return ledgerHash(
    headerHash(header),
    entries.slice(0, decision.entries).map(({ entry }) => hashedEntry(entry, voided)),
    decision,
  );
}

export function hashedEntry({ seq, ballot, weight }: Entry, voided: Pick<ReadonlySet<string>, 'has'>): HashedEntry {
  const { outcome, votedAt, voter } = ballot;
  return { ballot: ballotHash(ballot), outcome, seq, void: voided.has(voter), votedAt, voter, weight };
}
