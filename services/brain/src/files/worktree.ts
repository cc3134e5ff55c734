/**
 * The working tree of one branch, held in memory as the file table and the search index, and checked against the disk
 * on every look: people edit these files with editors and git.
 */
import { hash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BranchIndex, TextSource } from '../search/branch-index.ts';
import {
  decodeText,
  type DescribedFile,
  describeBytes,
  describeVanished,
  describeOnDisk,
  describeUnspeakable,
  type FileEntry,
  isInRepository,
  isUnspeakable,
  readLarge,
  statEntry,
} from './file-entry.ts';
import { leadsAstray, obstacleAt } from './obstacle.ts';
import { readPieceOf } from './file-piece.ts';
import { fileStamp } from './file-stamp.ts';
import { isDirectory, readIfPresent } from './fsync.ts';
import { Slices } from '../thread/slices.ts';
import { FileTable, type HeadEntry } from './file-table.ts';
import type { Ignores } from './ignores.ts';
import { NoticedChanges, type NoticedDifferences } from './noticed-changes.ts';
import { textCache } from './text-cache.ts';
import { TreeScan } from './tree-scan.ts';
import type { TreeWatch } from './tree-watch.ts';

export interface FileText {
  readonly entry: FileEntry;
  /** Null when the file is not served. */
  readonly text: string | null;
}

interface WorktreeOptions {
  readonly branch: string;
  readonly root: string;
  index(source: TextSource): BranchIndex;
  /** What was known when the service last looked; equal stat data needs no reading. */
  readonly catalogue: ReadonlyMap<string, FileEntry>;
  /** The last commit, by spelling on disk. */
  readonly head: ReadonlyMap<string, HeadEntry>;
  /** When the service has just filled the tree from that commit: what is known of such bytes, by their blob id. */
  readonly filledFrom: ReadonlyMap<string, FileEntry> | null;
  readonly ignores: Ignores;
  readonly watch: TreeWatch;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** An editor that saves by renaming leaves no file for a moment; one gone for longer is gone. */
const GONE_LATELY_MS = 10_000;
/** A file that changes while it is read is read again, this often. */
const READINGS = 3;

/** How an entry came to our notice: touched or asked for, found by a walk from the root, or known and not found by one. */
export type Sight = 'touched' | 'walked' | 'passed';

export class Worktree {
  readonly branch: string;
  readonly root: string;
  readonly index: BranchIndex;
  readonly table: FileTable;
  /** Paths that the writer is changing right now; they are no news until it is done. */
  readonly applying = new Set<string>();
  readonly #ignores: Ignores;
  readonly #scan: TreeScan;
  readonly #now: () => number;
  readonly #untrusted = new Set<string>();
  /** Touched while the writer was changing them, by the spelling on disk: not looked at yet. */
  readonly #heldBack = new Map<string, string>();
  readonly #noticed = new NoticedChanges();
  /** Files over 1 MiB that were not read yet, with what was told of them last. */
  readonly #unread = new Map<string, FileEntry | null>();
  /** When a file was last noticed to be gone, ms since the epoch, by path. */
  readonly #goneAt = new Map<string, number>();
  #opening: Pick<WorktreeOptions, 'catalogue' | 'filledFrom'> | null = null;

  private constructor({ branch, root, index, ignores, watch, now }: WorktreeOptions) {
    this.branch = branch;
    this.root = root;
    this.table = new FileTable((onDisk) => isDirectory(join(root, onDisk)));
    this.index = index({ text: async (path) => this.read(path)?.text ?? null });
    this.#ignores = ignores;
    this.#now = now;
    this.#scan = new TreeScan(this, { ignores, watch });
  }

  /** Reads what changed since the catalogue was written; the differences are noticed changes. */
  static async open(options: WorktreeOptions): Promise<Worktree> {
    const tree = new Worktree(options);
    await new Slices().run(tree.#recall(options));
    tree.#opening = options;
    await tree.scan();
    tree.#opening = null;
    if (options.filledFrom !== null) tree.index.begin();
    await new Slices().run(tree.#indexAll());
    return tree;
  }

  /** In steps, an entry each. */
  *#recall({ catalogue, head }: WorktreeOptions): Generator<void, void> {
    for (const change of head) yield this.table.advanceHead([change]);
    for (const entry of catalogue.values()) yield this.table.set(entry);
  }

  *#indexAll(): Generator<void, void> {
    for (const { path, hash: known, kind } of this.table.entries()) {
      if (kind === 'text') this.index.set(path, known);
      yield;
    }
  }

  /** The file as it is on disk now; whatever changed since the last look is taken in first. */
  refresh(path: string): FileEntry | null {
    return this.take(path, this.onDisk(path));
  }

