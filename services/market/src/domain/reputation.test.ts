import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { describe, expect, it } from 'vitest';
import { type Partner, reputationOf as reputationOfPartners, WHOLE, WITHOUT_MONEY } from './reputation.ts';

interface SoldTrade {
  readonly buyer: string;
  readonly amount: bigint;
  readonly outcome: 'confirmed' | 'refuted';
}

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);

/** As the store sums trades up, said once more. */
function reputationOf(trades: readonly SoldTrade[], trustOf: (buyer: string) => number) {
  const partners = [...new Set(trades.map(({ buyer }) => buyer))].map((family): Partner => {
    const of = (outcome: SoldTrade['outcome']) =>
      trades.filter((one) => one.buyer === family && one.outcome === outcome);
    const credit = (outcome: SoldTrade['outcome']) =>
      of(outcome).reduce((sum, { amount }) => sum + (amount === 0n ? WITHOUT_MONEY : least(amount, WHOLE)), 0n);
    const [good, bad] = [least(credit('confirmed'), WHOLE), least(credit('refuted'), WHOLE)];
    return { family, good, bad, settled: of('confirmed').length, refuted: of('refuted').length };
  });
  return reputationOfPartners(partners, trustOf);
}

const CREDIT = 1_000_000n;
const sold = (buyer: string, credits: bigint, outcome: SoldTrade['outcome'] = 'confirmed'): SoldTrade => ({
  buyer,
  amount: credits * CREDIT,
  outcome,
});
const times = (count: number, make: (n: number) => SoldTrade): SoldTrade[] =>
  Array.from({ length: count }, (_, n) => make(n));
const trusted = (trust: number) => () => trust;

describe('the score', () => {
  it.each([
    ['nobody traded', [], 0.9, 0.5],
    ['25 trades with one partner', times(25, () => sold('b', 100n)), 0.5, 0.6],
    ['five partners', times(5, (n) => sold(`b${n}`, 100n)), 0.7, 0.8571],
    ['five partners whom nobody trusts', times(5, (n) => sold(`b${n}`, 100n)), 0.3, 0.5],
    ['one enormous trade', [sold('b', 1_000_000n)], 0.9, 0.6667],
    ['a good and a bad trade', [sold('b', 50n), sold('b', 100n, 'refuted')], 0.7, 0.4286],
    ['ten for nothing', times(10, () => sold('b', 0n)), 0.7, 0.6667],
    ['one for nothing', [sold('b', 0n)], 0.7, 0.5238],
  ])('when %s', (_what, trades, trust, score) => {
    expect(reputationOf(trades, trusted(trust)).shillResistant).toBe(score);
  });

  it('takes trust in thousandths, half up', () => {
    const one = [sold('b', 100n)];
    expect(reputationOf(one, trusted(0.3004)).shillResistant).toBe(0.5);
    expect(reputationOf(one, trusted(0.3005)).shillResistant).toBe(reputationOf(one, trusted(0.301)).shillResistant);
    expect(reputationOf(one, trusted(0.301)).shillResistant).toBe(0.5006);
  });
});

describe('concentration', () => {
  it.each([
    [times(25, () => sold('b', 100n)), { share: 1, flagged: true }],
    [times(5, (n) => sold(`b${n}`, 100n)), { share: 0.2, flagged: false }],
    [times(2, () => sold('b', 100n)), { share: 1, flagged: false }],
    [times(4, (n) => sold(n < 2 ? 'b' : `c${n}`, 1n)), { share: 0.5, flagged: false }],
    [times(3, () => sold('b', 1n, 'refuted')), { share: 0, flagged: false }],
  ])('case %#', (trades, concentration) => {
    expect(reputationOf(trades, trusted(0.5)).concentration).toEqual(concentration);
  });
});

const trade = fc.record({
  buyer: fc.constantFrom('a', 'b', 'c', 'd'),
  amount: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 1_000_000n * CREDIT })),
  outcome: fc.constantFrom('confirmed' as const, 'refuted' as const),
});
const trades = fc.array(trade, { maxLength: 30 });
const trust = fc.integer({ min: 0, max: 1000 }).map((thousandths) => thousandths / 1000);
const trusts = fc.record({ a: trust, b: trust, c: trust, d: trust });
type Trusts = Readonly<Record<string, number>>;
const score = (list: readonly SoldTrade[], of: Trusts): number =>
  reputationOf(list, (buyer) => of[buyer] ?? 0).shillResistant;
const numRuns = runs(300);

describe('whatever is traded', () => {
  it('the order does not matter', () => {
    const shuffled = trades.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, trusts, ([list, other], of) => {
        const trustOf = (buyer: string) => (of as Trusts)[buyer] ?? 0;
        expect(reputationOf(other, trustOf)).toEqual(reputationOf(list, trustOf));
      }),
      { numRuns },
    );
  });

  it('one partner lifts the score by no more than one whole trade with it would', () => {
    const shills = fc.array(
      trade.map((one) => ({ ...one, buyer: 'shill' })),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(trades, shills, trusts, trust, (honest, added, of, shill) => {
        const all = { ...of, shill };
        expect(score([...honest, ...added], all)).toBeLessThanOrEqual(score([...honest, sold('shill', 100n)], all));
      }),
      { numRuns },
    );
  });

  it('more of it that went well never lowers the score, more that was refuted never lifts it, and it stays in (0, 1)', () => {
    fc.assert(
      fc.property(trades, trade, trusts, (list, one, of) => {
        const before = score(list, of);
        expect(score([...list, { ...one, outcome: 'confirmed' }], of)).toBeGreaterThanOrEqual(before);
        expect(score([...list, { ...one, outcome: 'refuted' }], of)).toBeLessThanOrEqual(before);
        expect(before > 0 && before < 1).toBe(true);
      }),
      { numRuns },
    );
  });
});

it('a seller with very many partners has a score too', () => {
  const partners = Array.from({ length: 200_000 }, (_, n): Partner => {
    return { family: `f${n}`, good: WHOLE, bad: 0n, settled: 1, refuted: 0 };
  });
  expect(reputationOfPartners(partners, trusted(0.5))).toMatchObject({ shillResistant: 1, counterparties: 200_000 });
});
