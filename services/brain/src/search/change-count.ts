/** Changes since an index was last in memory, and whether they make it worth having before the first search. */

/** So many do, once they have ceased for a moment or go on for long. */
const WARM_AFTER_CHANGES = 256;
const QUIET_MS = 500;
const LATEST_MS = 10_000;

export class ChangeCount {
  #count = 0;
  #firstAt = 0;
  #lastAt = 0;

  get count(): number {
    return this.#count;
  }

  note(now: number): void {
    this.#lastAt = now;
    if (this.#count === 0) this.#firstAt = now;
    this.#count += 1;
  }

  /** So many are known of. */
  reset(count: number): void {
    this.#count = count;
  }

  isWorthWarming(now: number): boolean {
    if (this.#count < WARM_AFTER_CHANGES) return false;
    return now - this.#lastAt >= QUIET_MS || now - this.#firstAt >= LATEST_MS;
  }
}
