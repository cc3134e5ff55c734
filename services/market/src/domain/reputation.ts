/**
 * What the closed trades of a seller say about it: each partner counts by how much it is trusted itself, and no partner for
 * more than one whole trade, however often and for however much the two trade with each other.
 */

/** All that was bought by one family: what can be multiplied by spawning is one partner. */
export interface Partner {
  readonly family: string;
  /** What went well, in micro-credits, at most WHOLE. */
  readonly good: bigint;
  /** The same of what was refuted. */
  readonly bad: bigint;
  /** How many trades went well. */
  readonly settled: number;
  readonly refuted: number;
}

interface Concentration {
  /** Of the trades that went well, those with the busiest partner; 0 to 1. */
  readonly share: number;
  readonly flagged: boolean;
}

export interface Reputation {
  readonly shillResistant: number;
  readonly counterparties: number;
  readonly settled: number;
  readonly refuted: number;
  readonly concentration: Concentration;
}

/** A whole trade: an amount above it adds nothing. */
export const WHOLE = 100_000_000n;
/** What a trade for nothing, or for no money, counts as. */
export const WITHOUT_MONEY = 10_000_000n;
/** Trust in thousandths at which a partner begins to count, and how far from there to where it counts fully. */
const TRUST_FLOOR = 300;
const TRUST_SPAN = 400;
const SCORE_SCALE = 10_000n;
const FLAGGED_FROM = 3;

/** `trustOf`: of the root of a family now, 0 to 1. */
export function reputationOf(partners: readonly Partner[], trustOf: (family: string) => number): Reputation {
  const sum = (of: 'settled' | 'refuted'): number => partners.reduce((all, one) => all + one[of], 0);
  const settled = sum('settled');
  const busiest = partners.reduce((most, one) => Math.max(most, one.settled), 0);
  return {
    shillResistant: scoreOf(partners, trustOf),
    counterparties: partners.length,
    settled,
    refuted: sum('refuted'),
    concentration: concentrationOf(settled, busiest),
  };
}

/** In whole numbers, so that the order of the trades cannot show in the last digit. */
function scoreOf(partners: readonly Partner[], trustOf: (family: string) => number): number {
  const one = WHOLE * BigInt(TRUST_SPAN);
  let good = one;
  let all = 2n * one;
  for (const partner of partners) {
    const weight = BigInt(weightOf(trustOf(partner.family)));
    good += weight * partner.good;
    all += weight * (partner.good + partner.bad);
  }
  const halfUp = (2n * SCORE_SCALE * good + all) / (2n * all);
  return Number(halfUp) / Number(SCORE_SCALE);
}

/** 0 to TRUST_SPAN. */
function weightOf(trust: number): number {
  const thousandths = Math.floor(trust * 1000 + 0.5);
  return Math.min(TRUST_SPAN, Math.max(0, thousandths - TRUST_FLOOR));
}

function concentrationOf(settled: number, busiest: number): Concentration {
  return {
    share: settled === 0 ? 0 : busiest / settled,
    flagged: settled >= FLAGGED_FROM && 2 * busiest > settled,
  };
}
