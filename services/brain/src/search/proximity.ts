/** Two query terms count as near when fewer than this many positions apart. */
const WINDOW = 8;
const MAX_PAIRS = 32;

export interface PositionedTerm {
  readonly id: number;
  readonly idf: number;
}

/** Of the ascending `left` positions: how many have `right` directly behind, and how many have one near. */
function countPairs(left: readonly number[], right: readonly number[]): { ordered: number; near: number } {
  let ordered = 0;
  let near = 0;
  let next = 0;
  for (const position of left) {
    while (next < right.length && (right[next] ?? 0) < position) next += 1;
    const behind = (right[next] ?? Infinity) - position;
    const before = position - (right[next - 1] ?? -Infinity);
    if (behind === 1) ordered += 1;
    if (Math.min(behind, before) < WINDOW) near += 1;
  }
  return { ordered, near };
}

function saturated(count: number): number {
  return count / (count + 1);
}

/**
 * For each token list: how close neighbouring query terms stand. Each pair of neighbours in the query adds, weighted
 * by their mean idf, its saturated counts of direct succession and of meetings within the window.
 */
export function proximityScores(texts: readonly Uint32Array[], terms: readonly PositionedTerm[]): number[] {
  const pairs = terms
    .slice(0, MAX_PAIRS + 1)
    .flatMap((left, index) => {
      const right = terms[index + 1];
      return right === undefined || right.id === left.id ? [] : [{ left, right }];
    })
    .slice(0, MAX_PAIRS);
  const wanted = new Set(pairs.flatMap(({ left, right }) => [left.id, right.id]));
  const sieve = new Uint8Array(1_024);
  for (const id of wanted) sieve[id & 1_023] = 1;
  return texts.map((tokens) => {
    const positions = new Map<number, number[]>();
    tokens.forEach((id, position) => {
      if (sieve[id & 1_023] !== 1 || !wanted.has(id)) return;
      const known = positions.get(id);
      if (known === undefined) positions.set(id, [position]);
      else known.push(position);
    });
    let score = 0;
    for (const { left, right } of pairs) {
      const { ordered, near } = countPairs(positions.get(left.id) ?? [], positions.get(right.id) ?? []);
      score += ((left.idf + right.idf) / 2) * (saturated(ordered) + saturated(near));
    }
    return score;
  });
}
