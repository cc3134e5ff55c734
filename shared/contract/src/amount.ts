/** Money is counted in integer micro-credits (scale 6); JSON shows it as a number of credits with at most 6 decimals. */
import { z } from 'zod';

export type AmountMicros = bigint & { readonly __unit: 'micro-credits' };

const SCALE = 6;
const MICROS_PER_CREDIT = 10n ** BigInt(SCALE);
/** The largest number of credits that a JSON number still shows to the micro-credit. */
export const MAX_CREDITS = 4_000_000_000;

/** Credits as a JSON number -> micro-credits, or null when it is no exact amount of at most 6 decimals. */
export function amountFromCredits(credits: number): AmountMicros | null {
  if (!Number.isFinite(credits) || Math.abs(credits) > MAX_CREDITS) return null;
  const [whole = '0', fraction = ''] = decimalText(credits).split('.');
  if (fraction.length > SCALE) return null;
  const magnitude = BigInt(whole.replace('-', '')) * MICROS_PER_CREDIT + BigInt(fraction.padEnd(SCALE, '0') || '0');
  return (whole.startsWith('-') ? -magnitude : magnitude) as AmountMicros;
}

/** Micro-credits -> credits as a JSON number, exact to the micro-credit. */
export function creditsFromAmount(amount: AmountMicros): number {
  const negative = amount < 0n;
  const digits = amount
    .toString()
    .replace('-', '')
    .padStart(SCALE + 1, '0');
  return Number(`${negative ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`);
}

/** `String(1e-7)` is exponent notation, which has more than 6 decimals by itself. */
function decimalText(credits: number): string {
  const text = String(credits);
  return text.includes('e') ? credits.toFixed(20) : text;
}

/** The largest amount or limit that a call may name. */
const MAX_AMOUNT_CREDITS = 1_000_000_000;

const Credits = z
  .number()
  .max(MAX_AMOUNT_CREDITS)
  .refine((credits) => amountFromCredits(credits) !== null, { message: 'at most 6 decimals' })
  .describe('An amount in credits, at most 6 decimals.');

/** Argument schema for an amount that is spent, held or captured: more than 0. */
export const PositiveCredits = Credits.positive();

/** Argument schema for a limit: 0 or more. */
export const LimitCredits = Credits.nonnegative();

/** Credits that one of the schemas above let through -> micro-credits. */
export function microsOf(credits: number): AmountMicros {
  const micros = amountFromCredits(credits);
  if (micros === null) throw new RangeError(`${credits} is no amount`);
  return micros;
}
