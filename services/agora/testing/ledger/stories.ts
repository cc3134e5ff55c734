/** Topics, what happens on them, and how copies of that travel: whole, in parts, doubled, and mixed with what is forged. */
import * as fc from 'fast-check';
import type { Header } from '../../src/ledger/domain/ledger.ts';
import type { Evidence, Incoming, SignedDecision, SignedEntry } from '../../src/ledger/domain/merge.ts';
import { ballotOf, OPENED_AT, play, signBallot, signDecision, signEntry, type Step, type Story } from './owner.ts';

const OPTIONS = ['yes', 'no', 'later', 'never'];
const VOTERS = ['ann', 'bob', 'cy', 'dee', 'eve', 'fay', 'gus'];

export const headers: fc.Arbitrary<Header> = fc
  .record({
    options: fc.integer({ min: 2, max: OPTIONS.length }),
    minQuorum: fc.integer({ min: 1, max: 5 }),
    threshold: fc.oneof(fc.constant(50), fc.constantFrom(51, 60, 67, 75, 100)),
    weighting: fc.constantFrom('equal', 'trust'),
    sealed: fc.boolean(),
    lastsMs: fc.integer({ min: 1000, max: 1012 }),
  })
  .map(({ options, lastsMs, ...rest }) => ({
    ...rest,
    v: 1,
    topic: 'lunch',
    owner: 'alpha',
    author: 'ann',
    ballot: OPTIONS.slice(0, options),
    deadline: OPENED_AT + lastsMs,
    createdAt: OPENED_AT,
    scope: null,
    thread: null,
  }));

const voters = fc.constantFrom(...VOTERS);
const choices = fc.integer({ min: 0, max: OPTIONS.length - 1 });
const weights = fc.oneof(fc.constantFrom(100, 300, 500, 900, 1000), fc.integer({ min: 100, max: 1000 }));

export const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('vote'), voter: voters, option: choices, weight: weights }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lie'), voter: voters, option: choices }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(1, 500, 993, 1000, 1100) }) },
);

export const stories: fc.Arbitrary<Story> = fc
  .tuple(headers, fc.array(steps, { minLength: 1, maxLength: 14 }))
  .map(([header, all]) => play(header, header.weighting === 'equal' ? all.map(equalWeight) : all));

const equalWeight = (step: Step): Step => (step.kind === 'vote' ? { ...step, weight: 1000 } : step);

/** One thing that a copy may hold. */
export type Piece =
  | { readonly entry: SignedEntry }
  | { readonly pair: Evidence }
  | { readonly decision: SignedDecision };

export function parcelOf(header: Header, pieces: readonly Piece[]): Incoming {
  return {
    header,
    entries: pieces.flatMap((piece) => ('entry' in piece ? [piece.entry] : [])),
    evidence: pieces.flatMap((piece) => ('pair' in piece ? [piece.pair] : [])),
    decision: pieces.find((piece) => 'decision' in piece)?.decision ?? null,
  };
}

/** Everything that the owner said in the end. */
export function piecesOf({ turns, evidence }: Story): Piece[] {
  const last = turns.at(-1);
  if (last === undefined) throw new Error('a story begins');
  return [
    ...last.entries.map((entry) => ({ entry })),
    ...evidence.map((pair) => ({ pair })),
    ...(last.decision === null ? [] : [{ decision: last.decision }]),
  ];
}

