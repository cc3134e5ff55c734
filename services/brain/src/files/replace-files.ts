/**
 * Puts files in the place of known ones, and never in the place of anything else: people write beside us. What is
 * replaced keeps a second name until the end, so that taking back needs no memory and a late write through an open
 * descriptor is not lost.
 */
import {
  type BigIntStats,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DiskRefusal } from './durable-write.ts';
import { obstacleAt } from './obstacle.ts';
import { fileStamp } from './file-stamp.ts';
import { fsyncPath, ignoreAbsent, isAbsent, isPresent, lookAt } from './fsync.ts';

export interface FileReplacement {
  /** As the disk spells it, relative to the root. */
  readonly path: string;
  /** Stamp of what lies there and is to be replaced; null = nothing does. */
  readonly expected: string | null;
  /** A durable file on the same file system, which takes its place; null = nothing does. */
  readonly staged: string | null;
}

export interface ReplacedFiles {
  /** Not touched: something else lies there, or on the way. */
  readonly kept: ReadonlySet<string>;
  /**
   * Ends it. Answers the paths whose old file was written once more after it had been replaced, by a program that still
   * had it open: the old file is back in its place.
   */
  settle(): Promise<string[]>;
  /** Puts the old files back where nobody has put anything else since. */
  undo(): Promise<void>;
}

const FILES_PER_TURN = 64;

/**
 * All that can be replaced, or (on an error of the disk, with DiskRefusal) nothing. `aside`: a directory of ours on the
 * same file system.
 */
export async function replaceFiles(
  root: string,
  replacements: readonly FileReplacement[],
  aside: string,
): Promise<ReplacedFiles> {
  const work = new Replacing(root, aside);
  try {
    // Removals first: a file may take the place of a directory, or a directory that of a file.
    const ordered = [
      ...replacements.filter(({ staged }) => staged === null),
      ...replacements.filter(({ staged }) => staged !== null),
    ];
    for (let start = 0; start < ordered.length; start += FILES_PER_TURN) {
      work.beginTurn();
      for (const replacement of ordered.slice(start, start + FILES_PER_TURN)) work.replace(replacement);
      await nextTurn();
    }
    await work.flush();
  } catch (error) {
    await work.undo();
    throw new DiskRefusal('the disk refused a write', { cause: error });
  }
  return { kept: work.kept, settle: () => work.settle(), undo: () => work.undo() };
}

interface Done {
  readonly path: string;
  /** Second name of the old file, and its state when it got it; null = there was none. */
  readonly old: { readonly file: string; readonly stat: BigIntStats } | null;
  /** Of the new file; null = removed. */
  readonly placed: bigint | null;
}

class Replacing {
  readonly kept = new Set<string>();
  readonly #root: string;
  readonly #aside: string;
  readonly #done: Done[] = [];
  readonly #touched = new Set<string>();
  /** Directories seen to be ones in this turn of the loop. */
  readonly #walked = new Set<string>();
  readonly #prefix = `${randomUUID()}-`;
  #names = 0;

  constructor(root: string, aside: string) {
    this.#root = root;
    this.#aside = aside;
  }

  /** Whatever was seen before may have been changed by a person since. */
  beginTurn(): void {
    this.#walked.clear();
  }

  /** Plain calls, one right after the other, so that nobody gets far in between. */
  replace(replacement: FileReplacement): void {
    const { path, staged } = replacement;
    if (!this.#isReachable(path, staged !== null)) {
      this.kept.add(path);
      return;
    }
    const done = staged === null ? this.#remove(replacement) : this.#place(replacement, staged);
    if (done) this.#touched.add(dirname(join(this.#root, path)));
    else this.kept.add(path);
  }

  #remove({ path, expected }: FileReplacement): boolean {
    const target = join(this.#root, path);
    if (expected === null) return true;
    const old = this.#setAside(target, expected);
    if (old === null) return false;
    unlinkSync(target);
    this.#done.push({ path, old, placed: null });
    this.#removeEmptyParents(path);
    return true;
  }

  #place({ path, expected }: FileReplacement, staged: string): boolean {
    const target = join(this.#root, path);
    const placed = lstatSync(staged, { bigint: true }).ino;
    if (expected === null) {
      if (!putWhereNothingIs(staged, target)) return false;
      this.#done.push({ path, old: null, placed });
      return true;
    }
    const old = this.#setAside(target, expected);
    if (old === null) return false;
    renameSync(staged, target);
    this.#done.push({ path, old, placed });
    return true;
  }

