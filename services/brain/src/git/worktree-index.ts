/** A working tree's own index follows our commits, else a person's `git status` would show them undone. */
import { lstatSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { IndexEdit } from './index-file.ts';
import { lockIndex } from './index-lock.ts';
import type { TreeEdit } from './objects.ts';
import type { Repository } from './repository.ts';
import { objectId } from './run.ts';
import { worktreeGitDir } from './worktree-state.ts';

/** Notes in the index how the files lie on disk now; `absent` paths (foreign entries) count as present. */
export async function refreshIndex(
  repository: Repository,
  worktree: string,
  indexFile: string,
  absent: readonly string[],
): Promise<void> {
  const call = { gitDir: await worktreeGitDir(repository, worktree), workTree: worktree, indexFile };
  if (absent.length > 0) {
    const stdin = absent.map((path) => `${path}\0`).join('');
    await repository.git.run({ ...call, args: ['update-index', '-z', '--skip-worktree', '--stdin'], stdin });
  }
  // exit 1: some files differ from the index, which is what dirty means
  await repository.git.run({ ...call, args: ['update-index', '-q', '--refresh'], answers: [0, 1] });
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
      : await readDifference(repository, before, commit);
  return changed.map(({ path, entry }) => ({
    path,
    entry:
      entry === null ? null : { ...entry, stat: null, isAbsent: away.has(path) && isMissing(join(worktree, path)) },
  }));
}

function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined;
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

/** Every entry that differs between two commits, as it is in the later one. */
export async function readDifference(repository: Repository, before: string, after: string): Promise<TreeEdit[]> {
  const args = [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '--no-renames',
    '--full-tree',
    '--no-ext-diff',
    '--ignore-submodules=none',
  ];
  const { stdout } = await repository.git.run({
    args: [...args, objectId(before), objectId(after)],
    gitDir: repository.gitDir,
    maxOutputBytes: MAX_DIFFERENCE_BYTES,
  });
  return parseRaw(stdout, 'after');
}

const MAX_DIFFERENCE_BYTES = 96 * 1024 * 1024;

async function indexDifference(repository: Repository, worktree: string, commit: string): Promise<TreeEdit[]> {
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
  return parseRaw(stdout, 'before');
}

/** `:<mode> <mode> <oid> <oid> <status>` NUL `<path>` NUL, of which one side is wanted. */
function parseRaw(stdout: Buffer, side: 'before' | 'after'): TreeEdit[] {
  const fields = stdout.toString('utf8').split('\0');
  const edits: TreeEdit[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [mode0 = '', mode1 = '', oid0 = '', oid1 = ''] = (fields[at] ?? '').slice(1).split(' ');
    const entry = side === 'before' ? { mode: mode0, oid: oid0 } : { mode: mode1, oid: oid1 };
    edits.push({ path: fields[at + 1] ?? '', entry: entry.mode === '000000' ? null : entry });
  }
  return edits;
}
