/**
 * The search index of one branch view. It is in memory only while somebody searches: until then, and between writes,
 * it merely knows which content each path has, and makes up for that when it is asked.
 */
import { createTurn } from '@svc/runtime/turns.ts';
import type { AnalysisCache } from './analysis-cache.ts';
import type { TextToAnalyse } from './analysis-thread.ts';
import type { IndexMemory, TendedIndex } from './index-memory.ts';
import { BATCH_FILES, IndexMaker } from './index-maker.ts';
import { IndexRoom } from './index-room.ts';
import { IndexSaver, type SnapshotPlace } from './index-saver.ts';
import { ChangeCount } from './change-count.ts';
import { noteDifferences, type PendingChange, PendingChanges } from './pending-changes.ts';
import type { RowChains } from '../ports.ts';
import { RuledIndex } from './ruled-index.ts';
import type { IndexStats, SearchIndex } from './search-index.ts';
import { copyOfNearest } from './sibling-copy.ts';
import { Slices } from '../thread/slices.ts';
import { analyseTexts } from './text-analyser.ts';
import { lendTexts } from './text-loan.ts';
import { type ReadText, readTexts, type TextSource } from './text-source.ts';

export type { TextSource } from './text-source.ts';

interface BranchIndexOptions {
  readonly source: TextSource;
  /** Shared by the branches of one brain. */
  readonly cache: AnalysisCache;
  readonly memory: IndexMemory;
  /** Null = it is made anew from the texts each time. */
  readonly snapshot: SnapshotPlace | null;
  /** A snapshot could not be written, or a text not read; nothing is lost by it. */
  onProblem(error: unknown): void;
}

/** Of an answer that shows texts which are being changed. */
const LAST_ATTEMPT = 4;

export class BranchIndex implements TendedIndex {
  readonly #options: BranchIndexOptions;
  /** By path: the hash of what it holds, null = as the source has it. */
  readonly #wanted = new Map<string, string | null>();
  readonly #pending = new PendingChanges();
  readonly #saver: IndexSaver | null;
  readonly #room: IndexRoom;
  #index: RuledIndex | null = null;
  #loading: Promise<RuledIndex> | null = null;
  #taking: Promise<void> | null = null;
  /** Settles when nobody asks. */
  readonly #inTurn = createTurn();
  /** Calls that are about to hand out the index. */
  #users = 0;
  #usedAt: number;
  #isClosed = false;
  /** Since it was last in memory. */
  readonly #changes = new ChangeCount();
  #version = 0;
  /** Files that left the index until their text is read. */
  #textsWanted = 0;

  constructor(options: BranchIndexOptions) {
    this.#options = options;
    this.#usedAt = options.memory.now();
    this.#saver = options.snapshot === null ? null : new IndexSaver(options.snapshot);
    this.#room = new IndexRoom(options.memory, this);
    options.memory.add(this);
  }

