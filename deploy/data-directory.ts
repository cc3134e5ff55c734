/** The data directory of a process that has it for itself: taken before anything is written into it. */
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '@svc/runtime/config.ts';
import { liveHolder, sharerLock, sharerLocks, takeLock } from '@svc/runtime/data-lock.ts';
import { diskTroubleOf } from '@svc/runtime/disk-errors.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';
import { LOCK } from './node-address.ts';

/** What the database of a new node takes, and something to begin with. */
const NEW_NODE_MIB = 80;
const MIB = 1024 * 1024;
export const DATABASE = 'database';

export interface DataDirectory {
  readonly path: string;
  /** Nothing was in it. */
  readonly isNew: boolean;
  /** The stores are open: from now on somebody may keep something there. */
  inUse(): void;
  /** Lets the next process have it; before it was in use, a new one goes again. */
  release(): void;
}

/** Throws StartProblem: another process has it, nobody may write there, or a new node does not fit. */
export function takeDataDirectory(config: Config): DataDirectory {
  const path = resolve(config.SVC_DATA_DIR);
  const isMade = !existsSync(path);
  try {
    return take(path, isMade);
  } catch (error) {
    if (isMade && existsSync(path)) removeMade(path, true);
    if (error instanceof StartProblem) throw error;
    const reason = diskTroubleOf(error)?.reason ?? (error instanceof Error ? error.message : String(error));
    throw new StartProblem(`SVC_DATA_DIR: ${path} cannot be used: ${reason}`);
  }
}

function take(path: string, isMade: boolean): DataDirectory {
  const isNew = isMade || readdirSync(path).length === 0;
  let isInUse = false;
  if (!existsSync(join(path, DATABASE, 'pg', 'PG_VERSION'))) refuseSmallDisk(path);
  makeFolder(path);
  const lock = takeLock(join(path, LOCK));
  try {
    refuseSharers(path);
  } catch (error) {
    lock.release();
    throw error;
  }
  return {
    path,
    isNew,
    inUse() {
      isInUse = true;
    },
    release() {
      lock.release();
      if (isNew && !isInUse) removeMade(path, isMade);
    },
  };
}

/**
 * Tells a node in one process that those of a cluster keep their files there, as long as this one lives. Throws StartProblem
 * when such a node has it. Each looks for the other when its own lock is there, so that of two at once not both go on.
 */
export function shareDataDirectory(config: Config): { release(): void } {
  const path = resolve(config.SVC_DATA_DIR);
  try {
    return share(path);
  } catch (error) {
    if (error instanceof StartProblem) throw error;
    // Reads go on from a disk that takes no lock; where nothing can be kept at all, the service says so.
    return { release() {} };
  }
}

function share(path: string): { release(): void } {
  const isMade = !existsSync(path);
  makeFolder(path);
  sharersOf(path);
  const lock = takeLock(sharerLock(path));
  const alone = join(path, LOCK);
  const holder = liveHolder(alone);
  const release = (): void => {
    lock.release();
    // The start was refused before anything was kept there.
    if (isMade && readdirSync(path).length === 0) rmdirSync(path);
  };
  if (holder === null) return { release };
  lock.release();
  throw new StartProblem(`${alone} is held by process ${holder}: stop that process or use another data directory`);
}

function refuseSharers(path: string): void {
  const [holder] = sharersOf(path);
  if (holder !== undefined)
    throw new StartProblem(`${path} is shared by process ${holder} of a cluster: use another data directory`);
}

/** The processes that live. What others left that were killed is removed. */
function sharersOf(path: string): number[] {
  return sharerLocks(path).flatMap(({ file, holder }) => {
    if (holder === null) rmSync(file, { force: true });
    return holder ?? [];
  });
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    // Of a file system that is read-only Node says here that the path is not there; made alone, the folder tells why it cannot be.
    const [absent] = absentOf(path);
    if (absent !== undefined) mkdirSync(absent);
    throw error;
  }
}

/** The folders of a path that are not there, the topmost first. */
function absentOf(path: string): string[] {
  return existsSync(path) ? [] : [...absentOf(dirname(path)), path];
}

function refuseSmallDisk(path: string): void {
  const [absent] = absentOf(path);
  const { bavail, bsize } = statfsSync(absent === undefined ? path : dirname(absent));
  const free = Math.floor((bavail * bsize) / MIB);
  if (free >= NEW_NODE_MIB) return;
  throw new StartProblem(`SVC_DATA_DIR: ${path} has ${free} MiB free, and a new node needs ${NEW_NODE_MIB}`);
}

function removeMade(path: string, withFolder: boolean): void {
  rmSync(join(path, DATABASE), { recursive: true, force: true });
  if (withFolder && readdirSync(path).length === 0) rmdirSync(path);
}
