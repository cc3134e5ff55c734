import { stem } from './analysis.ts';
import { grown } from './growable.ts';

const REMEMBERED_WORDS = 65_536;

/** Terms and their small integer ids, counted so that ids of vanished terms are used again. */
export class TermDictionary {
  readonly #ids = new Map<string, number>();
  readonly #terms: string[] = [];
  readonly #free: number[] = [];
  /** Ids of the stems of words, as long as no id has become another term's. */
  #words = new Map<string, number>();
  #uses = new Uint32Array(0);

  /** Number of terms in use. */
  get size(): number {
    return this.#ids.size;
  }

  /** Every id is below this bound. */
  get idBound(): number {
    return this.#terms.length;
  }

  find(term: string): number | undefined {
    return this.#ids.get(term);
  }

  termOf(id: number): string {
    return this.#terms[id] ?? '';
  }

  /** The term's id, with one use more. */
  retain(term: string): number {
    let id = this.#ids.get(term);
    if (id === undefined) {
      id = this.#free.pop() ?? this.#terms.length;
      this.#ids.set(term, id);
      this.#terms[id] = term;
      this.#uses = grown(this.#uses, id + 1);
    }
    this.#uses[id] = (this.#uses[id] ?? 0) + 1;
    return id;
  }

  /** As `retain` of the word's stem, with one look-up for a word that was seen lately. */
  retainWord(word: string): number {
    const known = this.#words.get(word);
    if (known === undefined) {
      const id = this.retain(stem(word));
      if (this.#words.size >= REMEMBERED_WORDS) this.#words = new Map();
      this.#words.set(word, id);
      return id;
    }
    this.#uses[known] = (this.#uses[known] ?? 0) + 1;
    return known;
  }

  /** One use fewer for each id of the list. */
  release(ids: Uint32Array): void {
    for (const id of ids) {
      const left = (this.#uses[id] ?? 0) - 1;
      this.#uses[id] = left;
      if (left > 0) continue;
      this.#ids.delete(this.termOf(id));
      this.#terms[id] = '';
      this.#free.push(id);
      if (this.#words.size > 0) this.#words = new Map();
    }
  }

  /** One use more for each id of the list; the ids must be in use. */
  hold(ids: Uint32Array): void {
    for (const id of ids) this.#uses[id] = (this.#uses[id] ?? 0) + 1;
  }

  retainAll(terms: readonly string[]): Uint32Array {
    return Uint32Array.from(terms, (term) => this.retain(term));
  }
}
