import { describe, expect, it } from 'vitest';
import { amountFromCredits, creditsFromAmount, type AmountMicros, PositiveCredits } from './amount.ts';

describe('amounts in micro-credits', () => {
  it('counts exactly what the number shows', () => {
    expect(amountFromCredits(0.1)).toBe(100_000n);
    expect(amountFromCredits(-1.5)).toBe(-1_500_000n);
    expect(amountFromCredits(3_999_999_999.123456)).toBe(3_999_999_999_123_456n);
  });

  it('adds ten tenths to exactly one', () => {
    const tenth = amountFromCredits(0.1) ?? 0n;
    expect(creditsFromAmount((tenth * 10n) as AmountMicros)).toBe(1);
  });

  it.each([Number.NaN, Infinity, 1e-7, 0.1234567, 1e21])('refuses %s', (credits) => {
    expect(amountFromCredits(credits)).toBeNull();
  });

  it('takes only positive amounts as an argument', () => {
    for (const bad of [0, -1, '1', '1e3', null, 1e-7]) expect(PositiveCredits.safeParse(bad).success).toBe(false);
    expect(PositiveCredits.safeParse(0.000001).success).toBe(true);
  });

  it('round trips every whole number of micro-credits', () => {
    for (let micros = -2_000_003n; micros < 2_000_003n; micros += 99_991n) {
      expect(amountFromCredits(creditsFromAmount(micros as AmountMicros))).toBe(micros);
    }
  });
});
