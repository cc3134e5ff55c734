/** Which rows hold a phrase. */
import type { RowTerms } from './analysed-file.ts';
import type { Phrase } from './analysis.ts';
import type { PostingList } from './posting-list.ts';
import { type IndexedFile, type RowStore, titleTokens } from './row-store.ts';
import { isSameSpeltAsTwo, mayHaveLettersSpeltAsTwo } from './spelt-as-two.ts';
import { idsOfTerm, unionOf } from './term-union.ts';
import type { View } from './view.ts';

/** Each phrase is a bit of a byte. */
const MOST_PHRASES = 8;

/** Term ids of which one has to stand in each place. */
type Places = readonly ReadonlySet<number>[];

/** Told of a row, and of the phrases that it holds: bit n for phrase n, at least one. */
type HeldSink = (row: number, held: number) => void;

/**
 * Looks for all of the phrases in the rows that have the words of one, each row once. A phrase stands in the text, the
 * headings, the title, the path or the tags, without anything between its words but the second spelling of one of them.
 */
export function findPhrases(
  store: RowStore,
  { mask }: View,
  phrases: readonly Phrase[],
  sink: HeldSink,
  isSkipped: (row: number) => boolean = () => false,
): void {
  const wanted = phrases.slice(0, MOST_PHRASES).map((phrase) => placesOf(store, phrase));
  const bits = possiblePhrases(store, wanted);
  const matcher = new PhraseMatcher(store, wanted);
  for (let row = 0; row < bits.length; row += 1) {
    const possible = bits[row] ?? 0;
    if (possible === 0 || (mask !== null && mask[store.chainOf[row] ?? 0] === 0) || isSkipped(row)) continue;
    const held = matcher.heldBy(row, possible);
    if (held !== 0) sink(row, held);
  }
}

/** By row: the phrases of which it has all words. */
function possiblePhrases(store: RowStore, phrases: readonly Places[]): Uint8Array {
  const bits = new Uint8Array(store.rowBound);
  for (const [number, places] of phrases.entries()) {
    for (const row of rowsWithAll(store, places)) bits[row] = (bits[row] ?? 0) | (1 << number);
  }
  return bits;
}

function placesOf(store: RowStore, phrase: Phrase): Places {
  return phrase.map((spellings) => new Set(spellings.flatMap((term) => idsOfTerm(store, term))));
}

/** Ascending. */
function rowsWithAll(store: RowStore, places: Places): number[] {
  const lists = places.map((ids) => unionOf(store, [...ids])).sort((a, b) => (a?.count ?? 0) - (b?.count ?? 0));
  const known = lists.flatMap((list) => list ?? []);
  if (known.length < lists.length) return [];
  const [rarest, ...others] = known;
  return others.reduce(rowsAlsoIn, rarest === undefined ? [] : rowsOf(rarest));
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

const RESPELT = 1;
const NOT_RESPELT = 2;

class PhraseMatcher {
  readonly #store: RowStore;
  readonly #phrases: readonly Places[];
  /** By term id: the phrases that begin with it. */
  readonly #begins: Uint8Array;
  /** Phrases of one word, which every row with that word holds. */
  readonly #single: number;
  /** By term id: whether letters in it may be one that is spelt as two; 0 = not known. */
  readonly #respelt: Uint8Array;
  /** The file that was looked at last, and the phrases that its title, path or tags hold. */
  #file: IndexedFile | undefined;
  #named = 0;

  constructor(store: RowStore, phrases: readonly Places[]) {
    this.#store = store;
    this.#phrases = phrases;
    this.#begins = new Uint8Array(store.cache.dictionary.idBound);
    this.#respelt = new Uint8Array(store.cache.dictionary.idBound);
    let single = 0;
    for (const [number, places] of phrases.entries()) {
      const bit = 1 << number;
      if (places.length === 1) single |= bit;
      for (const id of places[0] ?? []) this.#begins[id] = (this.#begins[id] ?? 0) | bit;
    }
    this.#single = single;
  }

  /** Of the possible phrases, those that the row holds. */
  heldBy(row: number, possible: number): number {
    const single = possible & this.#single;
    const open = possible & ~single;
    const file = open === 0 ? undefined : this.#store.fileAt[this.#store.slotOf[row] ?? 0];
    if (file === undefined) return single;
    return single | this.#heldInOrder(file, this.#store.ordinalOf[row] ?? 0, open);
  }

  #heldInOrder(file: IndexedFile, ordinal: number, possible: number): number {
    const named = this.#namedBy(file) & possible;
    return named === possible ? named : named | this.#heldByText(file.analysed.rowTerms(ordinal), possible & ~named);
  }

  #heldByText({ terms, headings, end }: RowTerms, possible: number): number {
    const inText = this.#heldIn(terms, 0, headings, possible);
    return inText | this.#heldIn(terms, headings, end, possible & ~inText);
  }

  /** All of the phrases that the file's names hold, as each of its rows does. */
  #namedBy(file: IndexedFile): number {
    if (this.#file === file) return this.#named;
    const all = (1 << this.#phrases.length) - 1;
    const fields = [titleTokens(file), file.nameTokens.slice(0, file.titleFrom), file.analysed.tagTerms];
    this.#named = fields.reduce((held, field) => held | this.#heldIn(field, 0, field.length, all), 0);
    this.#file = file;
    return this.#named;
  }

  #heldIn(tokens: ArrayLike<number>, from: number, to: number, possible: number): number {
    let open = possible;
    for (let at = from; at < to && open !== 0; at += 1) {
      for (let begun = (this.#begins[tokens[at] ?? 0] ?? 0) & open; begun !== 0; begun &= begun - 1) {
        const number = 31 - Math.clz32(begun & -begun);
        if (this.#goesOn(this.#phrases[number] ?? [], tokens, at, to)) open &= ~(1 << number);
      }
    }
    return possible & ~open;
  }

  /** Whether the phrase stands there; its first word does. */
  #goesOn(places: Places, tokens: ArrayLike<number>, at: number, end: number): boolean {
    let found = at;
    for (let place = 1; place < places.length; place += 1) {
      const ids = places[place] ?? new Set<number>();
      let next = this.#placeAt(ids, tokens, found + 1, end);
      if (next < 0) {
        const behind = this.#placeAt(ids, tokens, found + 2, end);
        if (behind >= 0 && this.#isRespelt(tokens, found)) next = behind;
      }
      if (next < 0) return false;
      found = next;
    }
    return true;
  }

  /** Where one of the terms stands as the word that begins at `at`, in its first or second spelling; -1 = it does not. */
  #placeAt(ids: ReadonlySet<number>, tokens: ArrayLike<number>, at: number, end: number): number {
    if (at < end && ids.has(tokens[at] ?? -1)) return at;
    return at + 1 < end && ids.has(tokens[at + 1] ?? -1) && this.#isRespelt(tokens, at) ? at + 1 : -1;
  }

  /** Whether the next term is the second spelling of the one there. */
  #isRespelt(tokens: ArrayLike<number>, at: number): boolean {
    const { dictionary } = this.#store.cache;
    const other = tokens[at + 1] ?? 0;
    if (this.#respelt[other] === 0)
      this.#respelt[other] = mayHaveLettersSpeltAsTwo(dictionary.termOf(other)) ? RESPELT : NOT_RESPELT;
    return (
      this.#respelt[other] === RESPELT && isSameSpeltAsTwo(dictionary.termOf(tokens[at] ?? 0), dictionary.termOf(other))
    );
  }
}
