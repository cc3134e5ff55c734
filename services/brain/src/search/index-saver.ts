/** Keeps the snapshot of one index up to it while it is used, so that a killed process loses only the last moments. */
import { hidesFieldsByName } from '../domain/fields/hidden-fields.ts';
import type { HidesFields } from '../ports.ts';
import type { AnalysisCache } from './analysis-cache.ts';
import type { IndexedFile } from './row-store.ts';
import type { RuledIndex } from './ruled-index.ts';
import { BlockFiles, blockRuns, encodeFiles } from './snapshot.ts';
import { Slices } from '../thread/slices.ts';
import { TermNumbers } from './snapshot-block.ts';
import { SnapshotLog } from './snapshot-log.ts';

export interface SnapshotPlace {
  /** Absolute path of the file. */
  readonly file: string;
  /** Which files have hidden fields: nothing of them is written. */
  hiding(): Promise<HidesFields>;
}

const QUIET_MS = 2_000;
const LATEST_MS = 10_000;
const AFTER_FAILURE_MS = 60_000;
/** A snapshot is written anew when it has become more than twice as large as it was, and so much. */
const SPARE_BYTES = 1024 * 1024;

export class IndexSaver {
  readonly #place: SnapshotPlace;
  readonly #log: SnapshotLog;
  /** Paths that differ from the snapshot, and since when the first one does. */
  #unsaved = new Set<string>();
  #unsavedSince = 0;
  #changedAt = 0;
  #notBefore = 0;
  /** Paths of which the snapshot has a text, by what was hidden when they were judged. */
  readonly #saved = new Set<string>();
  #judgedBy: HidesFields | null = null;
  #bytesWhenNew = 0;
  /** What lies on disk is what `#saved` says. */
  #isKnown = true;
  #saving: Promise<void> | null = null;

  constructor(place: SnapshotPlace) {
    this.#place = place;
    this.#log = new SnapshotLog(place.file);
  }

  /** What was saved; the caller tells with `note` which of it is out of date. */
  async read(): Promise<BlockFiles> {
    const files = new BlockFiles();
    this.forget();
    this.#isKnown = true;
    for await (const block of this.#log.read()) files.add(block);
    for (const path of files.paths()) this.#saved.add(path);
    this.#bytesWhenNew = this.#log.bytes;
    return files;
  }

  /** Instead of `read`: what was saved is not known, and the next snapshot is one of all these paths. */
  beginAnew(paths: Iterable<string>, now: number): void {
    this.forget();
    this.#isKnown = false;
    for (const path of paths) this.note(path, now);
  }

  /** The index no longer is, or never was, what the snapshot says of the path. */
  note(path: string, now: number): void {
    if (this.#unsaved.size === 0) this.#unsavedSince = now;
    this.#unsaved.add(path);
    this.#changedAt = now;
  }

  isDue(now: number): boolean {
    if (this.#unsaved.size === 0 || this.#saving !== null || now < this.#notBefore) return false;
    return now - this.#changedAt >= QUIET_MS || now - this.#unsavedSince >= LATEST_MS;
  }

  /** Throws what the disk says; what is in memory is the same afterwards, and the next attempt is made later. */
  save(index: RuledIndex, cache: AnalysisCache, now: number): Promise<void> {
    this.#saving ??= this.#save(index, cache)
      .catch((error: unknown) => {
        this.#notBefore = now + AFTER_FAILURE_MS;
        throw error;
      })
      .finally(() => {
        this.#saving = null;
      });
    return this.#saving;
  }

  get isSaving(): boolean {
    return this.#saving !== null;
  }

  /** The index is no longer in memory. */
  forget(): void {
    this.#unsaved = new Set();
    this.#saved.clear();
    this.#judgedBy = null;
  }

  async #save(index: RuledIndex, cache: AnalysisCache): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const hides = await this.#place.hiding();
    // Nothing can be judged now: what was judged before stays, and nothing is added.
    if (hides === hidesFieldsByName) return;
    const mayKeep = await this.#mayKeep(hides);
    const changed = this.#unsaved;
    this.#unsaved = new Set();
    try {
      const isAppended = mayKeep && (await this.#append(changed, { index, cache, hides }));
      if (!isAppended) await this.#rewrite({ index, cache, hides });
    } catch (error) {
      for (const path of changed) this.#unsaved.add(path);
      throw error;
    }
  }

  /** False when the file has texts that are hidden by now, or much that is out of date. */
  async #mayKeep(hides: HidesFields): Promise<boolean> {
    if (!this.#isKnown || this.#log.bytes > this.#bytesWhenNew * 2 + SPARE_BYTES) return false;
    if (hides === this.#judgedBy) return true;
    const slices = new Slices();
    for (const path of this.#saved) {
      if (hides(path)) return false;
      if (slices.isOver) await slices.pause();
    }
    this.#judgedBy = hides;
    return true;
  }

  async #append(changed: ReadonlySet<string>, source: Source): Promise<boolean> {
    const gone: string[] = [];
    const numbers = new TermNumbers(source.cache.dictionary);
    for (const run of blockRuns(this.#present(changed, source, gone))) {
      if (!(await this.#log.append(encodeFiles(numbers, run)))) return false;
    }
    return gone.length === 0 || this.#log.append(encodeFiles(numbers, [], gone));
  }

  /** Each file is looked up at the moment it is encoded: until then it may change. */
  *#present(changed: ReadonlySet<string>, { index, hides }: Source, gone: string[]): Generator<IndexedFile> {
    for (const path of changed) {
      const file = hides(path) ? null : index.whole(path);
      if (file !== null) {
        this.#saved.add(path);
        yield file;
      } else if (this.#saved.delete(path)) gone.push(path);
    }
  }

  async #rewrite(source: Source): Promise<void> {
    this.#saved.clear();
    // Should this fail, the old file must not stay with what is hidden by now.
    if (this.#judgedBy !== source.hides) await this.#log.remove();
    await this.#log.rewrite(this.#blocks(source));
    this.#judgedBy = source.hides;
    this.#isKnown = true;
    this.#bytesWhenNew = this.#log.bytes;
  }

  /** Changes between two blocks are noted as unsaved again. */
  async *#blocks({ index, cache, hides }: Source): AsyncGenerator<Uint8Array> {
    const numbers = new TermNumbers(cache.dictionary);
    for (const run of blockRuns(shownFiles(index, hides))) {
      for (const { file } of run) this.#saved.add(file);
      yield encodeFiles(numbers, run);
    }
  }
}

function* shownFiles(index: RuledIndex, hides: HidesFields): Generator<IndexedFile> {
  for (const file of index.wholeFiles()) if (!hides(file.file)) yield file;
}

interface Source {
  readonly index: RuledIndex;
  readonly cache: AnalysisCache;
  readonly hides: HidesFields;
}
