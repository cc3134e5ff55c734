/** Counts work under way and tells when there is none. */
export class IdleGate {
  #active = 0;
  #waiters: (() => void)[] = [];

  enter(): void {
    this.#active += 1;
  }

  leave(): void {
    this.#active -= 1;
    if (this.#active === 0 && this.#waiters.length > 0) {
      for (const wake of this.#waiters.splice(0)) wake();
    }
  }

  /** Resolves as soon as nothing is under way. */
  async idle(): Promise<void> {
    if (this.#active > 0) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }
}
