/** How many checkpoints a chain keeps. */

/**
 * Of the ascending seqs of a chain that verifies: the newest, which vouches for all before it, and ever fewer the older
 * they are, so that a change that is made later is still found between two of them. About log2 of the chain's length.
 */
export function thinnedSeqs(ascending: readonly number[]): ReadonlySet<number> {
  const newest = ascending.at(-1);
  const kept = new Set<number>();
  let least = 0;
  for (const seq of ascending.toReversed()) {
    const distance = (newest ?? seq) - seq;
    if (distance < least) continue;
    kept.add(seq);
    least = Math.max(distance * 2, 1);
  }
  return kept;
}
