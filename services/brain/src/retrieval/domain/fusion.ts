/** Several ranked lists made into one. */

/** Flattens the difference between the first places of a list. The value of the literature; 60 was not held against others. */
const RANK_OFFSET = 60;
const DIGITS = 1e9;

export interface Fused<Row> {
  /** As the first list that has it shows it. */
  readonly row: Row;
  readonly score: number;
  /** The lists that have it, by their place among all of them. */
  readonly lists: readonly number[];
  /** What each of those lists adds to the score. */
  readonly shares: readonly number[];
}

/** What a row adds to the score of its key, by its place in its list (from 0) and by that list. */
type Share<Row> = (row: Row, rank: number, list: readonly Row[], place: number) => number;

/** Best first; equal scores in order of first appearance. */
function fuse<Row>(lists: readonly (readonly Row[])[], keyOf: (row: Row) => string, share: Share<Row>): Fused<Row>[] {
  const fused = new Map<string, { row: Row; score: number; lists: number[]; shares: number[] }>();
  for (const [place, list] of lists.entries()) {
    for (const [rank, row] of list.entries()) {
      const key = keyOf(row);
      const known = fused.get(key) ?? { row, score: 0, lists: [], shares: [] };
      fused.set(key, known);
      const added = share(row, rank, list, place);
      known.score += added;
      known.lists.push(place);
      known.shares.push(added);
    }
  }
  return [...fused.values()]
    .map((entry) => ({ ...entry, score: Math.round(entry.score * DIGITS) / DIGITS }))
    .sort((a, b) => b.score - a.score);
}

/** Reciprocal rank fusion: for lists whose scores cannot be compared. A list names each key once. */
export function fuseByRank<Row>(lists: readonly (readonly Row[])[], keyOf: (row: Row) => string): Fused<Row>[] {
  return fuse(lists, keyOf, (_row, rank) => 1 / (RANK_OFFSET + rank + 1));
}

/** Scores relative to the best of their list, each list with its weight. */
export function fuseByScore<Row extends { readonly score: number }>(
  lists: readonly (readonly Row[])[],
  weights: readonly number[],
  keyOf: (row: Row) => string,
): Fused<Row>[] {
  return fuse(lists, keyOf, ({ score }, _rank, list, place) => {
    const top = list[0]?.score ?? 0;
    return top > 0 ? ((weights[place] ?? 0) * score) / top : 0;
  });
}
