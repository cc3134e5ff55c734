/** The search index of one branch under the row rules: each file on its chain, and nothing indexed that is not shown. */
import { OPEN_CHAIN, type RowChain, type RowChains } from '../ports.ts';
import type { IndexedFile } from './row-store.ts';
import type { IndexStats, SearchIndex } from './search-index.ts';

interface FileText {
  readonly hash: string;
  readonly content: string;
}

const NO_CHAINS: RowChains = { chainOf: () => OPEN_CHAIN };

/** Marks the hash of a text of which something is left out; never the hash of any content. */
const PARTIAL = 'partial:';

export class RuledIndex {
  readonly #index: SearchIndex;
  /** Files with hidden fields as they lie on disk; the index holds what is left of them, or nothing. */
  readonly #hidden = new Map<string, FileText>();
  #chains: RowChains = NO_CHAINS;

  /** Takes over an index of which it is not known under which rules it was made. */
  constructor(index: SearchIndex) {
    this.#index = index;
    for (const { file, hash, chain } of index.files()) {
      if (hash.startsWith(PARTIAL)) index.delete(file);
      else if (chain !== OPEN_CHAIN.id) index.rechain(file, OPEN_CHAIN.id);
    }
  }

  /** Adds or replaces a file, by its text as it lies on disk. */
  set(file: string, { hash, content }: FileText): void {
    this.#place(file, { hash, content }, this.#chains.chainOf(file));
  }

  delete(file: string): boolean {
    const wasHidden = this.#hidden.delete(file);
    return this.#index.delete(file) || wasHidden;
  }

  /** The text as it lies on disk, null unless that text is known by that hash. */
  contentOf(file: string, hash: string): string | null {
    const hidden = this.#hidden.get(file);
    if (hidden !== undefined) return hidden.hash === hash ? hidden.content : null;
    return this.#index.contentOf(file, hash);
  }

  /** The hash of the text as it lies on disk. */
  hashOf(file: string): string | null {
    return this.#hidden.get(file)?.hash ?? this.#index.hashOf(file);
  }

  /** Every file of which a text is known, in no particular order. */
  files(): string[] {
    const indexed = Array.from(this.#index.files(), ({ file }) => file);
    return [...indexed, ...[...this.#hidden.keys()].filter((file) => !this.#index.has(file))];
  }

  /** The shared cache keeps nothing of this index; from the first step on the index must not be used any more. */
  dissolve(): Generator<void, void> {
    this.#hidden.clear();
    return this.#index.dissolve();
  }

  stats(): IndexStats {
    return this.#index.stats();
  }

  /** The index as it must be under these rules. Costs nothing while they are the same as before. */
  under(chains: RowChains): SearchIndex {
    if (chains === this.#chains) return this.#index;
    this.#chains = chains;
    for (const entry of this.#index.files()) this.#rearrange(entry, chains.chainOf(entry.file));
    // Those of which nothing was left are in no index.
    for (const [file, text] of this.#hidden) {
      if (!this.#index.has(file)) this.#place(file, text, chains.chainOf(file));
    }
    return this.#index;
  }

  /** The file as it may be kept outside of memory; null when something of it is hidden. */
  whole(file: string): IndexedFile | null {
    return this.#hidden.has(file) ? null : this.#index.fileOf(file);
  }

  /** All that `whole` answers, in no particular order. */
  *wholeFiles(): Generator<IndexedFile> {
    for (const file of this.#index.files()) if (!this.#hidden.has(file.file)) yield file;
  }

  #rearrange({ file, hash, chain: before, analysed }: IndexedFile, chain: RowChain): void {
    if (before === chain.id) return;
    const hidden = this.#hidden.get(file);
    if (hidden === undefined && !chain.hides(file)) this.#index.rechain(file, chain.id);
    else this.#place(file, hidden ?? { hash, content: analysed.text.toString() }, chain);
  }

  #place(file: string, text: FileText, chain: RowChain): void {
    const { id } = chain;
    const { hash, content } = text;
    if (!chain.hides(file)) {
      this.#hidden.delete(file);
      this.#index.set({ file, content, hash, chain: id });
      return;
    }
    this.#hidden.set(file, text);
    const indexed = chain.indexed(file, content);
    if (indexed === null) this.#index.delete(file);
    else this.#index.set({ file, content: indexed, hash: `${PARTIAL}${id}:${hash}`, chain: id });
  }
}
