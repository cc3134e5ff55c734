/** A working tree's own index follows our commits, else a person's `git status` would show them undone. */
import { lstatSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { REPOSITORY_MODE } from '../files/file-entry.ts';
import { isDirectory, readIfPresent } from '../files/fsync.ts';
import { type IndexEdit, type IndexEntry, skippedIn } from './index-file.ts';
import { lockIndex } from './index-lock.ts';
import { readRawChanges, readTreeChanges } from './objects.ts';
import { decodePath, encodePath, nulEnded } from './path-bytes.ts';
import type { Repository } from './repository.ts';
import { objectId } from './run.ts';
import { worktreeGitDir } from './worktree-state.ts';

/** Entries of the index that were never put into the working tree, as git spells them. */
export async function readSkipped(repository: Repository, worktree: string): Promise<Set<string>> {
  const gitDir = await worktreeGitDir(repository, worktree);
  const index = readIfPresent(join(gitDir, 'index'));
  const known = index === null ? [] : skippedIn(index);
  if (known !== null) return new Set(known);
  const { stdout } = await repository.git.run({
    args: ['ls-files', '-t', '-z', '--cached'],
    gitDir,
    workTree: worktree,
    maxOutputBytes: 96 * 1024 * 1024,
  });
  const lines = [...nulEnded(stdout)].map(decodePath);
  return new Set(lines.filter((line) => line.startsWith('S ')).map((line) => line.slice(2)));
}

/** `absent` paths (foreign entries) count as present without being there. */
export async function markSkipped(
  repository: Repository,
  worktree: string,
  indexFile: string,
  absent: readonly string[],
): Promise<void> {
  if (absent.length === 0) return;
  await repository.git.run({
    args: ['update-index', '-z', '--skip-worktree', '--stdin'],
    gitDir: await worktreeGitDir(repository, worktree),
    workTree: worktree,
    indexFile,
    stdin: encodePath(absent.map((path) => `${path}\0`).join('')),
  });
}

/** The first index of a working tree that nobody knows yet. */
export async function placeIndex(repository: Repository, worktree: string, indexFile: string): Promise<void> {
  await rename(indexFile, join(await worktreeGitDir(repository, worktree), 'index'));
  await rm(indexFile, { force: true });
}

/**
 * Makes the working tree's index follow a branch that was moved without a commit of ours, from `before` to `commit`: the
 * paths between the two are set, all else that a person has staged stays. Without `before` everything becomes as in
 * `commit`. New entries among `absent` count as present without being there. False when a person's git held the index.
 */
export async function adoptCommit(
  repository: Repository,
  worktree: string,
  commit: string,
  absent: readonly string[] = [],
  before: string | null = null,
): Promise<boolean> {
  const locked = await lockIndex(repository, worktree);
  if (locked.status === 'held') return false;
  try {
    await locked.index.edit(await editsToward(repository, worktree, { before, commit, absent }), commit);
  } finally {
    locked.index.release();
  }
  await noteFiles(repository, worktree);
  return true;
}

/** What the index has to change when the branch goes from `before` (null = from what the index holds) to `commit`. */
export async function editsToward(
  repository: Repository,
  worktree: string,
  {
    before,
    commit,
    absent,
  }: { readonly before: string | null; readonly commit: string; readonly absent: readonly string[] },
): Promise<IndexEdit[]> {
  const away = new Set(absent);
  const changed =
    before === null
      ? await indexDifference(repository, worktree, commit)
      : await readTreeChanges(repository, before, commit);
  return Array.from(changed, ([path, entry]) => ({
    path,
    entry:
      entry === null
        ? null
        : { ...entry, stat: null, isAbsent: away.has(path) && isMissing(join(worktree, path), entry) },
  }));
}

/** Also what lies below a file, or has a name that no directory here can hold; of a repository inside, a directory. */
function isMissing(path: string, { mode }: Pick<IndexEntry, 'mode'>): boolean {
  if (mode === REPOSITORY_MODE) return !isDirectory(path);
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return true;
  }
}

/** For `git status` to be fast: git compares the bytes of the new entries once. */
async function noteFiles(repository: Repository, worktree: string): Promise<void> {
  const gitDir = await worktreeGitDir(repository, worktree);
  // 1: some files differ; 128: a person's git has the index, and sees to it itself
  await repository.git.run({
    args: ['update-index', '-q', '--refresh'],
    gitDir,
    workTree: worktree,
    answers: [0, 1, 128],
  });
}

const MAX_DIFFERENCE_BYTES = 96 * 1024 * 1024;

async function indexDifference(
  repository: Repository,
  worktree: string,
  commit: string,
): Promise<Map<string, { mode: string; oid: string } | null>> {
  const { stdout } = await repository.git.run({
    args: [
      'diff-index',
      '--cached',
      '-z',
      '--raw',
      '--no-renames',
      '--full-index',
      '--ignore-submodules=none',
      objectId(commit),
    ],
    gitDir: await worktreeGitDir(repository, worktree),
    workTree: worktree,
    maxOutputBytes: MAX_DIFFERENCE_BYTES,
  });
  return readRawChanges(stdout, ([mode = '', , oid = '']) => ({ mode, oid }));
}
