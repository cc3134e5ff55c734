/** Linked working trees, one directory per branch beside `main`. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { filePathProblem } from '@svc/contract/names.ts';
import { makeFolder } from '../files/make-folder.ts';
import { fsyncPath, fsyncTree, isAbsent } from '../files/fsync.ts';
import { removeTree } from '../files/remove-tree.ts';
import { Slices } from '../thread/slices.ts';
import { scratchPath, withJournal } from './journal.ts';
import { readTree, resetIndex, type TreeEntry } from './objects.ts';
import { readHead } from './refs.ts';
import { type Repository, RepositoryProblem } from './repository.ts';
import { branchRef } from './run.ts';
import { isIndexable } from './tree-edit.ts';
import { placeIndex, markSkipped } from './worktree-index.ts';
import { linkWorktree, relink } from './worktree-links.ts';
import { isWhole, worktreeGitDir } from './worktree-state.ts';

export const MAX_FILE_BYTES = 1024 * 1024;

/** Larger files stay in their commits. */
const MAX_CHECKED_OUT_BYTES = 50 * 1024 * 1024;
/** What Linux file systems take. */
const MAX_SEGMENT_BYTES = 255;
const MAX_DISK_PATH_BYTES = 3000;

type EntryShape = Pick<TreeEntry, 'mode' | 'bytes'>;

/**
 * A regular file that is put into working trees, whether or not its name is served. Everything else is a foreign entry,
 * which is kept in commits: dot entries, links, submodules, names that no disk can hold.
 */
export function isCheckedOut(path: string, entry: EntryShape): boolean {
  return isKeptWhereItIs(path, entry) && entry.mode !== '120000' && !DOT_ENTRY.test(path);
}

/** A file or link that, once a person has put it into a working tree, follows its branch there. */
export function isKeptWhereItIs(path: string, { mode, bytes }: EntryShape): boolean {
  const isFile = mode === '100644' || mode === '100755' || mode === '120000';
  return isFile && bytes !== null && bytes <= MAX_CHECKED_OUT_BYTES && isPlaceable(path);
}

const DOT_ENTRY = /(?:^|\/)\./;

/**
 * Names that are `.git` to some file system (with characters that it ignores, or in its short form), and what stands for
 * bytes that are no UTF-8, so that nobody can ask for them: in names of git a lone surrogate, in those of the disk U+FFFD.
 */
const UNPLACEABLE = /^\p{Cf}*$|^\p{Cf}+\.|^(?:\.git|git~\d+)[ .]*$|[\u{FFFD}\u{0}\p{Cs}]/iu;

function isPlaceable(path: string): boolean {
  if (Buffer.byteLength(path) > MAX_DISK_PATH_BYTES) return false;
  return path.split('/').every((name) => !UNPLACEABLE.test(name) && Buffer.byteLength(name) <= MAX_SEGMENT_BYTES);
}

/** A file of a commit that readers see there as they would in a working tree: one that is put into it, under a legal name. */
export function isShown(path: string, entry: TreeEntry): boolean {
  return isCheckedOut(path, entry) && filePathProblem(path) === null;
}

/** The directory name of a branch's working tree. `+` occurs in no branch name, so no two branches share one. */
export function worktreeName(branch: string): string {
  branchRef(branch);
  return branch.replaceAll('/', '+');
}

/**
 * Opens the working tree of `branch` under `worktreesDir` and answers its directory. An existing whole one is kept as it
 * is; a half-made or hand-deleted one is made again from the last commit. Files in a directory that lost its link to the
 * repository are set aside as `.lost-<name>-<uuid>`, never deleted. Throws RepositoryProblem when the branch does not
 * exist, CheckedOutElsewhere when a person has it in another working tree.
 */
export async function openWorktree(repository: Repository, worktreesDir: string, branch: string): Promise<string> {
  const dir = join(worktreesDir, worktreeName(branch));
  if (await isWhole(repository, dir)) return dir;
  const head = await readHead(repository, branch);
  if (head === null) throw new RepositoryProblem('absent', 'no such branch');
  await clearPlace(repository, dir);
  await pruneWorktrees(repository);
  await makeWorktree(repository, worktreesDir, branch, head);
  return dir;
}

