/** Seeded randomness: one seed per run, printed with every failure, so that a run can be repeated. */
export interface Random {
  /** 0 <= value < 1 */
  next(): number;
  /** from <= value < to */
  int(from: number, to: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** mulberry32 */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from));
  return {
    next,
    int,
    pick(items) {
      const item = items[int(0, items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
  };
}
