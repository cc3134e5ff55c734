/** Lines that stand once in each of three versions, in the same order: fixed points of a merge. */

/** Positions of one line in base, ours and theirs. */
export type Anchor = readonly [base: number, ours: number, theirs: number];

type Lines = readonly string[];

/** As many as can be had in an order that all three share (first base and ours, of those then theirs). */
export function findAnchors(base: Lines, ours: Lines, theirs: Lines): readonly Anchor[] {
  const [inOurs, inTheirs] = [uniqueLines(ours), uniqueLines(theirs)];
  const shared = [...uniqueLines(base)].flatMap(([line, index]): Anchor[] => {
    const [our, their] = [inOurs.get(line), inTheirs.get(line)];
    return our === undefined || their === undefined ? [] : [[index, our, their]];
  });
  return longestIncreasing(longestIncreasing(shared, 1), 2);
}

function uniqueLines(lines: Lines): Map<string, number> {
  const repeated = new Set<string>();
  const positions = new Map<string, number>();
  for (const [index, line] of lines.entries()) {
    if (positions.has(line)) repeated.add(line);
    else positions.set(line, index);
  }
  for (const line of repeated) positions.delete(line);
  return positions;
}

/** The longest subsequence in which the positions under `version` increase (patience sorting, n log n). */
function longestIncreasing(anchors: readonly Anchor[], version: 1 | 2): readonly Anchor[] {
  interface Link {
    readonly anchor: Anchor;
    readonly previous: Link | undefined;
  }
  const tails: Link[] = [];
  for (const anchor of anchors) {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((tails[middle]?.anchor[version] ?? 0) < anchor[version]) low = middle + 1;
      else high = middle;
    }
    tails[low] = { anchor, previous: tails[low - 1] };
  }
  const longest: Anchor[] = [];
  for (let link = tails.at(-1); link !== undefined; link = link.previous) longest.push(link.anchor);
  return longest.reverse();
}
