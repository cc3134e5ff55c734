/** Makes the index of a branch view that is not in memory: from its snapshot, and from the texts that are not in that. */
import type { AnalysedFile } from './analysed-file.ts';
import type { AnalysisCache } from './analysis-cache.ts';
import type { IndexMemory } from './index-memory.ts';
import type { IndexRoom } from './index-room.ts';
import type { IndexSaver } from './index-saver.ts';
import { formatOf } from './passages.ts';
import type { FileIdentity } from './row-store.ts';
import { SearchIndex } from './search-index.ts';
import { Slices } from '../thread/slices.ts';
import { analyseTexts } from './text-analyser.ts';
import { readTexts, type TextReading } from './text-source.ts';

/** Texts in hand at once. */
export const BATCH_FILES = 256;

interface Making {
  /** By path: the hash of what it holds, null = as the source has it. */
  readonly wanted: ReadonlyMap<string, string | null>;
  readonly reading: TextReading;
  readonly cache: AnalysisCache;
  readonly memory: IndexMemory;
  readonly room: IndexRoom;
  readonly saver: IndexSaver | null;
}

type Analysed = readonly [FileIdentity, AnalysedFile];

export class IndexMaker {
  readonly #making: Making;
  readonly #files: Analysed[] = [];

  constructor(making: Making) {
    this.#making = making;
  }

  /** To be called once. Throws what a text or the disk says, and holds no analysis then. */
  async make(): Promise<SearchIndex> {
    const { cache } = this.#making;
    try {
      await this.#restore();
      await this.#analyseRest();
      const index = new SearchIndex(cache);
      await new Slices().run(index.setAll(this.#files));
      return index;
    } catch (error) {
      for (const [, analysed] of this.#files) cache.release(analysed);
      throw error;
    }
  }

  async #restore(): Promise<void> {
    const { wanted, saver, cache, memory } = this.#making;
    const saved = await saver?.read();
    if (saved === undefined) return;
    const isWanted = (path: string, hash: string) => wanted.get(path) === hash;
    const slices = new Slices();
    for (const some of saved.restore(cache, isWanted)) {
      for (const file of some) await this.#keep(file);
      if (slices.isOver) await slices.pause();
    }
    const restored = new Set(this.#files.map(([{ file }]) => file));
    for (const path of saved.paths()) if (!restored.has(path)) saver?.note(path, memory.now());
  }

  async #analyseRest(): Promise<void> {
    const { wanted, reading, saver, cache, memory } = this.#making;
    const known = new Set(this.#files.map(([{ file }]) => file));
    const missing = [...wanted].filter(([path]) => !known.has(path));
    for (let from = 0; from < missing.length; ) {
      const batch = missing.slice(from, from + BATCH_FILES);
      const { texts, count } = await readTexts(
        reading,
        batch.map(([path, hash]) => ({ path, hash, text: null })),
      );
      from += count;
      const files = texts.map(({ path, hash, content }) => ({ format: formatOf(path), hash, content }));
      const analyses = await analyseTexts(cache, memory.thread, files);
      for (const [place, analysed] of analyses.entries()) {
        const { path, hash } = texts[place] ?? { path: '', hash: '' };
        await this.#keep([{ file: path, hash, chain: 0 }, analysed]);
        saver?.note(path, memory.now());
      }
    }
  }

  /** Takes over the hold on the analysis. */
  async #keep(file: Analysed): Promise<void> {
    const { room, cache } = this.#making;
    const [{ file: path }, analysed] = file;
    if (await room.admits(path, analysed.textBytes)) {
      room.load(analysed);
      this.#files.push(file);
    } else cache.release(analysed);
  }
}
