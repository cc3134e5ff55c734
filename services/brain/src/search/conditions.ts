/** Which rows an answer may show, and which of them hold a phrase. */
import { isWithin, type ReadQuery } from './query-language.ts';
import type { PostingList } from './posting-list.ts';
import { type IndexedFile, type RowStore, titleTokens } from './row-store.ts';

/** When a file was written, in milliseconds since the epoch; null = nobody knows. */
export type ChangedAt = (file: string) => number | null;

export interface Narrowing {
  readonly read: Pick<ReadQuery, 'not' | 'paths' | 'since' | 'until'>;
  readonly pathPrefix: string;
  readonly changedAt: ChangedAt;
}

function holdsAt(tokens: ArrayLike<number>, at: number, ids: readonly number[]): boolean {
  for (let place = 0; place < ids.length; place += 1) if (tokens[at + place] !== ids[place]) return false;
  return true;
}

function holds(tokens: ArrayLike<number>, ids: readonly number[]): boolean {
  for (let at = 0; at + ids.length <= tokens.length; at += 1) if (holdsAt(tokens, at, ids)) return true;
  return false;
}

/** In its text, its headings, the title, the path or the tags. */
function rowHolds(file: IndexedFile, ordinal: number, ids: readonly number[]): boolean {
  const { terms, headings, end } = file.analysed.rowTerms(ordinal);
  if (holds(terms.subarray(0, headings), ids) || holds(terms.subarray(headings, end), ids)) return true;
  const path = file.nameTokens.slice(0, file.titleFrom);
  return [titleTokens(file), path, file.analysed.tagTerms].some((field) => holds(field, ids));
}

/** Whether a row with all the terms has them in order. */
function inOrder(store: RowStore, row: number, ids: readonly number[]): boolean {
  const entry = store.fileAt[store.slotOf[row] ?? 0];
  return ids.length === 1 || (entry !== undefined && rowHolds(entry, store.ordinalOf[row] ?? 0, ids));
}

/** The rows that hold the terms in that order, without anything between. */
function rowsWith(store: RowStore, terms: readonly string[]): number[] {
  const { dictionary } = store.cache;
  const ids = terms.map((term) => dictionary.find(term) ?? -1);
  const lists = [...new Set(ids)].map((id) => store.postings.of(id)).sort((a, b) => (a?.count ?? 0) - (b?.count ?? 0));
  const known = lists.flatMap((list) => list ?? []);
  if (known.length < lists.length) return [];
  const [rarest, ...others] = known;
  const rows = others.reduce(rowsAlsoIn, rarest === undefined ? [] : rowsOf(rarest));
  return rows.filter((row) => inOrder(store, row, ids));
}

function rowsOf({ chunks }: PostingList): number[] {
  const rows: number[] = [];
  for (const chunk of chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end; at += 2) rows.push(chunk[at] ?? 0);
  }
  return rows;
}

/** Looking up one row costs about as much as reading so many entries of a list. */
const LOOKUP_COST = 16;

/** Those of the ascending rows that are in the list. */
function rowsAlsoIn(rows: readonly number[], list: PostingList): number[] {
  if (rows.length * LOOKUP_COST < list.count) return rows.filter((row) => list.get(row) !== 0);
  const found: number[] = [];
  let next = 0;
  for (const chunk of list.chunks) {
    const end = (chunk[0] ?? 0) * 2;
    for (let at = 1; at < end && next < rows.length; at += 2) {
      const row = chunk[at] ?? 0;
      while (next < rows.length && (rows[next] ?? 0) < row) next += 1;
      if (rows[next] === row) found.push(row);
    }
  }
  return found;
}

/** How many of the phrases each row holds; rows without any are not in it. */
export function phraseCounts(store: RowStore, phrases: readonly (readonly string[])[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const phrase of phrases) for (const row of rowsWith(store, phrase)) counts.set(row, (counts.get(row) ?? 0) + 1);
  return counts;
}

/** What is known of a file, by its slot; 0 = nothing yet. */
const WANTED = 1;
const UNWANTED = 2;

/** Whether a row's file may be shown; null = every row may. What is asked of a file is asked once. */
export function narrowed(
  store: RowStore,
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
  for (const terms of not) for (const row of rowsWith(store, terms)) known[store.slotOf[row] ?? 0] = UNWANTED;
  return (row) => {
    const slot = store.slotOf[row] ?? 0;
    if (known[slot] === 0) known[slot] = isWanted(store.fileAt[slot]?.file ?? '') ? WANTED : UNWANTED;
    return known[slot] === WANTED;
  };
}
