/** Several terms that count as one: alternatives, and what begins with a prefix. */
import { isUnspacedLetter } from './analysis.ts';
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

/** Two letters, each of up to two UTF-16 units. */
const LONGEST_PAIR = 4;

/** The terms that a word stands for: a letter of a script without blanks for every pair that it is in. */
export function idsOfTerm(store: RowStore, term: string): number[] {
  const { dictionary } = store.cache;
  if (isUnspacedLetter(term)) return dictionary.idsHolding(term, LONGEST_PAIR);
  const id = dictionary.find(term);
  return id === undefined ? [] : [id];
}

/** With at least so many of all rows it is sooner to look at all of them than to sort those. */
const MANY = 1 / 16;

/** The rows that have any of the terms, each with the sums of their frequencies; undefined when none has. */
export function unionOf(store: RowStore, ids: readonly number[]): PostingList | undefined {
  const lists = ids.flatMap((id) => store.postings.of(id) ?? []);
  const [only] = lists;
  if (lists.length < 2) return only;
  const entries = lists.reduce((sum, { count }) => sum + count, 0);
  const sums = new Uint32Array(store.rowBound);
  const rows = new Uint32Array(Math.min(entries, store.rowBound));
  let count = 0;
  for (const { chunks } of lists) {
    for (const chunk of chunks) {
      const end = (chunk[0] ?? 0) * 2;
      for (let at = 1; at < end; at += 2) {
        const row = chunk[at] ?? 0;
        const known = sums[row] ?? 0;
        const packed = chunk[at + 1] ?? 0;
        if (known === 0) rows[count++] = row;
        sums[row] = known === 0 ? packed : withOccurrences(known, packed);
      }
    }
  }
  return listOf(sums, count < store.rowBound * MANY ? rows.subarray(0, count).sort() : null, count);
}

/** Of so many rows with a sum; `rows` = which, ascending, null = it is not known. */
function listOf(sums: Uint32Array, rows: Uint32Array | null, count: number): PostingList {
  const chunk = new Uint32Array(1 + count * 2);
  chunk[0] = count;
  let used = 1;
  for (let at = 0; at < (rows ?? sums).length; at += 1) {
    const row = rows === null ? at : (rows[at] ?? 0);
    const sum = sums[row] ?? 0;
    if (sum === 0) continue;
    chunk[used] = row;
    chunk[used + 1] = sum;
    used += 2;
  }
  return new PostingList([chunk], count);
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
