import type { AnalysedFile } from './analysed-file.ts';
import { AnalysisCache } from './analysis-cache.ts';
import { analyseQuery } from './analysis.ts';
import { type FeedbackWord, feedbackWords, type FoundPassage } from './feedback.ts';
import { formatOf } from './passages.ts';
import { findRows, type FoundRows, presentFound } from './query.ts';
import { isSameRequest, keptRequest } from './same-request.ts';
import { Workspace } from './workspace.ts';
import { RowStore } from './row-store.ts';
import type { FileIdentity, IndexedFile } from './row-store.ts';
import type { SearchAnswer, SearchRequest } from './search-answer.ts';
import type { TextsAtHand } from './text-shelf.ts';

/** A file as the index is told of it. */
export interface FileSource {
  /** Path in the brain; its extension chooses how the content is split. */
  readonly file: string;
  readonly content: string;
  /** Names the content; shown in results. */
  readonly hash: string;
  /** Small integer >= 0 naming the file's chain of row rules. */
  readonly chain: number;
}

export interface IndexStats {
  readonly files: number;
  /** Passages. */
  readonly rows: number;
  readonly terms: number;
  /** Of this index and of the analyses it holds, also when other indexes share them. */
  readonly estimatedBytes: number;
}

/**
 * The passages of one branch, searchable by BM25F and its hybrid rerank. It is a pure function of the files set: the
 * order and history of changes leave no trace, and for any admitted chains an answer equals, byte for byte, that of
 * an index which holds the admitted files alone.
 */
export class SearchIndex {
  readonly #store: RowStore;
  readonly #work = new Workspace();
  /** What was found last, while texts of it are missing: whoever asks for the same again waits only for those. */
  #unshown: { readonly request: SearchRequest; readonly found: FoundRows; readonly changes: number } | null = null;

  /** Indexes of one brain's branches share a cache, so that equal contents are analysed once. */
  constructor(cache: AnalysisCache = new AnalysisCache()) {
    this.#store = new RowStore(cache);
  }

  get cache(): AnalysisCache {
    return this.#store.cache;
  }

  /** What it shows of files. */
  get texts(): TextsAtHand {
    return this.#store.texts;
  }

  /** Adds or replaces a file; the next search sees it. Costs follow the file's size, not the index's. */
  set(source: FileSource): void {
    this.setAnalysed(source, this.cache.acquire(formatOf(source.file), source.hash, source.content));
  }

  /** As `set`, with an analysis of this index's cache; takes over the caller's hold on it. */
  setAnalysed({ file, hash, chain }: FileIdentity, analysed: AnalysedFile): void {
    this.#store.remove(file);
    this.#store.add({ file, hash, chain }, analysed);
  }

  /** As `setAnalysed` for each, in much less time; only of an empty index, which nobody may use until all is done. */
  setAll(files: Iterable<readonly [FileIdentity, AnalysedFile]>): Generator<void, void> {
    return this.#store.addAll(files);
  }

  /** As another of the same cache is; null when that changed while it was copied. */
  static *copyOf(other: SearchIndex): Generator<void, SearchIndex | null> {
    const index = new SearchIndex(other.cache);
    return (yield* index.#store.copyFrom(other.#store)) ? index : null;
  }

  /** True when the file was in the index. */
  delete(file: string): boolean {
    return this.#store.remove(file);
  }

  has(file: string): boolean {
    return this.#store.files.has(file);
  }

  fileOf(file: string): IndexedFile | null {
    return this.#store.files.get(file) ?? null;
  }

  hashOf(file: string): string | null {
    return this.#store.files.get(file)?.hash ?? null;
  }

  /** Puts an indexed file on another chain; what it holds stays. */
  rechain(file: string, chain: number): void {
    this.#store.rechain(file, chain);
  }

  titleOf(file: string): string | null {
    return this.#store.files.get(file)?.title ?? null;
  }

  /** Every indexed file, in no particular order. */
  files(): Iterable<IndexedFile> {
    return this.#store.files.values();
  }

  /** The shared cache keeps nothing of this index; from the first step on the index must not be used any more. */
  dissolve(): Generator<void, void> {
    return this.#store.dissolve();
  }

  /** Texts that are not at hand are missing in the answer, and named by `texts`. */
  search(request: SearchRequest): SearchAnswer {
    const before = this.#unshown;
    this.#unshown = null;
    const isThere = before?.changes === this.#store.changes && isSameRequest(before.request, request);
    const found = isThere ? before.found : this.#find(request);
    const answer = presentFound(found);
    if (this.texts.isMissing) this.#unshown = { request: keptRequest(request), found, changes: this.#store.changes };
    return answer;
  }

  #find(request: SearchRequest): FoundRows {
    const { rowBound, fileAt } = this.#store;
    this.#work.reserve(rowBound, fileAt.length, this.cache.dictionary.idBound);
    return findRows(this.#store, request, this.#work);
  }

  /** What stands out in passages that it found for the query, heaviest first. */
  expand(query: string, admitted: ReadonlySet<number> | null, passages: readonly FoundPassage[]): FeedbackWord[] {
    return feedbackWords(this.#store, admitted, analyseQuery(query), passages);
  }

  /** Passages of the admitted chains; null = of all. */
  rowsIn(admitted: ReadonlySet<number> | null): number {
    let rows = 0;
    for (const [chain, totals] of this.#store.chains) if (admitted?.has(chain) !== false) rows += totals.rows;
    return rows;
  }

  stats(): IndexStats {
    const { files, postings } = this.#store;
    return {
      files: files.size,
      rows: this.rowsIn(null),
      terms: postings.terms,
      estimatedBytes: this.#store.estimatedBytes(),
    };
  }
}
