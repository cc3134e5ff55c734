/** Which rows an answer may show, and which of them hold a phrase. */
import type { Phrase } from './analysis.ts';
import { findPhrases } from './phrases.ts';
import { isWithin, type ReadQuery } from './query-language.ts';
import type { RowStore } from './row-store.ts';
import type { View } from './view.ts';

/** When a file was written, in milliseconds since the epoch; null = nobody knows. */
export type ChangedAt = (file: string) => number | null;

export interface Narrowing {
  readonly read: Pick<ReadQuery, 'not' | 'paths' | 'since' | 'until'>;
  readonly pathPrefix: string;
  readonly changedAt: ChangedAt;
}

/** How many of the phrases each row holds; rows without any are not in it. */
export function phraseCounts(store: RowStore, view: View, phrases: readonly Phrase[]): Map<number, number> {
  const counts = new Map<number, number>();
  if (phrases.length === 0) return counts;
  findPhrases(store, view, phrases, (row, held) => {
    let count = 0;
    for (let left = held; left !== 0; left &= left - 1) count += 1;
    counts.set(row, count);
  });
  return counts;
}

/** What is known of a file, by its slot; 0 = nothing yet. */
const WANTED = 1;
const UNWANTED = 2;

/** Whether a row's file may be shown; null = every row may. What is asked of a file is asked once. */
export function narrowed(
  store: RowStore,
  view: View,
  { read, pathPrefix, changedAt }: Narrowing,
): ((row: number) => boolean) | null {
  const { not, paths, since, until } = read;
  const hasNone = pathPrefix === '' && not.length + paths.length === 0 && since === null && until === null;
  if (hasNone) return null;
  const isWanted = (file: string): boolean => {
    if (pathPrefix !== '' && !isWithin(file, pathPrefix)) return false;
    if (paths.length > 0 && !paths.some((path) => isWithin(file, path))) return false;
    if (since === null && until === null) return true;
    const at = changedAt(file);
    return at !== null && at >= (since ?? -Infinity) && at < (until ?? Infinity);
  };
  const known = new Uint8Array(store.fileAt.length);
  if (not.length > 0) {
    const exclude = (row: number): void => {
      known[store.slotOf[row] ?? 0] = UNWANTED;
    };
    findPhrases(store, view, not, exclude, (row) => known[store.slotOf[row] ?? 0] === UNWANTED);
  }
  return (row) => {
    const slot = store.slotOf[row] ?? 0;
    if (known[slot] === 0) known[slot] = isWanted(store.fileAt[slot]?.file ?? '') ? WANTED : UNWANTED;
    return known[slot] === WANTED;
  };
}
