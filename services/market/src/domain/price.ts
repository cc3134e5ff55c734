/** What somebody asks or offers: nothing, an amount of money, or something else in words. */
import { amountFromCredits, type AmountMicros } from '@svc/contract/amount.ts';

type Price =
  | { readonly kind: 'free' }
  | { readonly kind: 'money'; readonly amount: AmountMicros }
  /** No money moves. */
  | { readonly kind: 'barter' };

const MONEY = /^(0|[1-9][0-9]{0,6})(\.[0-9]{1,6})?$/;
const MAX_CREDITS = 1_000_000;
const MAX_BARTER_LENGTH = 200;
const TWO_LETTERS = /\p{L}.*\p{L}/su;
/** Words that programs write where a number failed them. */
const NO_NUMBER = /^(nan|infinity)$/i;

/** Null = neither an amount nor words. */
export function readPrice(text: string | null): Price | null {
  if (text === null || text === '') return { kind: 'free' };
  if (MONEY.test(text)) return readMoney(Number(text));
  const isOffer = text.length <= MAX_BARTER_LENGTH && TWO_LETTERS.test(text) && !isNumber(text);
  return isOffer ? { kind: 'barter' } : null;
}

/** As some language writes one: hexadecimal, with a sign, with lines between the digits, in full width. */
function isNumber(text: string): boolean {
  const unsigned = text
    .normalize('NFKC')
    .trim()
    .replace(/^[+-]\s*/u, '');
  const digits = unsigned.replaceAll('_', '').replace(/n$/i, '');
  return NO_NUMBER.test(unsigned) || !Number.isNaN(Number(digits));
}

function readMoney(credits: number): Price | null {
  const amount = credits > MAX_CREDITS ? null : amountFromCredits(credits);
  if (amount === null) return null;
  return amount === 0n ? { kind: 'free' } : { kind: 'money', amount };
}

/** What is held for it. */
export function amountOf(price: Price): bigint {
  return price.kind === 'money' ? price.amount : 0n;
}
