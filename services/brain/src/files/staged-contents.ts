/** New contents of files, beside their places and flushed to the disk: each takes its place by a rename, or goes again. */
import { closeSync, existsSync, fsync, openSync, writeSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeFolder } from './make-folder.ts';

/** Leftovers of a killed process; boot removes them. */
export const TEMP_PREFIX = '.svc-';

export interface NewContent {
  /** Checked, as the disk spells it, relative to the root. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly isExecutable?: boolean;
}

interface Staged extends NewContent {
  readonly temp: string;
  readonly flushed: Promise<void>;
}

/** Plain calls, because each trip through the thread pool costs more than the call; only the waiting for the disk goes there. */
export class StagedContents {
  readonly root: string;
  readonly #tempName: () => string;
  /** All that lie there. */
  readonly #temps = new Set<string>();
  readonly #made: string[] = [];
  readonly #ahead = new Map<string, Staged>();

  /** `tempName` gives a fresh file name each time. */
  constructor(root: string, tempName: () => string) {
    this.root = root;
    this.#tempName = tempName;
  }

  /**
   * Before it is known whether they are wanted, so that the disk works while that is found out. A content whose directory is
   * not there yet, and one that fails, is left to `stage`.
   */
  begin(contents: readonly NewContent[]): void {
    for (const content of contents) {
      if (!existsSync(join(this.root, dirname(content.path)))) continue;
      try {
        this.#ahead.set(content.path, this.#write(content));
      } catch {
        // whoever wants it is told why
      }
    }
  }

  /** Directories that were made for contents, each before those in it. */
  get made(): readonly string[] {
    return this.#made;
  }

  /** Answers where each lies; directories that are made, and those that hold new ones, are added to `touched`. */
  async stage(contents: readonly NewContent[], touched: Set<string>): Promise<string[]> {
    for (const directory of new Set(contents.map(({ path }) => dirname(path)))) {
      this.#makeDirectory(directory, touched);
    }
    const staged = contents.map((content) => this.#begun(content) ?? this.#write(content));
    const flushed = await Promise.allSettled(staged.map((one) => one.flushed));
    for (const outcome of flushed) if (outcome.status === 'rejected') throw outcome.reason;
    return staged.map(({ temp }) => temp);
  }

  /** It is in its place, and no longer here. */
  placed(temp: string): void {
    this.#temps.delete(temp);
  }

  /** Removes whatever is not in its place. */
  async discard(): Promise<void> {
    const temps = [...this.#temps];
    this.#temps.clear();
    this.#ahead.clear();
    const present = temps.filter((temp) => existsSync(temp));
    await Promise.all(present.map((temp) => rm(temp, { force: true })));
    const lost = new Set(temps.filter((temp) => !present.includes(temp)).map((temp) => basename(temp)));
    if (lost.size > 0) await discardBelow(this.root, lost);
  }

  /** New directories are durable only when their parent is synced too. */
  #makeDirectory(directory: string, touched: Set<string>): void {
    if (existsSync(join(this.root, directory))) return;
    let path = this.root;
    for (const segment of directory.split('/')) {
      touched.add(path);
      path = join(path, segment);
      if (existsSync(path)) continue;
      makeFolder(path);
      this.#made.push(path);
    }
  }

  #begun({ path, content, isExecutable }: NewContent): Staged | null {
    const ahead = this.#ahead.get(path);
    return ahead?.content === content && ahead.isExecutable === isExecutable ? ahead : null;
  }

  #write(content: NewContent): Staged {
    const temp = join(this.root, dirname(content.path), `${TEMP_PREFIX}${this.#tempName()}.tmp`);
    const file = openSync(temp, 'wx', content.isExecutable === true ? 0o755 : 0o644);
    this.#temps.add(temp);
    try {
      writeWhole(file, content.content);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    const flushed = flushFile(file).finally(() => closeSync(file));
    flushed.catch(() => {}); // for whoever stages it
    return { ...content, temp, flushed };
  }
}

const flushFile = promisify(fsync);

function writeWhole(file: number, content: Uint8Array): void {
  for (let written = 0; written < content.byteLength; ) written += writeSync(file, content, written);
}

/** Their names are unique; the way to them is another one now. */
async function discardBelow(directory: string, names: ReadonlySet<string>): Promise<void> {
  const children = await readdir(directory, { withFileTypes: true }).catch(() => []); // gone too
  for (const child of children) {
    const path = join(directory, child.name);
    if (names.has(child.name)) await rm(path, { force: true });
    else if (child.isDirectory() && child.name !== '.git') await discardBelow(path, names);
  }
}
