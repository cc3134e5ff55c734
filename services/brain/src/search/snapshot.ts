/** A whole index as blocks and back; the file they lie in is the affair of SnapshotLog. */
import type { AnalysedFile } from './analysed-file.ts';
import { AnalysisCache } from './analysis-cache.ts';
import type { FileIdentity, IndexedFile } from './row-store.ts';
import { SearchIndex } from './search-index.ts';
import { type Block, encodeBlock, RestoredTerms, type TermNumbers } from './snapshot-block.ts';

/** Bytes of records in one block, about. */
const BLOCK_RECORD_BYTES = 4 * 1024 * 1024;
const BLOCK_FILES = 2048;

/** Cuts files into runs that make a block each. */
export function* blockRuns(files: Iterable<IndexedFile>): Generator<IndexedFile[]> {
  let run: IndexedFile[] = [];
  let bytes = 0;
  for (const file of files) {
    run.push(file);
    bytes += file.analysed.bytes;
    if (run.length < BLOCK_FILES && bytes < BLOCK_RECORD_BYTES) continue;
    yield run;
    run = [];
    bytes = 0;
  }
  if (run.length > 0) yield run;
}

export function encodeFiles(
  numbers: TermNumbers,
  files: readonly IndexedFile[],
  deleted: readonly string[] = [],
): Uint8Array {
  const analyses = [...new Set(files.map(({ analysed }) => analysed))];
  return encodeBlock(numbers, { analyses, files, deleted });
}

/** The files of several blocks, as the last block that names them has them. */
export class BlockFiles {
  readonly #blocks: Block[] = [];
  readonly #places = new Map<string, { readonly block: Block; readonly content: number }>();

  add(block: Block): void {
    this.#blocks.push(block);
    for (const path of block.deleted) this.#places.delete(path);
    for (const [number, path] of block.files.entries())
      this.#places.set(path, { block, content: block.contentOf(number) });
  }

  paths(): Iterable<string> {
    return this.#places.keys();
  }

  get size(): number {
    return this.#places.size;
  }

  /**
   * Restores the files whose hash is the wanted one, each with a hold on its analysis, block by block. Once only:
   * the blocks are used up.
   */
  *restore(
    cache: AnalysisCache,
    isWanted: (path: string, hash: string) => boolean,
  ): Generator<(readonly [FileIdentity, AnalysedFile])[]> {
    const wanted = new Map<Block, { path: string; content: number }[]>(this.#blocks.map((block) => [block, []]));
    for (const [path, { block, content }] of this.#places) {
      if (isWanted(path, block.hashOf(content))) wanted.get(block)?.push({ path, content });
    }
    const terms = new RestoredTerms(cache.dictionary);
    try {
      for (const [block, files] of wanted) {
        const contents = new Set(files.map(({ content }) => content));
        const analyses = block.restore(cache, terms, (content) => contents.has(content));
        yield restoredFiles(block, files, analyses);
        for (const analysed of analyses.values()) cache.release(analysed);
      }
    } finally {
      terms.release();
    }
  }
}

function restoredFiles(
  block: Block,
  files: readonly { path: string; content: number }[],
  analyses: ReadonlyMap<number, AnalysedFile>,
) {
  return files.flatMap(({ path, content }) => {
    const analysed = analyses.get(content);
    if (analysed === undefined) return [];
    return [[{ file: path, hash: block.hashOf(content), chain: 0 }, analysed.hold()] as const];
  });
}

/** The index of some blocks, all of their files on chain 0. */
export function indexOfBlocks(blocks: readonly Block[], cache: AnalysisCache = new AnalysisCache()): SearchIndex {
  const files = new BlockFiles();
  for (const block of blocks) files.add(block);
  const index = new SearchIndex(cache);
  const restored = [...files.restore(cache, () => true)].flat();
  for (const _step of index.setAll(restored));
  return index;
}
