/** What a commit says and what it changed never changes: what was read of one is not asked of git again for a while. */
import type { LRUCache } from 'lru-cache';

/** In the order of `items`; those that are not known are read together. */
export async function knownOrRead<Item, Value extends object>(
  known: LRUCache<string, Value>,
  items: readonly Item[],
  { keyOf, read }: { keyOf(item: Item): string; read(unknown: readonly Item[]): Promise<readonly Value[]> },
): Promise<Value[]> {
  const values = items.map((item) => known.get(keyOf(item)));
  const unknown = items.filter((_, index) => values[index] === undefined);
  const fresh = unknown.length === 0 ? [] : await read(unknown);
  let next = 0;
  return items.flatMap((item, index) => {
    const value = values[index] ?? fresh[next++];
    if (value === undefined) return [];
    known.set(keyOf(item), value);
    return [value];
  });
}
