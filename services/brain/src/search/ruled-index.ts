/** The search index of one branch under the row rules: each file on its chain, and nothing indexed that is not shown. */
import { OPEN_CHAIN, type RowChain, type RowChains } from '../ports.ts';
import type { TextToAnalyse } from './analysis-thread.ts';
import { formatOf } from './passages.ts';
import type { IndexedFile } from './row-store.ts';
import { type IndexStats, SearchIndex } from './search-index.ts';
import type { TextsAtHand } from './text-shelf.ts';

interface FileText {
  readonly hash: string;
  readonly content: string;
}

const NO_CHAINS: RowChains = { chainOf: () => OPEN_CHAIN };

/** Marks the hash of a text of which something is left out; never the hash of any content. */
const PARTIAL = 'partial:';

interface HiddenFile {
  readonly hash: string;
  /** By which it was decided what is left of it. */
  readonly chain: number;
}

interface RuledIndexOptions {
  /** A file could not be indexed, so that it is not found. */
  onProblem(error: unknown): void;
  /** Other fields of the file are hidden now: it is found again once its text was `set`. */
  onTextWanted(file: string): void;
}

export class RuledIndex {
  readonly #index: SearchIndex;
  readonly #options: RuledIndexOptions;
  /** Files with hidden fields as they lie on disk; the index holds what is left of them, or nothing. */
  readonly #hidden = new Map<string, HiddenFile>();
  /** What is put in its place from now on is placed by these. */
  #chains: RowChains = NO_CHAINS;
  /** Every file stands as `#chains` wants it. */
  #isArranged = true;

  /** Takes over an index of which it is not known under which rules it was made. */
  constructor(index: SearchIndex, options: RuledIndexOptions) {
    this.#index = index;
    this.#options = options;
    for (const { file, hash, chain } of index.files()) {
      if (hash.startsWith(PARTIAL)) index.delete(file);
      else if (chain !== OPEN_CHAIN.id) index.rechain(file, OPEN_CHAIN.id);
    }
  }

  /** Adds or replaces a file, by its text as it lies on disk. */
  set(file: string, { hash, content }: FileText): void {
    this.#place(file, { hash, content }, this.#chains.chainOf(file));
  }

  /**
   * What `set` will index of the file as the rules are now, so that it can be analysed before; null when nothing of it
   * is to be found.
   */
  analysable(file: string, text: FileText): TextToAnalyse | null {
    const chain = this.#chains.chainOf(file);
    if (!chain.hides(file)) return { format: formatOf(file), ...text };
    const content = chain.indexed(file, text.content);
    return content === null ? null : { format: formatOf(file), hash: partialHash(chain, text.hash), content };
  }

  delete(file: string): boolean {
    const wasHidden = this.#hidden.delete(file);
    return this.#index.delete(file) || wasHidden;
  }

  /** What it shows of files. */
  get texts(): TextsAtHand {
    return this.#index.texts;
  }

  /** What of the text is shown to anybody, as the rules are now; null = nothing. */
  shownText(file: string, content: string): string | null {
    const chain = this.#chains.chainOf(file);
    return chain.hides(file) ? chain.indexed(file, content) : content;
  }

  /** The hash of the text as it lies on disk. */
  hashOf(file: string): string | null {
    return this.#hidden.get(file)?.hash ?? this.#index.hashOf(file);
  }

  /** The files of which all is indexed as they are, and what else there may be; null when it changed meanwhile. */
  copy(): Generator<void, SearchIndex | null> {
    return SearchIndex.copyOf(this.#index);
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
    if (chains !== this.#chains || !this.#isArranged) for (const _step of this.arrange(chains));
    return this.#index;
  }

  /** The same in steps, between which anything else may happen to the index; it ends when that was `under` other rules. */
  *arrange(chains: RowChains): Generator<void, void> {
    if (chains === this.#chains && this.#isArranged) return;
    this.#chains = chains;
    this.#isArranged = false;
    for (const { file } of this.#index.files()) {
      this.arrangeAgain(chains, file);
      yield;
      if (this.#chains !== chains) return;
    }
    // Those of which nothing was left are in no index.
    for (const [file, { chain }] of this.#hidden) {
      if (!this.#index.has(file) && chains.chainOf(file).id !== chain) this.#wantText(file);
      yield;
      if (this.#chains !== chains) return;
    }
    // Last: one that was left in the middle is arranged again before anybody is answered from it.
    this.#isArranged = true;
  }

  /** Puts one file in its place again: what holds for it changed while the rules stayed the same. */
  arrangeAgain(chains: RowChains, file: string): void {
    const entry = this.#index.fileOf(file);
    if (entry !== null) this.#rearrange(entry, chains.chainOf(file));
  }

  /** Whether the file stands in the index as these rules want it. */
  isUnder(chains: RowChains, file: string): boolean {
    const entry = this.#index.fileOf(file);
    const chain = chains.chainOf(file);
    if (entry?.chain !== chain.id) return false;
    const hidden = this.#hidden.get(file);
    if (!chain.hides(file)) return hidden === undefined && !entry.hash.startsWith(PARTIAL);
    return hidden !== undefined && entry.hash === partialHash(chain, hidden.hash);
  }

  /** The file as it may be kept outside of memory; null when something of it is hidden. */
  whole(file: string): IndexedFile | null {
    return this.#hidden.has(file) ? null : this.#index.fileOf(file);
  }

  /** All that `whole` answers, in no particular order. */
  *wholeFiles(): Generator<IndexedFile> {
    for (const file of this.#index.files()) if (!this.#hidden.has(file.file)) yield file;
  }

  #rearrange({ file, chain: before }: IndexedFile, chain: RowChain): void {
    if (before === chain.id) return;
    if (!this.#hidden.has(file) && !chain.hides(file)) this.#index.rechain(file, chain.id);
    else this.#wantText(file);
  }

  /** Until it is there nothing of the file is found. */
  #wantText(file: string): void {
    this.#index.delete(file);
    this.#hidden.delete(file);
    this.#options.onTextWanted(file);
  }

  /** What was indexed of the file goes first, so that nothing of it is left where anything fails. */
  #place(file: string, text: FileText, chain: RowChain): void {
    this.#index.delete(file);
    const hides = chain.hides(file);
    if (hides) this.#hidden.set(file, { hash: text.hash, chain: chain.id });
    else this.#hidden.delete(file);
    try {
      const content = hides ? chain.indexed(file, text.content) : text.content;
      const hash = hides ? partialHash(chain, text.hash) : text.hash;
      if (content !== null) this.#index.set({ file, content, hash, chain: chain.id });
    } catch (error) {
      // One file that cannot be indexed is not found; every other one is.
      this.#index.delete(file);
      this.#options.onProblem(error);
    }
  }
}

function partialHash({ id }: RowChain, hash: string): string {
  return `${PARTIAL}${id}:${hash}`;
}