  /** The path has this content from now on: the very next search finds it. `hash` null = whatever the source has. */
  set(path: string, hash: string | null, text: string | null = null): void {
    if (hash !== null && this.#wanted.get(path) === hash) return;
    this.#wanted.set(path, hash);
    this.#note(path, hash, text);
  }

  /** What was noted so far is how it began: no reason to be in memory before somebody searches. */
  begin(): void {
    if (this.#index === null && this.#loading === null) this.#changes.reset(0);
  }

  delete(path: string): void {
    this.#room.forget(path);
    if (this.#wanted.delete(path)) this.#note(path, undefined, null);
  }

  #note(path: string, hash: string | null | undefined, text: string | null): void {
    this.#version += 1;
    this.#changes.note(this.#options.memory.now());
    // What is not in memory is compared with all that is wanted when it is loaded.
    if (this.#index !== null || this.#loading !== null) this.#pending.note(path, hash, text);
  }

  /** Changes that the next search has to make up for, or may find in the snapshot. */
  pending(): number {
    return this.#index === null ? this.#changes.count : this.#pending.size;
  }

  /** Rises with each change of what its files hold, in memory or not. */
  get version(): number {
    return this.#version;
  }

  /** Null while it is not in memory. */
  get loaded(): RuledIndex | null {
    return this.#index;
  }

  /** Null while it is not in memory. */
  stats(): IndexStats | null {
    return this.#index?.stats() ?? null;
  }

  get bytes(): number {
    if (this.#index !== null) return this.#index.stats().estimatedBytes;
    const { loadingBytes } = this.#room;
    return loadingBytes === 0 ? 0 : loadingBytes + this.#options.cache.dictionary.bytes;
  }

  /** Files that no search finds, because there is no memory for them. */
  get leftOut(): number {
    return this.#room.leftOut;
  }

  get usedAt(): number {
    return this.#usedAt;
  }

  /**
   * The index with every change that was noted before this call. It is to be used at once: after anything else that is
   * waited for it may have been evicted.
   */
  ready(): Promise<RuledIndex> {
    return this.#inUse(async () => {
      this.#usedAt = this.#options.memory.now();
      const index = this.#index ?? (await (this.#loading ??= this.#load()));
      const upTo = this.#pending.last;
      while (this.#pending.oldest <= upTo) await (this.#taking ??= this.#take(index));
      return index;
    });
  }

  /**
   * What `ask` says of the index as it is ready under these rules. After a change of the rules every file of the index
   * is judged anew, in slices; only then, and for those who ask under other rules one after the other, it is `ask`ed.
   * It is asked again when a text that it has to show must be fetched first.
   */
  ask<Answer>(chains: RowChains, ask: (index: RuledIndex) => Answer): Promise<Answer> {
    return this.#inUse(() => this.#inTurn(() => this.#askOften(chains, ask)));
  }

  async #askOften<Answer>(chains: RowChains, ask: (index: RuledIndex) => Answer): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      await new Slices().run((await this.ready()).arrange(chains));
      // What came in meanwhile is there too.
      const index = await this.ready();
      const wanted = this.#textsWanted;
      const answer = ask(index);
      const missing = index.texts.takeMissing();
      if (missing.length === 0 && wanted === this.#textsWanted) return index.texts.endLoan(answer);
      // What is no longer as it was analysed is a change; what changes again and again is found when it rests.
      for (const path of await lendTexts(this.#options, index, missing)) {
        if (attempt >= LAST_ATTEMPT) index.delete(path);
        else this.#noteAgain(path);
      }
    }
  }

  async #inUse<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    this.#users += 1;
    try {
      return await work();
    } finally {
      this.#users -= 1;
      if (this.#isClosed) this.#inBackground(this.evict());
    }
  }

  tend(now: number): void {
    if (this.#index === null) {
      if (this.#loading === null && this.#changes.isWorthWarming(now)) this.#inBackground(this.ready());
      return;
    }
    if (this.#room.isWorthLoadingAnew(now)) return this.#inBackground(this.evict());
    for (const path of this.#room.takeLeft(now)) this.#pending.note(path, this.#wanted.get(path) ?? null, null);
    if (this.#pending.size > 0) this.#inBackground((this.#taking ??= this.#take(this.#index)));
    else if (this.#saver?.isDue(now) === true) this.#inBackground(this.snapshot());
  }

  #wantText(path: string): void {
    this.#textsWanted += 1;
    this.#noteAgain(path);
  }

  #noteAgain(path: string): void {
    if (!this.#pending.has(path)) this.#pending.note(path, this.#wanted.get(path), null);
  }

  #inBackground(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.#options.onProblem(error));
  }

  /** Brings the snapshot up to what is in memory. Throws what the disk says. */
  async snapshot(): Promise<void> {
    const { cache, memory } = this.#options;
    if (this.#index !== null) await this.#saver?.save(this.#index, cache, memory.now());
  }

  /** Out of memory, unless somebody uses it just now; the snapshot stays. */
  async evict(): Promise<void> {
    await this.snapshot().catch((error: unknown) => this.#options.onProblem(error));
    const { usedAt } = this;
    // Not within the turn of a call that was just handed the index.
    const dropped = await new Promise<RuledIndex | null>((resolve) => {
      setImmediate(() => {
        const isIdle = this.#users === 0 && this.#taking === null && this.#saver?.isSaving !== true;
        resolve(isIdle && this.#usedAt === usedAt ? this.#drop() : null);
      });
    });
    if (dropped !== null) await new Slices().run(dropped.dissolve());
  }

  /** For good. Never fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.memory.remove(this);
    await this.#loading?.catch(() => {});
    await this.#taking?.catch(() => {});
    await this.evict();
  }

  #drop(): RuledIndex | null {
    const index = this.#index;
    this.#index = null;
    // What waits is found again as the difference between the snapshot and what is wanted.
    this.#changes.reset(this.#pending.size);
    this.#pending.clear();
    this.#room.clear();
    this.#saver?.forget();
    return index;
  }

  async #load(): Promise<RuledIndex> {
    const making = {
      ...this.#options,
      wanted: this.#wanted,
      reading: this.#options,
      room: this.#room,
      saver: this.#saver,
    };
    try {
      const index = (await this.#copied()) ?? (await new IndexMaker(making).make());
      const ruled = new RuledIndex(index, { ...this.#options, onTextWanted: (path) => this.#wantText(path) });
      await new Slices().run(noteDifferences(ruled, this.#wanted, this.#pending, this.#room));
      this.#index = ruled;
      this.#changes.reset(0);
      return ruled;
    } finally {
      this.#loading = null;
      this.#room.loaded();
    }
  }

  async #copied(): Promise<SearchIndex | null> {
    const { memory } = this.#options;
    const index = await copyOfNearest(this.#wanted, () => this.#siblings(), memory);
    // The snapshot, if there is one, is not read.
    if (index !== null) this.#saver?.beginAnew(this.#wanted.keys(), memory.now());
    return index;
  }

  *#siblings(): Generator<RuledIndex> {
    const { memory, cache } = this.#options;
    for (const other of memory.indexes) {
      if (other instanceof BranchIndex && other.#options.cache === cache && other.loaded !== null) yield other.loaded;
    }
  }

  /** Takes in the changes that wait longest. */
  async #take(index: RuledIndex): Promise<void> {
    try {
      const changes = this.#pending.first(BATCH_FILES);
      const gone = changes.filter(({ hash }) => hash === undefined);
      for (const { path } of gone) index.delete(path);
      const changed = changes.flatMap(({ path, hash, text }) => (hash === undefined ? [] : [{ path, hash, text }]));
      const { texts, count } = await readTexts(this.#options, changed);
      const done = changed.slice(0, count);
      await this.#put(index, texts, done);
      const waiting = new Set(changed.slice(count).map(({ path }) => path));
      for (const change of changes) if (!waiting.has(change.path)) this.#finish(index, change);
    } finally {
      this.#taking = null;
    }
  }

  #finish(index: RuledIndex, change: PendingChange): void {
    const { path } = change;
    this.#pending.done(change);
    this.#saver?.note(path, this.#options.memory.now());
    // Read in the middle of somebody's change: it may be taken back before anybody notices.
    const [wanted, held] = [this.#wanted.get(path) ?? null, index.hashOf(path)];
    if (wanted !== null && held !== null && held !== wanted && !this.#pending.has(path))
      this.#pending.note(path, wanted, null);
  }

  async #put(index: RuledIndex, texts: readonly ReadText[], asked: readonly { path: string }[]): Promise<void> {
    const { cache, memory } = this.#options;
    const slices = new Slices();
    const analysable: TextToAnalyse[] = [];
    for (const { path, hash, content } of texts) {
      const text = index.analysable(path, { hash, content });
      if (text !== null) analysable.push(text);
      if (slices.isOver) await slices.pause();
    }
    const analyses = await analyseTexts(cache, memory.thread, analysable);
    const found = new Set(texts.map(({ path }) => path));
    for (const { path } of asked) if (!found.has(path)) index.delete(path);
    for (const { path, hash, content } of texts) {
      if (await this.#room.admits(path, content.length)) index.set(path, { hash, content });
      else index.delete(path); // what it was before must not be found either
      if (slices.isOver) await slices.pause();
    }
    for (const analysed of analyses) cache.release(analysed);
  }
}
