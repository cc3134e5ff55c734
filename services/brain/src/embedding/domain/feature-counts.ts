/** How often each feature occurs, and its weight of the last time, in the order in which they came. Used again and again. */

const FIRST_SLOTS = 8192;

export class FeatureCounts {
  #hashes = new Uint32Array(FIRST_SLOTS);
  /** 0 = the slot is free. */
  #counts = new Uint32Array(FIRST_SLOTS);
  #weights = new Float64Array(FIRST_SLOTS);
  /** Slots in use, in order. */
  #order = new Uint32Array(FIRST_SLOTS / 2);
  #size = 0;

  add(hash: number, weight: number): void {
    let slot = this.#slotOf(hash);
    if (this.#counts[slot] === 0) {
      if (this.#size === this.#order.length) {
        this.#grow();
        slot = this.#slotOf(hash);
      }
      this.#hashes[slot] = hash;
      this.#order[this.#size++] = slot;
    }
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
    this.#weights[slot] = weight;
  }

  /** Calls `sink` with each feature, and forgets all of them. */
  drain(sink: (hash: number, weight: number, count: number) => void): void {
    for (const slot of this.#order.subarray(0, this.#size)) {
      sink(this.#hashes[slot] ?? 0, this.#weights[slot] ?? 0, this.#counts[slot] ?? 0);
      this.#counts[slot] = 0;
    }
    this.#size = 0;
  }

  #slotOf(hash: number): number {
    const mask = this.#counts.length - 1;
    let slot = hash & mask;
    while (this.#counts[slot] !== 0 && this.#hashes[slot] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [hashes, counts, weights, order] = [this.#hashes, this.#counts, this.#weights, this.#order];
    const slots = 2 * counts.length;
    this.#hashes = new Uint32Array(slots);
    this.#counts = new Uint32Array(slots);
    this.#weights = new Float64Array(slots);
    this.#order = new Uint32Array(slots / 2);
    for (const [place, old] of order.entries()) {
      const slot = this.#slotOf(hashes[old] ?? 0);
      this.#hashes[slot] = hashes[old] ?? 0;
      this.#counts[slot] = counts[old] ?? 0;
      this.#weights[slot] = weights[old] ?? 0;
      this.#order[place] = slot;
    }
  }
}
