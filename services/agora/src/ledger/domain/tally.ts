/** Counting: heads for the quorum, weight for the winner, all of it whole numbers. */
import type { ClosedStatus, Decision, Header, Status } from './ledger.ts';

export const EQUAL_WEIGHT = 1000;
const LEAST_TRUST = 0.1;
/** More than half of all weight in one ballot is shown, from so many ballots on. */
const CONCENTRATED_FROM = 3;

/** Trust from 0 to 1 as it weighs in thousandths, never nothing. */
export function weightOf(score: number): number {
  return Math.round(EQUAL_WEIGHT * Math.min(1, Math.max(LEAST_TRUST, score)));
}

/** What the counted ballots of a topic come to; by option, in the order of the header. */
export interface Sums {
  /** Counted heads. */
  readonly votes: number;
  readonly counts: readonly number[];
  readonly weights: readonly number[];
  /** Of one ballot. */
  readonly greatestWeight: number;
}

export function emptySums({ ballot }: Pick<Header, 'ballot'>): Sums {
  const none = ballot.map(() => 0);
  return { votes: 0, counts: none, weights: none, greatestWeight: 0 };
}

export interface CountedBallot {
  readonly outcome: string;
  readonly weight: number;
}

export function sumOf(header: Pick<Header, 'ballot'>, counted: Iterable<CountedBallot>): Sums {
  let sums = emptySums(header);
  for (const ballot of counted) sums = plus(header, sums, ballot);
  return sums;
}

export function plus({ ballot }: Pick<Header, 'ballot'>, sums: Sums, { outcome, weight }: CountedBallot): Sums {
  const at = ballot.indexOf(outcome);
  if (at === -1) throw new Error('a ballot for what is no option');
  return {
    votes: sums.votes + 1,
    counts: sums.counts.with(at, (sums.counts[at] ?? 0) + 1),
    weights: sums.weights.with(at, (sums.weights[at] ?? 0) + weight),
    greatestWeight: Math.max(sums.greatestWeight, weight),
  };
}

type Rules = Pick<Header, 'ballot' | 'minQuorum' | 'threshold' | 'sealed' | 'deadline' | 'weighting'>;

const totalOf = ({ weights }: Sums): number => weights.reduce((sum, weight) => sum + weight, 0);

/** Per cent with two decimals, halves up. */
function percentageOf(weight: number, total: number): number {
  return total === 0 ? 0 : Math.floor((20_000 * weight + total) / (2 * total)) / 100;
}

/** Index of the one option with the greatest weight; -1 when there is none or more than one. */
function leaderOf({ weights }: Sums): number {
  const greatest = Math.max(...weights);
  const first = weights.indexOf(greatest);
  return greatest === 0 || weights.indexOf(greatest, first + 1) !== -1 ? -1 : first;
}

/** Index of the winner, quorum or not; -1 when nobody has won. */
function winnerOf({ threshold }: Rules, sums: Sums): number {
  const leader = leaderOf(sums);
  if (leader === -1) return -1;
  const [weight, total] = [sums.weights[leader] ?? 0, totalOf(sums)];
  const stands = threshold === 50 ? 2 * weight > total : 100 * weight >= threshold * total;
  return stands ? leader : -1;
}

export interface Counted {
  readonly votes: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly weights: Readonly<Record<string, number>>;
  readonly percentages: Readonly<Record<string, number>>;
  readonly leading: string | null;
  readonly leadingPercentage: number | null;
  readonly concentrated: boolean;
}

export function countedOf({ ballot, weighting }: Rules, sums: Sums): Counted {
  const total = totalOf(sums);
  const byOption = <Value>(valueAt: (index: number) => Value): Record<string, Value> =>
    Object.fromEntries(ballot.map((option, index) => [option, valueAt(index)]));
  const leader = leaderOf(sums);
  const percentageAt = (index: number) => percentageOf(sums.weights[index] ?? 0, total);
  return {
    votes: sums.votes,
    counts: byOption((index) => sums.counts[index] ?? 0),
    weights: byOption((index) => sums.weights[index] ?? 0),
    percentages: byOption(percentageAt),
    leading: leader === -1 ? null : (ballot[leader] ?? null),
    leadingPercentage: leader === -1 ? null : percentageAt(leader),
    concentrated: weighting === 'trust' && sums.votes >= CONCENTRATED_FROM && 2 * sums.greatestWeight > total,
  };
}

export interface Closing {
  readonly status: ClosedStatus;
  readonly decidedAt: number;
}

/** An open topic whose ballot of the moment `at` decided it. */
export function closingByBallot(rules: Rules, sums: Sums, at: number): Closing | null {
  const isDecided = !rules.sealed && sums.votes >= rules.minQuorum && winnerOf(rules, sums) !== -1;
  return isDecided ? { status: 'passed', decidedAt: at } : null;
}

/** An open topic that time has closed, whoever looks and however late. */
export function closingByTime(rules: Rules, sums: Sums, now: number): Closing | null {
  if (now < rules.deadline) return null;
  const decidedAt = rules.deadline;
  if (sums.votes < rules.minQuorum) return { status: 'expired', decidedAt };
  return { status: winnerOf(rules, sums) === -1 ? 'rejected' : 'passed', decidedAt };
}

export function decisionOf(
  rules: Rules,
  sums: Sums,
  { status, decidedAt }: Closing,
  { entries, voided }: Pick<Decision, 'entries' | 'voided'>,
): Decision {
  const winner = status === 'passed' ? winnerOf(rules, sums) : -1;
  const { votes, counts, leadingPercentage } = countedOf(rules, sums);
  return {
    status,
    winner: rules.ballot[winner] ?? null,
    votes,
    percentage: leadingPercentage ?? 0,
    counts,
    decidedAt,
    entries,
    voided: voided.toSorted(),
  };
}

/** Whether a decision is what its admissions come to. */
export function isDecisionOf(rules: Rules, sums: Sums, decision: Decision): boolean {
  const { status, decidedAt, winner, votes, percentage, counts } = decision;
  const isDue = closingByTime(rules, sums, decidedAt) ?? closingByBallot(rules, sums, decidedAt);
  if (isDue?.status !== status || isDue.decidedAt !== decidedAt) return false;
  const own = decisionOf(rules, sums, { status, decidedAt }, decision);
  return (
    own.winner === winner &&
    own.votes === votes &&
    own.percentage === percentage &&
    rules.ballot.every((option) => own.counts[option] === counts[option]) &&
    Object.keys(counts).length === rules.ballot.length
  );
}

export function statusOf(decision: Pick<Decision, 'status'> | null): Status {
  return decision === null ? 'open' : decision.status;
}
