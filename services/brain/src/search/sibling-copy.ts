/** A branch mostly has the files of another: its index begins as a copy, and what differs is made up for as any change is. */
import type { IndexMemory } from './index-memory.ts';
import type { RuledIndex } from './ruled-index.ts';
import type { SearchIndex } from './search-index.ts';
import { Slices } from '../thread/slices.ts';

/** By path: the hash of what it holds, null = not known before it is read. */
type WantedFiles = ReadonlyMap<string, string | null>;

/** What two branches must have in common for changes to cost less than all of it. */
const NEARLY_SAME = 0.75;

/**
 * Null when none is near enough, there is no memory for it, or it changed or went while it was copied. `siblings` answers
 * with those that are in memory now.
 */
export async function copyOfNearest(
  wanted: WantedFiles,
  siblings: () => Iterable<RuledIndex>,
  { bytes, limitBytes }: Pick<IndexMemory, 'bytes' | 'limitBytes'>,
): Promise<SearchIndex | null> {
  const slices = new Slices();
  const sibling = await slices.run(nearestOf(wanted, [...siblings()]));
  // Whoever looked for long may have found one that has left memory since.
  if (sibling === null || !new Set(siblings()).has(sibling)) return null;
  if (bytes + sibling.stats().estimatedBytes > limitBytes) return null;
  return slices.run(sibling.copy());
}

function* nearestOf(wanted: WantedFiles, siblings: readonly RuledIndex[]): Generator<void, RuledIndex | null> {
  let [nearest, most]: [RuledIndex | null, number] = [null, wanted.size * NEARLY_SAME];
  for (const sibling of siblings) {
    const same = yield* sameFiles(wanted, sibling);
    const others = sibling.stats().files - same;
    if (same - others > most) [nearest, most] = [sibling, same - others];
  }
  return nearest;
}

function* sameFiles(wanted: WantedFiles, sibling: RuledIndex): Generator<void, number> {
  let same = 0;
  for (const [path, hash] of wanted) {
    if (hash === null) return 0;
    if (sibling.hashOf(path) === hash) same += 1;
    yield;
  }
  return same;
}
