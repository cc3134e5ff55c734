/** One process per data directory: a lock file that names its holder and outlives no one. */
import { execFileSync } from 'node:child_process';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes, randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { StartProblem } from './start-problem.ts';

interface DataLock {
  /** Removes the lock file; harmless when called twice. */
  release(): void;
}

/** Another live process holds the lock; the message names the file and the process. */
export class DataLocked extends StartProblem {}

/**
 * Takes the lock `file` or throws DataLocked. A holder that no longer runs is replaced.
 * Whoever replaces a dead holder does so under a lock of its own, so two newcomers cannot both win.
 */
export function takeLock(file: string): DataLock {
  const mine = identityOf(process.pid) ?? String(process.pid);
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(draft, mine, { mode: 0o600 });
    if (!linkIfAbsent(draft, file)) replaceDeadHolder(draft, file);
  } finally {
    rmSync(draft, { force: true }); // also the empty one that a full disk leaves
  }
  removeLeftovers(file);
  const release = (): void => {
    held.delete(release);
    if (held.size === 0) process.off('exit', releaseAll);
    if (readHolder(file) === mine) rmSync(file, { force: true });
  };
  if (held.size === 0) process.once('exit', releaseAll);
  held.add(release);
  return { release };
}

/** Locks of this process, which ends without its orderly end when its start fails and something hangs. */
const held = new Set<() => void>();

function releaseAll(): void {
  for (const release of held) release();
}

/** What newcomers left that were killed, or found a full disk, while they took the lock. */
function removeLeftovers(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(`${basename(file)}.`)) continue;
    const path = join(dirname(file), name);
    const [, pid] = /\.(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
    const isDead = pid === undefined ? !isLiveHolder(readHolder(path)) : identityOf(Number(pid)) === null;
    if (isDead) rmSync(path, { force: true });
  }
}

/** `link` is atomic and fails when the name exists: exactly one of many newcomers succeeds. */
function linkIfAbsent(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function replaceDeadHolder(draft: string, file: string): void {
  refuseLiveHolder(file);
  const takeover = takeLock(`${file}.takeover`);
  try {
    refuseLiveHolder(file); // someone may have replaced the dead holder before we had the takeover lock
    renameSync(draft, file);
  } finally {
    takeover.release();
  }
}

function refuseLiveHolder(file: string): void {
  const holder = readHolder(file);
  if (!isLiveHolder(holder)) return;
  const pid = holder?.split(' ')[0];
  throw new DataLocked(`${file} is held by process ${pid}: stop that process or use another data directory`);
}

const [SHARED, LOCK_ENDING] = ['cluster-', '.lock'];

/** The lock of one of several processes that share a directory. In containers all may have the same number. */
export function sharerLock(directory: string): string {
  return join(directory, `${SHARED}${randomUUID()}${LOCK_ENDING}`);
}

/** Whether it is the name of such a lock, or of the draft of one. */
export function isSharerLock(name: string): boolean {
  return name.startsWith(SHARED) && name.includes(LOCK_ENDING);
}

/** The locks of those that share it, and who holds them; null = somebody who was killed. */
export function sharerLocks(directory: string): { readonly file: string; readonly holder: number | null }[] {
  const names = readdirSync(directory).filter((name) => isSharerLock(name) && name.endsWith(LOCK_ENDING));
  return names.map((name) => ({ file: join(directory, name), holder: liveHolder(join(directory, name)) }));
}

/** The process that holds the lock `file` now; null = nobody. */
export function liveHolder(file: string): number | null {
  const holder = lockHolder(file);
  return holder === null ? null : Number(holder.split(' ')[0]);
}

/** What names the process that holds the lock `file` now, for ever; null = nobody. */
export function lockHolder(file: string): string | null {
  const holder = readHolder(file);
  return isLiveHolder(holder) ? holder : null;
}

function isLiveHolder(holder: string | null): boolean {
  const pid = Number(holder?.split(' ')[0]);
  return Number.isSafeInteger(pid) && identityOf(pid) === holder;
}

function readHolder(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Process ids are reused; together with the boot and the start time they name one process for ever. */
function identityOf(pid: number): string | null {
  const startedAt = process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid);
  return startedAt === null ? null : `${pid} ${startedAt}`;
}

function startOnLinux(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the command's name may hold spaces
    const state = fields[0];
    const startTicks = fields[19];
    if (state === 'Z' || state === 'X') return null;
    return `${startTicks} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
  } catch {
    return null;
  }
}

function startByPs(pid: number): string | null {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}
