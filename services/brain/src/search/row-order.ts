/** In which order rows are shown. */
import type { RowStore } from './row-store.ts';
import { type RowOrder, topRows } from './top-rows.ts';

const NO_PHRASES: ReadonlyMap<number, number> = new Map();

/** Those with more phrases first, then by score, file and place. */
export function rowOrder(store: RowStore, scores: Float64Array, phrased = NO_PHRASES): RowOrder {
  const { slotOf, ordinalOf, fileAt } = store;
  const scoreOf = (row: number): number => scores[row] ?? 0;
  const ordinal = (row: number): number => ordinalOf[row] ?? 0;
  const fileOf = (row: number): string => fileAt[slotOf[row] ?? 0]?.file ?? '';
  const phrases = (row: number): number => phrased.get(row) ?? 0;
  const before = (left: number, right: number): boolean => {
    const more = phrased.size === 0 ? 0 : phrases(left) - phrases(right);
    if (more !== 0) return more > 0;
    const difference = scoreOf(left) - scoreOf(right);
    if (difference !== 0) return difference > 0;
    if (slotOf[left] === slotOf[right]) return ordinal(left) < ordinal(right);
    return fileOf(left) < fileOf(right);
  };
  return { before, scores: phrased.size === 0 ? scores : null };
}

/** The first row of each file, in order, of the first `limit` files. */
export function firstOfFiles({ slotOf }: RowStore, rows: ArrayLike<number>, limit: number, order: RowOrder): number[] {
  for (let count = limit * 2; ; count *= 4) {
    const seen = new Set<number>();
    const first: number[] = [];
    for (const row of topRows(rows, Math.min(count, rows.length), order)) {
      const slot = slotOf[row] ?? 0;
      if (seen.has(slot)) continue;
      seen.add(slot);
      first.push(row);
    }
    if (first.length >= limit || count >= rows.length) return first.slice(0, limit);
  }
}
