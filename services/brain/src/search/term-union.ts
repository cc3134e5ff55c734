/** Several terms that count as one: alternatives, and what begins with a prefix. */
import { withOccurrences } from './fields.ts';
import { PostingList } from './posting-list.ts';
import type { RowStore } from './row-store.ts';
import { lettersOf } from './term-dictionary.ts';
import { rowsOfTerm, type View } from './view.ts';

/** Of a prefix that begins more, those count that most rows have. */
const MOST_TERMS = 64;
const LONGEST_TERM = 64;
/** A stem may lack so many letters of what was typed. */
const MOST_CUT = 3;
const SHORTEST_STEM = 4;

/** The rows that have any of the terms, each with the sums of their frequencies; undefined when none has. */
export function unionOf(store: RowStore, ids: readonly number[]): PostingList | undefined {
  const lists = ids.flatMap((id) => store.postings.of(id) ?? []);
  const [only] = lists;
  if (lists.length < 2) return only;
  const packedOf = new Map<number, number>();
  for (const { chunks } of lists) {
    for (const chunk of chunks) {
      const end = (chunk[0] ?? 0) * 2;
      for (let at = 1; at < end; at += 2) {
        const [row, packed] = [chunk[at] ?? 0, chunk[at + 1] ?? 0];
        const known = packedOf.get(row);
        packedOf.set(row, known === undefined ? packed : withOccurrences(known, packed));
      }
    }
  }
  const chunk = new Uint32Array(1 + packedOf.size * 2);
  chunk[0] = packedOf.size;
  [...packedOf.keys()].sort((a, b) => a - b).forEach((row, at) => chunk.set([row, packedOf.get(row) ?? 0], 1 + at * 2));
  return new PostingList([chunk], packedOf.size);
}

/** Terms of the admitted rows that begin so, or that are the stem of what was typed, in order. */
export function idsOfPrefix(store: RowStore, view: View, prefix: string): number[] {
  const { dictionary } = store.cache;
  const least = Math.max(Math.min(SHORTEST_STEM, prefix.length), prefix.length - MOST_CUT);
  const letters = lettersOf(prefix);
  const mayBelong = (others: number): boolean => (letters & ~others) === 0 || (others & ~letters) === 0;
  const found: { id: number; term: string; count: number }[] = [];
  for (const id of dictionary.idsStarting(prefix.charCodeAt(0), least, LONGEST_TERM, mayBelong)) {
    const term = dictionary.termOf(id);
    if (!term.startsWith(prefix) && !prefix.startsWith(term)) continue;
    const count = rowsOfTerm(store, view, id);
    if (count > 0) found.push({ id, term, count });
  }
  return found
    .sort((a, b) => b.count - a.count || (a.term < b.term ? -1 : 1))
    .slice(0, MOST_TERMS)
    .map(({ id }) => id);
}