  /** Null when the file is not the one that is expected. */
  #setAside(target: string, expected: string): Done['old'] {
    const stat = statOf(target);
    if (stat === null || fileStamp(stat) !== expected) return null;
    const file = join(this.#aside, `${this.#prefix}${(this.#names += 1)}`);
    const isCopy = !giveSecondName(target, file);
    const named = lstatSync(file, { bigint: true });
    if (isCopy || isSameState(named, stat)) return { file, stat: named };
    unlinkSync(file);
    return null;
  }

  /** Makes the directories on the way; false where something else is, or one that may not be entered. */
  #isReachable(path: string, make: boolean): boolean {
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const directory = path.slice(0, end);
      if (this.#walked.has(directory)) continue;
      const full = join(this.#root, directory);
      const stat = lookAt(full);
      if (stat === undefined) {
        if (!make) return true;
        mkdirSync(full);
        this.#touched.add(dirname(full));
      } else if (stat === 'closed' || !stat.isDirectory()) return false;
      this.#walked.add(directory);
    }
    return lookAt(join(this.#root, path)) !== 'closed';
  }

  #removeEmptyParents(path: string): void {
    for (let directory = dirname(path); directory !== '.'; directory = dirname(directory)) {
      if (!removeEmptyDirectory(join(this.#root, directory))) return;
      this.#walked.delete(directory);
      this.#touched.add(dirname(join(this.#root, directory)));
    }
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#touched].map((directory) => fsyncPath(directory).catch(ignoreAbsent)));
  }

  /** Puts the old files back where nobody has put anything else since. */
  async undo(): Promise<void> {
    for (const done of this.#done.toReversed()) {
      const target = join(this.#root, done.path);
      if ((statOf(target)?.ino ?? null) !== done.placed) continue;
      if (done.placed !== null) unlinkSync(target);
      if (done.old === null) {
        this.#removeEmptyParents(done.path);
        continue;
      }
      mkdirSync(dirname(target), { recursive: true });
      putWhereNothingIs(done.old.file, target);
    }
    await this.flush();
  }

  async settle(): Promise<string[]> {
    const late: string[] = [];
    for (const [index, { path, old, placed }] of this.#done.entries()) {
      if (old !== null && this.#isWrittenLate(path, old, placed)) late.push(path);
      if (index % FILES_PER_TURN === 0) await nextTurn();
    }
    await this.flush();
    return late;
  }

  /** Where a person has put something newer there, that stays. */
  #isWrittenLate(path: string, old: NonNullable<Done['old']>, placed: bigint | null): boolean {
    const now = statOf(old.file);
    if (now === null || isSameState(now, old.stat)) return false;
    const target = join(this.#root, path);
    const there = statOf(target);
    if ((there?.ino ?? null) !== placed || obstacleAt(this.#root, path) !== null) return false;
    mkdirSync(dirname(target), { recursive: true });
    if (there === null) putWhereNothingIs(old.file, target);
    else renameSync(old.file, target);
    return true;
  }
}

/** A name and the times of its change do not count: both change with a second name. */
function isSameState(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.size === other.size && one.mtimeNs === other.mtimeNs;
}

/** A directory without anything in it is nothing. False when something is there. */
function putWhereNothingIs(file: string, target: string): boolean {
  if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true && !removeEmptyDirectory(target))
    return false;
  try {
    linkSync(file, target);
  } catch (error) {
    if (isPresent(error)) return false;
    if (!hasNoLinks(error)) throw error;
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return false;
    renameSync(file, target);
    return true;
  }
  unlinkSync(file);
  return true;
}

/** False: it is a copy, because the file system knows no second names, or the file belongs to somebody else. */
function giveSecondName(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch (error) {
    if (!hasNoLinks(error)) throw error;
    copyFileSync(file, name);
    return false;
  }
}

function hasNoLinks(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && /^(?:EPERM|ENOTSUP|EOPNOTSUPP|EMLINK|ENOSYS)$/.test(String(error.code))
  );
}

function removeEmptyDirectory(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    return false; // something is in it, or it is none
  }
}

function statOf(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