/** What no signature of the owner or of the voter's node stands behind, or what belongs elsewhere. */
export function forgeriesOf({ header, turns }: Story): Piece[] {
  const elsewhere: Header = { ...header, topic: 'supper' };
  const now = header.createdAt + 1;
  const [honest, other] = [ballotOf(header, 'ivy', 0, now), ballotOf(header, 'ivy', 1, now)];
  const seq = (turns.at(-1)?.entries.length ?? 0) + 1;
  const admitted = { seq, ballot: honest, ballotSig: signBallot(honest).sig, weight: 1000, admittedAt: now };
  const stray = ballotOf(elsewhere, 'ivy', 0, now);
  const unknown = { ...honest, outcome: 'perhaps' };
  const passed = {
    status: 'passed',
    winner: header.ballot[0] ?? '',
    votes: 9,
    percentage: 100,
    counts: Object.fromEntries(header.ballot.map((option, index) => [option, index === 0 ? 9 : 0])),
    decidedAt: now,
    entries: 0,
    voided: [],
  } as const;
  return [
    { entry: signEntry('mallory', admitted) },
    { entry: signEntry(header.owner, { ...admitted, ballot: other }) },
    { entry: signEntry(header.owner, { ...admitted, ballotSig: null }) },
    { entry: signEntry(header.owner, { ...admitted, ballot: stray, ballotSig: signBallot(stray).sig }) },
    { entry: signEntry(header.owner, { ...admitted, ballot: unknown, ballotSig: signBallot(unknown).sig }) },
    { pair: [signBallot(honest), { ballot: other, sig: signBallot(honest).sig }] },
    { pair: [signBallot(honest), signBallot(ballotOf(header, 'ivy', 0, now + 1))] },
    { pair: [signBallot(honest), signBallot(ballotOf(header, 'joe', 1, now))] },
    { pair: [signBallot(honest), signBallot(ballotOf(elsewhere, 'ivy', 1, now))] },
    { pair: [signBallot(honest), signBallot(ballotOf(header, 'joe', 1, now, honest.node))] },
    { pair: [signBallot(honest), signBallot(ballotOf(header, 'ivy', 1, now, 'mallory'))] },
    { decision: signDecision(header, passed, [], 'mallory') },
    { decision: signDecision(elsewhere, passed) },
    { decision: { ...signDecision(header, passed), bound: undefined } },
    ...elsewhereDecided({ header, turns }, elsewhere),
  ];
}

/** What the owner decided, as it would be of a ledger that looks the same. */
function elsewhereDecided({ turns }: Pick<Story, 'header' | 'turns'>, elsewhere: Header): Piece[] {
  const last = turns.at(-1);
  return last === undefined || last.decision === null
    ? []
    : [{ decision: signDecision(elsewhere, last.decision.decision, last.entries) }];
}

/** What a node proves of voters that are another one's: everybody may keep it, and nothing follows from it. */
export function slandersOf({ header, turns }: Story): Piece[] {
  const voters = (turns.at(-1)?.entries ?? []).map(({ entry }) => entry.ballot.voter);
  const said = (voter: string, option: number) =>
    signBallot(ballotOf(header, voter, option, header.createdAt, 'mallory'));
  return voters.map((voter) => ({ pair: [said(voter, 0), said(voter, 1)] }));
}

/** What an owner signs that contradicts itself or what it admitted. */
export function contradictionsOf({ header, turns }: Story): Piece[] {
  const last = turns.at(-1);
  const first = last?.entries[0];
  const decision = last?.decision?.decision;
  const lies: Piece[] = [];
  if (first !== undefined) {
    const ballot = ballotOf(header, 'kim', 1, header.createdAt);
    const { sig } = signBallot(ballot);
    lies.push({ entry: signEntry(header.owner, { ...first.entry, ballot, ballotSig: sig }) });
    lies.push({ entry: signEntry(header.owner, { ...first.entry, weight: first.entry.weight + 1 }) });
  }
  if (decision !== undefined) {
    lies.push({ decision: signDecision(header, { ...decision, votes: decision.votes + 1 }, last?.entries) });
    const [option = ''] = header.ballot;
    const counts = { ...decision.counts, [option]: (decision.counts[option] ?? 0) + 1 };
    lies.push({ decision: signDecision(header, { ...decision, counts }, last?.entries) });
    if (decision.entries > 0) lies.push({ decision: signDecision(header, decision, last?.entries.slice(1)) });
  }
  return lies;
}
