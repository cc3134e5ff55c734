/** Which untracked entries of a working tree git would ignore: by `.gitignore` at every level and `.git/info/exclude`. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IgnoreList } from './ignore-list.ts';
import type { Ignores } from './ignores.ts';

const IGNORE_FILE = '.gitignore';
const MAX_BYTES = 1024 * 1024;
/** Larger trees are looked at with what is remembered of their last directories. */
const REMEMBERED_DIRECTORIES = 100_000;

/** The lists that hold below a directory, the nearest first. */
interface Lists {
  readonly list: IgnoreList;
  /** Of the directory with its slash, in bytes. */
  readonly baseLength: number;
  readonly above: Lists | null;
}

/** Synchronous, and without a look at the disk for a directory that it knows; paths are spelled as on disk. */
export class IgnoreRules implements Ignores {
  readonly #root: string;
  readonly #exclude: string;
  #excluded: Lists | null | undefined;
  readonly #lists = new Map<string, Lists | null>();
  readonly #verdicts = new Map<string, boolean>();

  /** `gitDir`: the one that all working trees of the repository share. */
  constructor(root: string, gitDir: string) {
    this.#root = root;
    this.#exclude = join(gitDir, 'info', 'exclude');
  }

  isIgnored(onDisk: string, isDirectory: boolean): boolean {
    const parent = onDisk.slice(0, Math.max(0, onDisk.lastIndexOf('/')));
    if (parent !== '' && this.#isDirectoryIgnored(parent)) return true;
    return isDirectory ? this.#isDirectoryIgnored(onDisk) : this.#decide(onDisk, parent, false);
  }

  changed(onDisk: string): void {
    if (onDisk === '') this.#excluded = undefined;
    // A rule says something about everything below it.
    this.#lists.clear();
    this.#verdicts.clear();
  }

  #isDirectoryIgnored(onDisk: string): boolean {
    const known = this.#verdicts.get(onDisk);
    if (known !== undefined) return known;
    const parent = onDisk.slice(0, Math.max(0, onDisk.lastIndexOf('/')));
    const verdict = (parent !== '' && this.#isDirectoryIgnored(parent)) || this.#decide(onDisk, parent, true);
    if (this.#verdicts.size >= REMEMBERED_DIRECTORIES) this.#verdicts.clear();
    this.#verdicts.set(onDisk, verdict);
    return verdict;
  }

  #decide(onDisk: string, parent: string, isDirectory: boolean): boolean {
    let lists = this.#listsOf(parent);
    if (lists === null) return false;
    const bytes = asBytes(onDisk);
    for (; lists !== null; lists = lists.above) {
      const verdict = lists.list.decide(bytes.slice(lists.baseLength), isDirectory);
      if (verdict !== null) return verdict;
    }
    return false;
  }

  #listsOf(directory: string): Lists | null {
    const known = this.#lists.get(directory);
    if (known !== undefined) return known;
    const parent = directory.slice(0, Math.max(0, directory.lastIndexOf('/')));
    const above = directory === '' ? this.#excludedLists() : this.#listsOf(parent);
    const list = readList(join(this.#root, directory, IGNORE_FILE));
    const baseLength = directory === '' ? 0 : asBytes(directory).length + 1;
    const lists = list === null ? above : { list, baseLength, above };
    if (this.#lists.size >= REMEMBERED_DIRECTORIES) this.#lists.clear();
    this.#lists.set(directory, lists);
    return lists;
  }

  #excludedLists(): Lists | null {
    if (this.#excluded === undefined) {
      const list = readList(this.#exclude);
      this.#excluded = list === null ? null : { list, baseLength: 0, above: null };
    }
    return this.#excluded;
  }
}

/** As git compares them. */
function asBytes(path: string): string {
  return Buffer.from(path, 'utf8').toString('latin1');
}

/** Null for what git does not read either: a link, a directory, nothing; and for what is far too long. */
function readList(path: string): IgnoreList | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null; // not there, a link, or not to be read: then git reads no rules from it either
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() || stat.size > MAX_BYTES) return null;
    const list = IgnoreList.parse(readFileSync(file));
    return list === null || list.isEmpty ? null : list;
  } finally {
    closeSync(file);
  }
}
