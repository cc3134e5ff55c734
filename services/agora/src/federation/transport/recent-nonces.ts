/** Nonces that this process has seen spent, so that a message which is sent again costs no statement. The rows are the truth. */

/** Longer than the time for which a message counts. */
export const NONCE_KEPT_MS = 15 * 60_000;
const MAX_KEPT = 100_000;

export type RecentNonces = ReturnType<typeof createRecentNonces>;

export function createRecentNonces(now: () => number) {
  /** In the order in which they came. */
  const seen = new Map<string, number>();
  function forgetOld(): void {
    for (const [key, at] of seen) {
      if (seen.size <= MAX_KEPT && now() - at < NONCE_KEPT_MS) return;
      seen.delete(key);
    }
  }
  return {
    has: (sender: string, nonce: string): boolean => seen.has(`${sender} ${nonce}`),
    add(sender: string, nonce: string): void {
      seen.set(`${sender} ${nonce}`, now());
      forgetOld();
    },
  };
}
