import { grown } from './growable.ts';

/** Terms and their small integer ids, counted so that ids of vanished terms are used again. */
export class TermDictionary {
  readonly #ids = new Map<string, number>();
  readonly #terms: string[] = [];
  readonly #free: number[] = [];
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

  /** One use fewer for each id of the list. */
  release(ids: Uint32Array): void {
    for (const id of ids) {
      const left = (this.#uses[id] ?? 0) - 1;
      this.#uses[id] = left;
      if (left > 0) continue;
      this.#ids.delete(this.termOf(id));
      this.#terms[id] = '';
      this.#free.push(id);
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
