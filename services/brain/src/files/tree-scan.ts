/** Keeps a working tree's table true to the disk: by what the watch saw, or by looking at everything. */
import { createTurn } from '@svc/runtime/turns.ts';
import { lstatSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Slices } from '../thread/slices.ts';
import type { FileEntry } from './file-entry.ts';
import { isAbsent } from './fsync.ts';
import type { FileTable } from './file-table.ts';
import type { Ignores } from './ignores.ts';
import { walkTree } from './tree-walk.ts';
import type { TreeWatch } from './tree-watch.ts';
import type { Sight } from './worktree.ts';

/** The tree that is looked at. */
interface ScannedTree {
  readonly root: string;
  readonly table: FileTable;
  take(path: string, onDisk: string, sight?: Sight): FileEntry | null;
  takeHeldBack(): void;
  readLargeFiles(): Promise<void>;
}

const FILES_PER_TURN = 32;
/** More entries than a brain may hold files are not taken in; the tree says so. */
const MAX_ENTRIES = 150_000;

export class TreeScan {
  readonly #tree: ScannedTree;
  readonly #ignores: Ignores;
  readonly #watch: TreeWatch;
  /** Directories whose spelling on disk is not their path. */
  readonly #spellings = new Map<string, string>();
  readonly #turn = createTurn();
  /** The last look did not come to its end. */
  #isIncomplete = false;
  isOverfull = false;

  constructor(tree: ScannedTree, { ignores, watch }: { readonly ignores: Ignores; readonly watch: TreeWatch }) {
    this.#tree = tree;
    this.#ignores = ignores;
    this.#watch = watch;
  }

  /** How the disk would spell a path that nothing has yet. */
  spelled(path: string): string {
    if (this.#spellings.size === 0) return path;
    for (let directory = dirname(path); directory !== '.'; directory = dirname(directory)) {
      const spelling = this.#spellings.get(directory);
      if (spelling !== undefined) return spelling + path.slice(directory.length);
    }
    return path;
  }

  /** Takes in everything that anybody changed before the call. */
  look(): Promise<void> {
    return this.#inTurn(false);
  }

  /** As `look`, where that costs no more than what changed. */
  async catchUp(): Promise<void> {
    if (this.#watch.isExact) await this.#inTurn(false);
  }

  /** Looks at every entry. */
  everything(): Promise<void> {
    return this.#inTurn(true);
  }

  close(): void {
    this.#watch.close();
  }

  #inTurn(isFull: boolean): Promise<void> {
    return this.#turn(() => this.#lookNow(isFull));
  }

  async #lookNow(isFull: boolean): Promise<void> {
    await this.#watch.settled();
    const { paths, isEverything } = this.#watch.take();
    const mustScan = isFull || isEverything || this.#isIncomplete || !this.#watch.isExact;
    this.#isIncomplete = true;
    if (mustScan) await this.#scanAll();
    else await this.#lookAt(paths);
    this.#tree.takeHeldBack();
    await this.#tree.readLargeFiles();
    this.#isIncomplete = false;
  }

  async #lookAt(paths: readonly string[]): Promise<void> {
    const gone = new Set<string>();
    const slices = new Slices();
    for (const onDisk of paths) {
      if (slices.isOver) await slices.pause();
      const found = this.#lookAtOne(onDisk);
      if (found === 'directory') await this.#walk(onDisk);
      else if (found === 'gone') gone.add(onDisk);
      if (isIgnoreFile(onDisk)) {
        this.#ignores.changed(onDisk);
        await this.#walk(onDisk.includes('/') ? dirname(onDisk) : '');
      }
    }
    if (gone.size > 0) await this.#takeBelow(gone);
  }

  #lookAtOne(onDisk: string): 'entry' | 'directory' | 'gone' {
    const { root, table } = this.#tree;
    if (this.#tree.take(table.pathOf(onDisk), onDisk) !== null) return 'entry';
    const stat = statIfThere(join(root, onDisk));
    if (stat === null) return 'gone';
    return stat.isDirectory() && !this.#isSkipped(onDisk) ? 'directory' : 'entry';
  }

  /** What was below directories that went. */
  async #takeBelow(gone: ReadonlySet<string>): Promise<void> {
    const slices = new Slices();
    for (const { path, onDisk } of Array.from(this.#tree.table.entries())) {
      if (ancestors(onDisk).some((directory) => gone.has(directory))) this.#tree.take(path, onDisk);
      if (slices.isOver) await slices.pause();
    }
  }

  async #scanAll(): Promise<void> {
    this.#ignores.changed('');
    this.#spellings.clear();
    this.isOverfull = false;
    await this.#walk('');
  }

  /** Looks at everything below a directory ('' = all), and at what was known to be there. */
  async #walk(directory: string): Promise<void> {
    const { root, table } = this.#tree;
    const seen = new Set<string>();
    const walked = {
      root,
      isSkipped: (onDisk: string, isDirectory: boolean) => this.#isIgnored(onDisk, isDirectory),
      entering: (below: string) => this.#enter(below),
    };
    for await (const onDisk of walkTree(walked, directory)) {
      const path = table.pathOf(onDisk);
      if (table.size >= MAX_ENTRIES && table.get(path) === undefined) {
        this.isOverfull = true;
        continue;
      }
      seen.add(onDisk);
      this.#tree.take(path, onDisk, 'walked');
      if (seen.size % FILES_PER_TURN === 0) await nextTurn();
    }
    const prefix = directory === '' ? '' : `${directory}/`;
    const slices = new Slices();
    for (const { path, onDisk } of Array.from(table.entries())) {
      if (onDisk.startsWith(prefix) && !seen.has(onDisk)) this.#tree.take(path, onDisk, 'passed');
      if (slices.isOver) await slices.pause();
    }
  }

  #enter(directory: string): void {
    this.#watch.enter(directory);
    const path = directory.normalize('NFC');
    if (path !== directory) this.#spellings.set(path, directory);
  }

  /** Whether a walk from the root would not come by. */
  #isSkipped(onDisk: string): boolean {
    return this.#isIgnored(onDisk, true);
  }

  #isIgnored(onDisk: string, isDirectory: boolean): boolean {
    return this.#ignores.isIgnored(onDisk, isDirectory) && !this.#holdsTracked(onDisk, isDirectory);
  }

  #holdsTracked(onDisk: string, isDirectory: boolean): boolean {
    const { table } = this.#tree;
    if (table.headOf(onDisk) !== undefined) return true;
    if (!isDirectory) return false;
    for (const tracked of table.headPaths()) if (tracked.startsWith(`${onDisk}/`)) return true;
    return false;
  }
}

function isIgnoreFile(onDisk: string): boolean {
  return onDisk === '.gitignore' || onDisk.endsWith('/.gitignore');
}

function ancestors(onDisk: string): string[] {
  const found: string[] = [];
  for (let slash = onDisk.indexOf('/'); slash !== -1; slash = onDisk.indexOf('/', slash + 1)) {
    found.push(onDisk.slice(0, slash));
  }
  return found;
}

/** Where a directory was, a file may be by now. */
function statIfThere(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