/** A new one with the files of the commit `shown`, at the head of its branch: what differs is uncommitted. */
export async function makeWorktree(
  repository: Repository,
  worktreesDir: string,
  branch: string,
  shown: string,
): Promise<void> {
  const dir = join(worktreesDir, worktreeName(branch));
  makeFolder(worktreesDir);
  await linkWorktree(repository, dir, branch);
  await fillWorktree(repository, dir, (await readHead(repository, branch)) ?? shown, shown);
}

/** Only a tree that we began and did not finish can hold nothing of anybody's. */
async function clearPlace(repository: Repository, dir: string): Promise<void> {
  if (!existsSync(dir)) return;
  const gitDir = await worktreeGitDir(repository, dir).catch(() => null);
  const isLinked = gitDir !== null && existsSync(gitDir);
  const isHalfMade = isLinked || (await readdir(dir)).every((name) => name === '.git');
  if (isHalfMade) await removeTree(dir);
  else await rename(dir, join(dirname(dir), `.lost-${basename(dir)}-${randomUUID()}`));
}

/** The files of `shown` and the index of `head`, which comes last: a tree without one is known to be half made. */
export async function fillWorktree(repository: Repository, dir: string, head: string, shown = head): Promise<void> {
  const { files, foreign: foreignShown } = await sortTree(repository, shown);
  const foreign = shown === head ? foreignShown : (await sortTree(repository, head)).foreign;
  const indexFile = await scratchPath(repository, 'index');
  const index = { gitDir: await worktreeGitDir(repository, dir), indexFile };
  try {
    await resetIndex(repository, index, shown);
    await repository.git.run({
      args: ['checkout-index', '-u', '-q', '-z', '--stdin'],
      ...index,
      config: ['checkout.workers=2'],
      workTree: dir,
      stdin: files.map((path) => `${path}\0`).join(''),
    });
    if (shown !== head) await resetIndex(repository, index, head);
    await Promise.all([fsyncTree(dir), markSkipped(repository, dir, indexFile, foreign)]);
    await placeIndex(repository, dir, indexFile);
    // writes into the tree are acknowledged from now on, so the link to it must not vanish
    await fsyncTree(index.gitDir);
    for (const path of [index.gitDir, dirname(index.gitDir), dir]) await fsyncPath(dirname(path));
  } finally {
    await rm(indexFile, { force: true });
  }
}

interface SortedTree {
  /** What is put into working trees. */
  readonly files: readonly string[];
  /** What has its place in the index alone. */
  readonly foreign: readonly string[];
}

async function sortTree(repository: Repository, commit: string): Promise<SortedTree> {
  const files: string[] = [];
  const foreign: string[] = [];
  const slices = new Slices();
  for (const [path, entry] of await readTree(repository, commit)) {
    if (isCheckedOut(path, entry)) files.push(path);
    else if (isIndexable(path, entry.mode)) foreign.push(path);
    if (slices.isOver) await slices.pause();
  }
  return { files, foreign };
}

/** Removes a working tree with all that is in it; the caller has made sure that it is clean. */
export async function discardWorktree(repository: Repository, dir: string): Promise<void> {
  await removeTree(dir);
  await pruneWorktrees(repository);
}

/** Forgets working trees whose directory is gone. */
export async function pruneWorktrees(repository: Repository): Promise<void> {
  if (!existsSync(join(repository.gitDir, 'worktrees'))) return; // as of most brains, at each start of a process
  await withJournal(repository, [], () =>
    repository.git.run({ args: ['worktree', 'prune', '--expire=now'], gitDir: repository.gitDir }),
  );
}

/** Branch -> directory of every working tree the service has on disk, whole or not. */
export async function listWorktrees(worktreesDir: string): Promise<Map<string, string>> {
  const entries = await readdir(worktreesDir, { withFileTypes: true }).catch((error: unknown) => {
    if (isAbsent(error)) return [];
    throw error;
  });
  const dirs = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  return new Map(dirs.map(({ name }) => [name.replaceAll('+', '/'), join(worktreesDir, name)]));
}

/** Mends the two-way pointers after the data directory was moved or copied. One without a link is found so by its branch. */
export async function relinkWorktrees(repository: Repository, worktreesDir: string): Promise<void> {
  const dirs = [...(await listWorktrees(worktreesDir)).values()];
  if (dirs.length === 0) return;
  await relink(repository, dirs);
  await fsyncPath(worktreesDir);
}