  /** How the disk spells a path, or would if something were there. */
  onDisk(path: string): string {
    const known = this.table.get(path);
    if (known !== undefined) return known.onDisk;
    return this.#scan.spelled(path);
  }

  /** As `refresh`, by the spelling on disk; an entry that is left out by now is let go when a walk did not come by. */
  take(path: string, onDisk: string, sight: Sight = 'touched'): FileEntry | null {
    const before = this.table.get(path) ?? null;
    if (this.applying.has(path)) {
      this.#heldBack.set(path, onDisk);
      return before;
    }
    const stat = this.#statOf(onDisk, sight);
    if (stat === null) return this.#takeAbsent(path, onDisk, sight);
    const isSuspect = before === null || sight === 'passed';
    if (isSuspect && this.#isLeftOut(onDisk, sight)) return this.#takeIn(path, null);
    if (fileStamp(stat) === before?.stat && !this.#untrusted.has(path)) return before;
    return this.#describe(path, onDisk, stat);
  }

  /** A walk follows no link; what a person moved away and linked to has the stat data that it had. */
  #statOf(onDisk: string, sight: Sight): BigIntStats | null {
    if (sight !== 'walked' && leadsAstray(this.root, onDisk)) return null;
    return statEntry(this.root, onDisk);
  }

  /** What has a name that is not UTF-8 only a walk finds: nobody can ask the disk for it by the name that is shown. */
  #takeAbsent(path: string, onDisk: string, sight: Sight): FileEntry | null {
    const before = this.table.get(path) ?? null;
    if (sight === 'passed' || !isUnspeakable(onDisk)) return before === null ? null : this.#takeIn(path, null);
    if (sight === 'touched' || before !== null) return before;
    return this.#takeIn(path, describeUnspeakable({ root: this.root, path, onDisk }, this.#now()));
  }

  /** What was touched while the writer was changing it, where it has done so by now. */
  takeHeldBack(): void {
    const heldBack = Array.from(this.#heldBack);
    this.#heldBack.clear();
    for (const [path, onDisk] of heldBack) this.take(path, onDisk);
  }

  #describe(path: string, onDisk: string, stat: BigIntStats): FileEntry | null {
    const filled = this.#filled(path, onDisk, stat);
    if (filled !== null) return this.#takeIn(path, filled);
    return this.#takeIn(path, describeOnDisk({ root: this.root, path, onDisk }, stat, this.#now()));
  }

  /** Bytes that the service has just put there from the last commit need not be read. */
  #filled(path: string, onDisk: string, stat: BigIntStats): DescribedFile | null {
    const oid = this.table.headOf(onDisk)?.oid;
    const twin = oid === undefined ? undefined : this.#opening?.filledFrom?.get(oid);
    if (twin === undefined || twin.path !== path || twin.bytes !== Number(stat.size)) return null;
    const modifiedAt = Number(stat.mtimeNs / 1_000_000n);
    return { entry: { ...twin, onDisk, stat: fileStamp(stat), modifiedAt }, text: null, lookedTooEarly: false };
  }

