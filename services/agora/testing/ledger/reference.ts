/** What a topic comes to, told again as plainly as it can be: everything anew from the ballots, in exact fractions. */
import type { ClosedStatus, Header } from '../../src/ledger/domain/ledger.ts';

export interface CountedBallot {
  readonly voter: string;
  readonly outcome: string;
  readonly weight: number;
}

export interface Told {
  readonly counts: Record<string, number>;
  readonly weights: Record<string, number>;
  readonly percentages: Record<string, number>;
  readonly leading: string | null;
  readonly winner: string | null;
}

const weightIn = (ballots: readonly CountedBallot[]): bigint => {
  let sum = 0n;
  for (const { weight } of ballots) sum += BigInt(weight);
  return sum;
};

/** Hundredths of a per cent, the half of one up. */
function hundredths(part: bigint, all: bigint): bigint {
  if (all === 0n) return 0n;
  const whole = (10_000n * part) / all;
  return 2n * (10_000n * part - whole * all) >= all ? whole + 1n : whole;
}

export function tell({ ballot, threshold }: Header, counted: readonly CountedBallot[]): Told {
  const all = weightIn(counted);
  const of = (option: string) => counted.filter(({ outcome }) => outcome === option);
  const ranked = ballot.map((option) => ({ option, weight: weightIn(of(option)) }));
  const alone = ranked.filter(
    ({ option, weight }) => weight > 0n && ranked.every((other) => other.option === option || other.weight < weight),
  );
  const leader = alone[0];
  const isEnough = (weight: bigint): boolean =>
    threshold === 50 ? weight > all - weight : weight * 100n >= BigInt(threshold) * all;
  return {
    counts: Object.fromEntries(ballot.map((option) => [option, of(option).length])),
    weights: Object.fromEntries(ranked.map(({ option, weight }) => [option, Number(weight)])),
    percentages: Object.fromEntries(
      ranked.map(({ option, weight }) => [option, Number(hundredths(weight, all)) / 100]),
    ),
    leading: leader?.option ?? null,
    winner: leader !== undefined && isEnough(leader.weight) ? leader.option : null,
  };
}

/** As what it is closed at `now`; null = it is open. */
export function closedAs(
  header: Header,
  counted: readonly CountedBallot[],
  now: number,
): { readonly status: ClosedStatus; readonly decidedAt: number } | null {
  const hasQuorum = counted.length >= header.minQuorum;
  const { winner } = tell(header, counted);
  const isOver = now - header.deadline >= 0;
  if (!isOver && !header.sealed && hasQuorum && winner !== null) return { status: 'passed', decidedAt: now };
  if (!isOver) return null;
  const status = !hasQuorum ? 'expired' : winner === null ? 'rejected' : 'passed';
  return { status, decidedAt: header.deadline };
}
