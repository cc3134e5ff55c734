/** What is halved again and again as time passes. */

const SHOWN_DIGITS = 6;

/** The value after so many ms, of which each `halfLifeMs` halve it. A clock that went back changes nothing. */
export function faded(value: number, ageMs: number, halfLifeMs: number): number {
  return value * 2 ** (-Math.max(0, ageMs) / halfLifeMs);
}

export function shownNumber(value: number): number {
  return Number(value.toFixed(SHOWN_DIGITS));
}
