/** Puts a repository in order before it serves: leftovers of killed processes go, heads are checked. */
import { readdir, readFile, rm, stat, unlink } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAbsent } from '../files/fsync.ts';
import { JOURNAL_PREFIX } from './journal.ts';
import { pruneWorktrees } from './worktrees.ts';
import { removeTornIndexes } from './derived-indexes.ts';
import { BrokenBranch, forgetCommits } from './broken-branch.ts';
import { readBranches } from './refs.ts';
import type { Repository } from './repository.ts';
import { GitError } from './run.ts';
import { ageOfLock, STALE_LOCK_MS } from './index-lock.ts';

/** A git child outlives our killed process for moments only: its input ends with us. */
const ORPHAN_MS = 1_000;

interface BootReport {
  /** Lock files removed, relative to the git directory. */
  readonly removedLocks: readonly string[];
  /** What git derives from the objects and was torn; it went. */
  readonly tornIndexes: readonly string[];
  /** What `fsck` says about the heads, or null. */
  readonly damage: string | null;
}

/** Must run before anything writes, alone on the data directory, and after `relinkWorktrees`: what has no link is forgotten. */
export async function repairRepository(repository: Repository, fsck: Fsck = runFsck): Promise<BootReport> {
  const removedLocks = await removeDeadLocks(repository);
  await pruneWorktrees(repository);
  await rm(repository.scratchDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  const damage = await findDamage(repository, 'heads', fsck);
  const tornIndexes = damage === null ? [] : await removeTornIndexes(repository);
  if (tornIndexes.length === 0) return { removedLocks, tornIndexes, damage };
  return { removedLocks, tornIndexes, damage: await findDamage(repository, 'heads', fsck) };
}

/** What is older than the machine runs has lost its owner with it. */
async function removeDeadLocks(repository: Repository): Promise<string[]> {
  const journal = await readJournal(repository);
  // `index.lock` is ours when it is a hard link to one of our private indexes
  const ourFiles = new Set((await scratchFiles(repository)).map(({ ino }) => ino));
  const removed: string[] = [];
  for (const lock of await findLocks(repository.gitDir, '')) {
    const path = join(repository.gitDir, lock);
    const found = await stat(path).catch(() => null);
    if (found === null) continue;
    const ours = ourFiles.has(found.ino) || isJournalled(journal, lock, found.mtimeMs);
    if (ours) await delay(Math.min(ORPHAN_MS, Math.max(0, found.mtimeMs + ORPHAN_MS - Date.now())));
    else if ((ageOfLock(path) ?? 0) < Math.min(STALE_LOCK_MS, uptime() * 1000)) continue;
    await unlink(path).then(
      () => removed.push(lock),
      (error: unknown) => {
        if (!isAbsent(error)) throw error;
      },
    );
  }
  return removed;
}

interface JournalRecord {
  readonly since: number;
  readonly locks: readonly string[];
}

function isJournalled(journal: readonly JournalRecord[], lock: string, lockedAt: number): boolean {
  const local = lock.replace(/^worktrees\/[^/]+\//, '');
  // the file system's clock stands still for some milliseconds at a time
  return journal.some(({ since, locks }) => lockedAt >= since - 10 && locks.some((name) => covers(name, local)));
}

function covers(name: string, lock: string): boolean {
  return name.endsWith('/') ? lock.startsWith(name) : lock === name;
}

async function readJournal(repository: Repository): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (const { name, mtimeMs } of await scratchFiles(repository)) {
    if (!name.startsWith(JOURNAL_PREFIX)) continue;
    const locks = (await readFile(join(repository.scratchDir, name), 'utf8')).split('\n').filter(Boolean);
    records.push({ since: mtimeMs, locks });
  }
  return records;
}

/** What killed processes left there. Their last git children may still be tidying up after themselves. */
async function scratchFiles(repository: Repository): Promise<{ name: string; ino: number; mtimeMs: number }[]> {
  const names = await readdir(repository.scratchDir).catch(absentAsEmpty);
  const files = names.map(async (name) => {
    const found = await stat(join(repository.scratchDir, name)).catch(() => null);
    return found === null ? [] : [{ name, ino: found.ino, mtimeMs: found.mtimeMs }];
  });
  return (await Promise.all(files)).flat();
}

/** Lock files of references, indexes and configuration; objects have none that matter. */
async function findLocks(gitDir: string, below: string): Promise<string[]> {
  const locks: string[] = [];
  for (const entry of await readdir(join(gitDir, below), { withFileTypes: true }).catch(absentAsEmpty)) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isFile() && entry.name.endsWith('.lock')) locks.push(path);
    else if (entry.isDirectory() && !/^(?:objects|svc|hooks|info|logs)$/.test(path)) {
      locks.push(...(await findLocks(gitDir, path)));
    }
  }
  return locks;
}

function absentAsEmpty(error: unknown): [] {
  if (isAbsent(error)) return [];
  throw error;
}

/** Runs `git fsck` with these arguments; null = it found nothing. */
export type Fsck = (repository: Repository, scope: readonly string[]) => Promise<string | null>;

/** `heads`: can everything the branches need be reached; `strict`: is every object well formed. Null when sound. */
export async function findDamage(
  repository: Repository,
  depth: 'heads' | 'strict',
  fsck: Fsck = runFsck,
): Promise<string | null> {
  forgetCommits(repository);
  const { heads, broken } = await readBranches(repository);
  if (broken.includes('main')) return new BrokenBranch('main').message;
  if (heads.size === 0) return 'the repository has no branch';
  const scope =
    depth === 'heads'
      ? ['--connectivity-only', '--no-dangling', '--', ...new Set(heads.values())]
      : ['--strict', '--full', '--no-dangling'];
  return fsck(repository, scope);
}

export const runFsck: Fsck = async (repository, scope) => {
  try {
    const { exitCode, stdout, stderr } = await repository.git.run({
      args: ['fsck', '--no-progress', ...scope],
      gitDir: repository.gitDir,
      timeoutMs: 600_000,
      answers: FSCK_ANSWERS,
    });
    return exitCode === 0 ? null : whatFsckSaid(stderr, stdout.toString('utf8'));
  } catch (error) {
    if (error instanceof GitError) return error.stderr || error.message;
    throw error;
  }
};

/** Six bits, each for a kind of damage. */
const FSCK_ANSWERS = Array.from({ length: 64 }, (_, bits) => bits);

/** What is missing says more than what points to it. */
function whatFsckSaid(stderr: string, stdout: string): string {
  const said = stdout.split('\n').filter(Boolean);
  return stderr || (said.find((line) => line.startsWith('missing ')) ?? said[0] ?? 'git fsck found damage');
}
