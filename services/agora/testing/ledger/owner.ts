/** An owner of a topic as it acts over time, with nothing but the rules: what it admits, voids and decides. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';
import { decideBallot } from '../../src/ledger/domain/ballot-gates.ts';
import { type Ballot, type Decision, type Entry, type Header, headerHash } from '../../src/ledger/domain/ledger.ts';
import {
  boundBytes,
  decidedHash,
  type Evidence,
  type SignedBallot,
  type SignedDecision,
  type SignedEntry,
  type Verify,
} from '../../src/ledger/domain/merge.ts';
import {
  type Closing,
  closingByBallot,
  closingByTime,
  decisionOf,
  emptySums,
  plus,
  type Sums,
  sumOf,
} from '../../src/ledger/domain/tally.ts';

export const OPENED_AT = 1_790_000_000_000;

/** What happens at the owner, one after the other. */
export type Step =
  | { readonly kind: 'vote'; readonly voter: string; readonly option: number; readonly weight: number }
  /** A second ballot of the voter becomes known. */
  | { readonly kind: 'lie'; readonly voter: string; readonly option: number }
  | { readonly kind: 'wait'; readonly ms: number };

/** What came of a step. */
export interface Turn {
  readonly now: number;
  readonly entries: readonly SignedEntry[];
  readonly voided: readonly string[];
  readonly sums: Sums;
  readonly decision: SignedDecision | null;
  readonly refused: string | null;
}

export interface Story {
  readonly header: Header;
  readonly turns: readonly Turn[];
  readonly evidence: readonly Evidence[];
}

/** Stands for a signature: nobody else than `node` is taken to be able to make it. */
export function signedBy(node: string, label: string, value: unknown): string {
  return createHash('sha256')
    .update(`${node}\0${label}\0${canonicalJson(value)}`)
    .digest('base64url');
}

export const signBallot = (ballot: Ballot): SignedBallot => ({ ballot, sig: signedBy(ballot.node, 'ballot', ballot) });
export const signEntry = (owner: string, entry: Entry): SignedEntry => ({
  entry,
  sig: signedBy(owner, 'entry', entry),
});
/** As the owner binds it to the ledger that it was taken on. */
export function signDecision(
  header: Header,
  decision: Decision,
  entries: readonly SignedEntry[] = [],
  owner = header.owner,
): SignedDecision {
  const ledger = decidedHash(header, entries, decision);
  const sig = signedBy(owner, 'binding', boundBytes(headerHash(header), decision, ledger));
  return { decision, sig: signedBy(owner, 'decision', decision), bound: { ledger, sig } };
}

export function verifyFor(header: Header): Verify {
  const { owner } = header;
  const hash = headerHash(header);
  return {
    ballot: ({ ballot, sig }) => sig === signBallot(ballot).sig,
    entry: ({ entry, sig }) => sig === signEntry(owner, entry).sig,
    decision: ({ decision, sig, bound }) =>
      sig === signedBy(owner, 'decision', decision) &&
      bound !== undefined &&
      bound.sig === signedBy(owner, 'binding', boundBytes(hash, decision, bound.ledger)),
  };
}

/** Each voter is a principal of a node of its own. */
export function ballotOf(
  header: Header,
  voter: string,
  option: number,
  votedAt: number,
  node = `node-${voter}`,
): Ballot {
  const outcome = header.ballot[option % header.ballot.length] ?? '';
  return { header: headerHash(header), topic: header.topic, voter, node, outcome, votedAt };
}

export function play(header: Header, steps: readonly Step[]): Story {
  const evidence: Evidence[] = [];
  const turns: Turn[] = [
    { now: OPENED_AT, entries: [], voided: [], sums: emptySums(header), decision: null, refused: null },
  ];
  for (const step of steps) {
    const before = turns.at(-1);
    if (before === undefined) throw new Error('a story begins');
    const now = before.now + (step.kind === 'wait' ? step.ms : 1);
    const looked = closed(header, { ...before, now, refused: null }, closingByTime(header, before.sums, now));
    turns.push(step.kind === 'vote' ? voted(header, looked, step, evidence) : looked);
    if (step.kind === 'lie') turns.push(voided(header, looked, step, evidence));
  }
  return { header, turns, evidence };
}

function closed(header: Header, turn: Turn, closing: Closing | null): Turn {
  if (turn.decision !== null || closing === null) return turn;
  const { entries, sums } = turn;
  const decision = decisionOf(header, sums, closing, { entries: entries.length, voided: turn.voided });
  return { ...turn, decision: signDecision(header, decision, entries) };
}

function voted(
  header: Header,
  turn: Turn,
  { voter, option, weight }: Step & { readonly kind: 'vote' },
  evidence: readonly Evidence[],
): Turn {
  const { now, entries, decision } = turn;
  const ballot = ballotOf(header, voter, option, now);
  const previous = entries.find(({ entry }) => entry.ballot.voter === voter)?.entry.ballot.outcome ?? null;
  const polling = {
    header,
    status: decision?.decision.status ?? 'open',
    entries: entries.length,
    now,
    votedAt: now,
  } as const;
  const facts = { isMember: true, isRegistered: true, isQuarantined: false, previous };
  const ruled = decideBallot(polling, facts, ballot.outcome);
  if (!ruled.ok) return { ...turn, refused: ruled.code };
  const { sig } = signBallot(ballot);
  const entry: Entry = { seq: entries.length + 1, ballot, ballotSig: sig, weight, admittedAt: now };
  const isVoid = evidence.some(([known]) => known.ballot.voter === voter);
  const sums = isVoid ? turn.sums : plus(header, turn.sums, { outcome: ballot.outcome, weight });
  const gone = isVoid ? [...turn.voided, voter].sort() : turn.voided;
  const after = { ...turn, entries: [...entries, signEntry(header.owner, entry)], sums, voided: gone };
  return closed(header, after, closingByBallot(header, sums, now));
}

function voided(
  header: Header,
  turn: Turn,
  { voter, option }: Step & { readonly kind: 'lie' },
  evidence: Evidence[],
): Turn {
  const said = turn.entries.find(({ entry }) => entry.ballot.voter === voter)?.entry.ballot;
  const one = said ?? ballotOf(header, voter, option + 1, turn.now);
  const other = ballotOf(header, voter, option, turn.now);
  if (one.outcome === other.outcome) return turn;
  evidence.push([signBallot(one), signBallot(other)]);
  if (turn.decision !== null || said === undefined || turn.voided.includes(voter)) return turn;
  const gone = [...turn.voided, voter].sort();
  const counted = turn.entries.filter(({ entry }) => !gone.includes(entry.ballot.voter));
  const sums = sumOf(
    header,
    counted.map(({ entry }) => ({ outcome: entry.ballot.outcome, weight: entry.weight })),
  );
  return closed(header, { ...turn, voided: gone, sums }, closingByBallot(header, sums, turn.now));
}