  #takeIn(path: string, described: DescribedFile | null): FileEntry | null {
    const before = this.#unread.get(path) ?? this.table.get(path) ?? null;
    const after = described?.entry ?? null;
    this.#accept(path, described);
    if (after !== null && after.kind === 'large' && after.hash === '') this.#unread.set(path, before);
    else {
      this.#unread.delete(path);
      this.#notice(path, before, after);
    }
    if (after === null) this.#giveBack(path);
    return after;
  }

  #notice(path: string, before: FileEntry | null, after: FileEntry | null): void {
    if (after === null && before !== null) this.#noteGone(path);
    if (before?.hash === after?.hash) return;
    const isFirstLook = this.#opening?.catalogue.size === 0;
    if (isFirstLook && after !== null && this.table.headOf(after.onDisk)?.oid === after.blob) {
      this.#noticed.addKnown(path, after);
    } else this.#noticed.add(path, before, after);
  }

  #noteGone(path: string): void {
    const now = this.#now();
    for (const [other, since] of this.#goneAt) {
      if (now - since < GONE_LATELY_MS) break; // in order of time
      this.#goneAt.delete(other);
    }
    this.#goneAt.set(path, now);
  }

  /** What the last commit has never is. */
  #isLeftOut(onDisk: string, sight: Sight): boolean {
    if (this.table.headOf(onDisk) !== undefined) return false;
    return this.#isIgnored(onDisk) || (sight !== 'walked' && isInRepository(this.root, onDisk));
  }

  /** What the last commit has is never ignored. */
  #isIgnored(onDisk: string): boolean {
    return this.table.headOf(onDisk) === undefined && this.#ignores.isIgnored(onDisk, false);
  }

  /** Whether git would ignore something new at `path`. */
  isIgnored(path: string): boolean {
    return this.#isIgnored(this.onDisk(path));
  }

  read(path: string): FileText | null {
    for (let reading = 1; ; reading += 1) {
      const entry = this.refresh(path);
      if (entry === null) return null;
      if (entry.kind !== 'text') return { entry, text: null };
      const text = textCache.get(entry.hash) ?? this.#readText(entry);
      if (text !== null) return { entry, text };
      this.#untrusted.add(path); // it changed between the look and the reading
      if (reading === READINGS) return null;
    }
  }

  /** Null when the file does not hold what it held at the last look. */
  #readText({ onDisk, bytes, hash: wanted }: FileEntry): string | null {
    const content = readIfPresent(join(this.root, onDisk));
    if (content === null || content.byteLength !== bytes || hash('sha256', content, 'hex') !== wanted) return null;
    const text = decodeText(content);
    if (text !== null) textCache.set(wanted, text);
    return text;
  }

  /** Of a regular file; null when what lies there by now is not what the entry says. */
  readPiece({ kind, onDisk, stat }: FileEntry, piece: { readonly offset: number; readonly length: number }) {
    if (kind === 'link' || obstacleAt(this.root, onDisk) !== null) return null;
    return readPieceOf(join(this.root, onDisk), stat, piece);
  }

  /** How the disk spells a directory. */
  folderOnDisk(directory: string): string {
    return directory === '' ? '' : dirname(this.onDisk(`${directory}/x`));
  }

  /** Since when a file that somebody else removed is gone, ms since the epoch; null = not lately. */
  goneSince(path: string): number | null {
    return this.#goneAt.get(path) ?? null;
  }

  /** Takes in everything that anybody changed before the call. */
  look(): Promise<void> {
    return this.#scan.look();
  }

  /** As `look`, where that costs no more than what changed. */
  catchUp(): Promise<void> {
    return this.#scan.catchUp();
  }

  /** Looks at every entry. */
  scan(): Promise<void> {
    return this.#scan.everything();
  }

  async readLargeFiles(): Promise<void> {
    for (const [path, told] of Array.from(this.#unread)) {
      const described = this.table.get(path);
      const entry = described === undefined ? null : await readLarge(this.root, described);
      if (entry === null) this.refresh(path);
      else if (this.table.get(path) === described) {
        this.table.set(entry);
        this.#unread.delete(path);
        this.#notice(path, told, entry);
      }
    }
  }

  /**
   * What the bytes just put in place look like to a later look. Somebody may have removed or replaced them since: then
   * the next look finds that, and tells it as theirs.
   */
  describe(path: string, bytes: Uint8Array): DescribedFile {
    const place = { root: this.root, path, onDisk: this.onDisk(path) };
    const stat = statEntry(this.root, place.onDisk);
    if (stat === null) return describeVanished(place, bytes, this.#now());
    return { ...describeBytes(place, bytes, stat, this.#now()), lookedTooEarly: true };
  }

  /** Takes in what is in place; null = nothing. */
  accept(path: string, described: DescribedFile | null): void {
    this.#accept(path, described);
    if (described === null) this.#giveBack(path);
  }

  /** Of two spellings of one path, the one that is left has it again. */
  #giveBack(path: string): void {
    const onDisk = this.table.displacedFrom(path);
    if (onDisk === null) return;
    this.#takeIn(onDisk, null);
    this.take(path, onDisk);
  }

  #accept(path: string, described: DescribedFile | null): void {
    this.#goneAt.delete(path);
    if (described === null) {
      this.table.delete(path);
      this.#untrusted.delete(path);
      this.index.delete(path);
      return;
    }
    const { entry, text, lookedTooEarly } = described;
    this.table.set(entry);
    if (lookedTooEarly) this.#untrusted.add(path);
    else this.#untrusted.delete(path);
    if (entry.kind === 'text') this.index.set(path, entry.hash, text);
    else this.index.delete(path);
    if (text !== null) textCache.set(entry.hash, text);
  }

  /** What was noticed since the last call. */
  takeNoticed(): NoticedDifferences {
    return this.#noticed.take();
  }

  /** They could not be told yet. */
  putBackNoticed(noticed: NoticedDifferences): void {
    this.#noticed.putBack(noticed);
  }

  get hasNoticed(): boolean {
    return !this.#noticed.isEmpty;
  }

  /** There is more than is taken in. */
  get isOverfull(): boolean {
    return this.#scan.isOverfull;
  }

  /** What was noticed has to be recorded, and nobody has to be told of it. */
  get hasOnlyKnown(): boolean {
    return this.#noticed.isSilent;
  }

  close(): void {
    this.#scan.close();
  }
}
