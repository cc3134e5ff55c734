/**
 * Moves one branch that lies in a file of its own as git does, without starting git: lock, look, write, log, rename.
 * Whatever is not that simple is left to git.
 */
import { appendFileSync, linkSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isPresent, readTextIfPresent } from '../files/fsync.ts';
import { ageOfLock, STALE_LOCK_MS } from './index-lock.ts';
import { scratchPath } from './journal.ts';
import { gitDate } from './commit-object.ts';
import type { Repository } from './repository.ts';
import { isObjectId } from './run.ts';

interface LooseMove {
  /** A checked name. */
  readonly ref: string;
  readonly from: string;
  readonly to: string;
  readonly at: Date;
}

const LOCK_PATIENCE_MS = 2_000;
const RETRY_MS = 5;

/**
 * True when the reference went from `from` to `to`, false when it was elsewhere, null when git has to do it (nothing
 * changed then). The new content is durable; the directory is for the caller to flush.
 */
export async function moveLooseRef(repository: Repository, move: LooseMove): Promise<boolean | null> {
  const path = join(repository.gitDir, move.ref);
  const logs = logsOf(repository, move.ref);
  if (logs === null || !isPlainFile(path)) return null;
  // a hard link of ours is the lock: after a kill, the shared inode tells the boot repair whose it was
  const token = await scratchPath(repository, 'ref');
  await writeFile(token, `${move.to}\n`, { flag: 'wx', flush: true });
  try {
    if (!(await takeLock(token, `${path}.lock`))) return null;
    return moveLocked(repository, path, logs, move);
  } finally {
    rmSync(token, { force: true });
  }
}

function moveLocked(repository: Repository, path: string, logs: readonly string[], move: LooseMove): boolean | null {
  let isMoved = false;
  try {
    const now = readTextIfPresent(path)?.trim() ?? '';
    if (!isObjectId(now)) return null;
    if (now !== move.from) return false;
    for (const log of logs) appendFileSync(log, logLine(repository, move));
    renameSync(`${path}.lock`, path);
    isMoved = true;
    return true;
  } finally {
    if (!isMoved) rmSync(`${path}.lock`, { force: true });
  }
}

/** One older than ten minutes belongs to nobody any more. */
async function takeLock(token: string, lock: string): Promise<boolean> {
  const endsAt = Date.now() + LOCK_PATIENCE_MS;
  while (Date.now() < endsAt) {
    try {
      linkSync(token, lock);
      return true;
    } catch (error) {
      if (!isPresent(error)) throw error;
    }
    if ((ageOfLock(lock) ?? 0) > STALE_LOCK_MS) rmSync(lock, { force: true });
    await delay(RETRY_MS);
  }
  return false;
}

/** The logs that git would write to; null when one is not there yet, or no file, which is for git to judge. */
function logsOf({ gitDir }: Repository, ref: string): readonly string[] | null {
  const isHead = readTextIfPresent(join(gitDir, 'HEAD'))?.trim() === `ref: ${ref}`;
  const logs = [join(gitDir, 'logs', ref), ...(isHead ? [join(gitDir, 'logs', 'HEAD')] : [])];
  return logs.every(isPlainFile) ? logs : null;
}

function logLine({ git }: Repository, { from, to, at }: LooseMove): string {
  const { name, email } = git.committer;
  return `${from} ${to} ${name} <${email}> ${gitDate(at).slice(1)}\tsvc\n`;
}

function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
