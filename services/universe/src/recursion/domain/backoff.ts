/** When a call is made once more, and after how long. */
const MAX_DELAY_MS = 2000;

const AGAIN: ReadonlySet<string> = new Set([
  'SERVICE_UNAVAILABLE',
  'TIMEOUT',
  'E_OUTCOME_UNKNOWN',
  'RATE_LIMITED',
  'E_BUSY',
]);

/** The trouble may be over in a moment. */
export function isWorthAnother(code: string): boolean {
  return AGAIN.has(code);
}

/** `chance`: from 0 to 1, so that those who failed together do not come back together. */
export function delayMs(backoffMs: number, attempt: number, chance: number): number {
  const most = Math.min(MAX_DELAY_MS, backoffMs * 2 ** (attempt - 1));
  return Math.round(most / 2 + (most / 2) * chance);
}
