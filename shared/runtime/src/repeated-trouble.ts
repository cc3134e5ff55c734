/** Trouble that comes again and again: told when it begins and then now and then, so that a log stays readable until it is over. */

const TOLD_EVERY_MS = 60_000;

export class RepeatedTrouble {
  readonly #told = new Map<string, number>();

  /** Whether it is to be told: the same was not within the last minute. */
  isDue(trouble: string): boolean {
    const now = performance.now();
    for (const [said, at] of this.#told) if (now - at >= TOLD_EVERY_MS) this.#told.delete(said);
    if (this.#told.has(trouble)) return false;
    this.#told.set(trouble, now);
    return true;
  }

  /** It is over: the next one is told at once. */
  end(): void {
    this.#told.clear();
  }
}

/** What an error says and what caused it: that nobody answers has reasons which come one after the other, each to be told. */
export function troubleOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? String(error) : `${String(error)}: ${troubleOf(cause)}`;
}
