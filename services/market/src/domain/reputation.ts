/**
 * What the closed trades of a seller say about it: each partner counts by how much it is trusted itself, and no partner for
 * more than one whole trade, however often and for however much the two trade with each other.
 */

export interface SoldTrade {
  readonly buyer: string;
  /** Micro-credits; 0 = free, or no money. */
  readonly amount: bigint;
  readonly outcome: 'confirmed' | 'refuted';
}

export interface Concentration {
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
const WHOLE = 100_000_000n;
const WITHOUT_MONEY = 10_000_000n;
/** Trust in thousandths at which a partner begins to count, and how far from there to where it counts fully. */
const TRUST_FLOOR = 300;
const TRUST_SPAN = 400;
const SCORE_SCALE = 10_000n;
const FLAGGED_FROM = 3;

interface Partner {
  good: bigint;
  bad: bigint;
  settled: number;
}

/** `trustOf`: of a partner now, 0 to 1. */
export function reputationOf(trades: readonly SoldTrade[], trustOf: (buyer: string) => number): Reputation {
  const partners = partnersOf(trades);
  const settled = trades.filter(({ outcome }) => outcome === 'confirmed').length;
  return {
    shillResistant: scoreOf(partners, trustOf),
    counterparties: partners.size,
    settled,
    refuted: trades.length - settled,
    concentration: concentrationOf(settled, Math.max(0, ...[...partners.values()].map((one) => one.settled))),
  };
}

function partnersOf(trades: readonly SoldTrade[]): Map<string, Partner> {
  const partners = new Map<string, Partner>();
  for (const { buyer, amount, outcome } of trades) {
    const partner = partners.get(buyer) ?? { good: 0n, bad: 0n, settled: 0 };
    partners.set(buyer, partner);
    if (outcome === 'confirmed') partner.settled += 1;
    if (outcome === 'confirmed') partner.good += creditOf(amount);
    else partner.bad += creditOf(amount);
  }
  return partners;
}

function creditOf(amount: bigint): bigint {
  return amount === 0n ? WITHOUT_MONEY : atMostWhole(amount);
}

function atMostWhole(credit: bigint): bigint {
  return credit < WHOLE ? credit : WHOLE;
}

/** In whole numbers, so that the order of the trades cannot show in the last digit. */
function scoreOf(partners: ReadonlyMap<string, Partner>, trustOf: (buyer: string) => number): number {
  const one = WHOLE * BigInt(TRUST_SPAN);
  let good = one;
  let all = 2n * one;
  for (const [buyer, partner] of partners) {
    const weight = BigInt(weightOf(trustOf(buyer)));
    good += weight * atMostWhole(partner.good);
    all += weight * (atMostWhole(partner.good) + atMostWhole(partner.bad));
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
