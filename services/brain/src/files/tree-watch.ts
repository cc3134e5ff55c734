/**
 * Knows at once which paths of a working tree somebody touched: one inotify watch per directory. What it does not see
 * (another system that shares the disk, a queue that ran over), the regular scan finds.
 */
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Touched {
  /** As the disk spells them; files or directories, there or gone. */
  readonly paths: readonly string[];
  /** Too much happened at once to know what: everything must be looked at. */
  readonly isEverything: boolean;
}

export interface TreeWatch {
  /** Whether `settled` vouches for all that was touched. */
  readonly isExact: boolean;
  /** Watches a directory ('' = the root); what happens below it needs a watch of its own. */
  enter(directory: string): void;
  /** Resolves when everything that was touched before the call is known. */
  settled(): Promise<void>;
  /** What was touched since the last call. */
  take(): Touched;
  close(): void;
}

interface WatchOptions {
  readonly root: string;
  /** Where git keeps what belongs to this tree alone: it works there whenever it changes the tree or its branch. */
  readonly gitDir?: string;
  /** Something was touched; in the tree, called once until `take`. */
  onTouched(): void;
}

/** inotify tells of a queue that ran over in a way that Node does not pass on, so half of its length counts as over. */
function queueLength(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1')) || 16_384;
  } catch {
    return 16_384; // the default of Linux
  }
}

export class InotifyWatch implements TreeWatch {
  readonly #options: WatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #limit = queueLength() / 2;
  readonly #gitWatcher: FSWatcher | null;
  #touched = new Set<string>();
  #events = 0;
  #isExact = process.platform === 'linux';
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#gitWatcher = watchGit(options);
  }

  get isExact(): boolean {
    return this.#isExact;
  }

  enter(directory: string): void {
    if (this.#isClosed || this.#watchers.has(directory)) return;
    try {
      const watcher = watch(join(this.#options.root, directory), { persistent: false }, (_event, name) =>
        this.#touch(directory, name),
      );
      watcher.on('error', () => this.#leave(directory));
      this.#watchers.set(directory, watcher);
    } catch (error) {
      // A directory that went meanwhile needs no watch; the limit of watches of this machine ends the exactness.
      if (!isGone(error)) this.#isExact = false;
    }
  }

  async settled(): Promise<void> {
    // The kernel queued the event before the toucher went on; the loop has read its queue after two turns.
    await nextTurn();
    await nextTurn();
  }

  take(): Touched {
    const taken = { paths: [...this.#touched], isEverything: this.#events >= this.#limit };
    this.#touched = new Set();
    this.#events = 0;
    return taken;
  }

  close(): void {
    this.#isClosed = true;
    this.#gitWatcher?.close();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #touch(directory: string, name: string | null): void {
    if (directory === '' && name === '.git') return;
    const path = name === null ? directory : directory === '' ? name : `${directory}/${name}`;
    // What has that name now may be another directory than the one that is watched.
    if (this.#watchers.has(path)) this.#leaveAll(path);
    const isFirst = this.#events === 0;
    this.#events += 1;
    if (this.#touched.size < this.#limit) this.#touched.add(path);
    if (isFirst) this.#options.onTouched();
  }

  #leaveAll(directory: string): void {
    for (const below of this.#watchers.keys()) {
      if (below === directory || below.startsWith(`${directory}/`)) this.#leave(below);
    }
  }

  #leave(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }
}

/** Null where that cannot be had: then the next look of anybody finds it. */
function watchGit({ gitDir, onTouched }: WatchOptions): FSWatcher | null {
  if (gitDir === undefined) return null;
  try {
    const watcher = watch(gitDir, { persistent: false }, () => onTouched());
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
