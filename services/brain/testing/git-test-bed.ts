/** Temporary repositories for the tests of this folder. */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type SimpleGit, simpleGit } from 'simple-git';
import {
  commitChanges,
  type CommitEntry,
  type CommitResult,
  type FileChange,
  readCommits,
} from '../src/git/commits.ts';
import type { MergeLimits } from '../src/git/merge-thread.ts';
import { readHead } from '../src/git/refs.ts';
import { createRepository, type Repository } from '../src/git/repository.ts';
import { createGit } from '../src/git/run.ts';

export const AT = new Date('2026-01-02T03:04:05Z');
/** Of a merge of which nothing is to be told. */
export const MERGE_LIMITS: MergeLimits = { log: { warn: () => {}, error: () => {} }, withinMs: 60_000 };
export const AUTHOR = { name: 'ada', email: 'ada@agents.local' };

/** True when the machine has the program. */
export function hasProgram(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;
}

export interface TestBed extends AsyncDisposable {
  readonly root: string;
  readonly worktreesDir: string;
  readonly repository: Repository;
}

export async function makeTestBed(): Promise<TestBed> {
  const root = await mkdtemp(join(tmpdir(), 'brain-git-'));
  const repository = await createRepository(createGit(), { dir: join(root, 'brain'), at: AT });
  return {
    root,
    worktreesDir: join(root, 'worktrees'),
    repository,
    [Symbol.asyncDispose]: async () => {
      repository[Symbol.dispose]();
      await rm(root, { recursive: true, force: true });
    },
  };
}

export function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

/** Writes the files into the working tree of `main` and commits them there. */
export async function saveFiles(
  repository: Repository,
  files: Readonly<Record<string, string | null>>,
  message = 'save',
): Promise<Extract<CommitResult, { status: 'committed' }>> {
  for (const [path, content] of Object.entries(files)) await placeFile(repository.dir, path, content);
  return commitFiles(repository, 'main', files, { message, worktree: repository.dir });
}

/** Writes or removes one file; empty directories in the way go. */
export async function placeFile(dir: string, path: string, content: string | Uint8Array | null): Promise<void> {
  const file = join(dir, path);
  await rm(file, { recursive: true, force: true });
  if (content === null) return;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

/** Commits the files on `branch`. */
export async function commitFiles(
  repository: Repository,
  branch: string,
  files: Readonly<Record<string, string | null>>,
  { message = 'save', worktree = null }: { message?: string; worktree?: string | null } = {},
): Promise<Extract<CommitResult, { status: 'committed' }>> {
  const changes: FileChange[] = Object.entries(files).map(([path, content]) => ({
    path,
    content: content === null ? null : text(content),
  }));
  const expectedHead = await mustRead(repository, branch);
  const request = { branch, worktree, expectedHead, changes, message, author: AUTHOR, at: AT };
  const result = await commitChanges(repository, request);
  if (result.status !== 'committed') throw new Error(`not committed: ${result.status}`);
  return result;
}

export async function mustRead(repository: Repository, branch: string): Promise<string> {
  const head = await readHead(repository, branch);
  if (head === null) throw new Error(`no branch ${branch}`);
  return head;
}

interface LogRange {
  readonly from: string;
  /** Leaves out what this commit already reaches. */
  readonly without?: string;
  readonly limit: number;
}

/** The commits that `from` reaches, newest first. */
export async function readLog(repository: Repository, { from, without, limit }: LogRange): Promise<CommitEntry[]> {
  const { stdout } = await repository.git.run({
    args: ['rev-list', '--topo-order', `--max-count=${limit}`, from, ...(without === undefined ? [] : [`^${without}`])],
    gitDir: repository.gitDir,
  });
  return readCommits(repository, stdout.toString('latin1').split('\n').filter(Boolean));
}

export function readText(repository: Repository, path: string): Promise<string> {
  return readFile(join(repository.dir, path), 'utf8');
}

/** A person's own git: another client library, the person's configuration and none of our settings. */
export function personGit(dir: string): SimpleGit {
  const email = 'person@example.org';
  return simpleGit({ baseDir: dir, config: ['user.name=Person', `user.email=${email}`] });
}
