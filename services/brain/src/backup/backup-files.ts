/** Where backups lie, and what a killed process leaves half made among them. */
import { hash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { link, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { idempotencyId } from '@svc/runtime/idempotency.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { ignoreAbsent, fsyncPath, isPresent } from '../files/fsync.ts';
import { checkedPath, blockedPath } from '../blocked-path.ts';
import { readMoves } from '../store/home-store.ts';
import { readLiveProcesses } from '../store/ownership.ts';

const EXTENSION = '.svcb';
const UNFINISHED = '.svc-';
const OF_KEY = `${UNFINISHED}key~`;
/** Nobody repeats a call later; its key is kept for much longer. */
const REPEATED_WITHIN_MS = 3_600_000;

export function backupsFolder(dataDir: string): string {
  return join(dataDir, 'backups');
}

/** One name in the folder, with its extension. Throws VAF_PATH_BLOCKED. */
export function backupName(path: string): string {
  if (path.includes('/')) throw blockedPath('must be one file name');
  return checkedPath(path.endsWith(EXTENSION) ? path : `${path}${EXTENSION}`);
}

/** `<brain>-20260102T030405678Z.svcb` */
export function nameFor(brain: string, at: Date): string {
  return `${brain}-${at.toISOString().replace(/[-:.]/g, '')}${EXTENSION}`;
}

export async function listBackups(dataDir: string): Promise<string[]> {
  const entries = (await readdir(backupsFolder(dataDir), { withFileTypes: true }).catch(ignoreAbsent)) ?? [];
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(EXTENSION));
  return files
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('.'))
    .sort();
}

/** For work of this process; `sweepUnfinished` of any other removes it when this one is dead. */
export function unfinishedPath(dataDir: string, process: string, id: string): string {
  return join(backupsFolder(dataDir), `${UNFINISHED}${process}~${id}`);
}

/** Whole and durable under its name, or false because something has that name. */
export async function publish(unfinished: string, folder: string, name: string): Promise<boolean> {
  try {
    await link(unfinished, join(folder, name));
  } catch (error) {
    if (isPresent(error)) return false;
    throw error;
  }
  await fsyncPath(folder);
  return true;
}

/** The file has its name no more, if it is this one that has it. */
export async function unpublish(unfinished: string, folder: string, name: string): Promise<void> {
  const [ours, named] = [await statOf(unfinished), await statOf(join(folder, name))];
  if (ours !== null && named?.ino === ours.ino) await rm(join(folder, name), { force: true });
}

/** A second name of the file that is published under a key: by it a repetition knows what a killed attempt has left. */
export function markOfKey(dataDir: string, scope: IdempotencyScope): string {
  return join(backupsFolder(dataDir), `${OF_KEY}${hash('sha256', idempotencyId(scope))}`);
}

/** By whoever holds the key, which has no outcome: what an attempt before published under it was told to nobody. */
export async function markAnew(unfinished: string, dataDir: string, mark: string): Promise<void> {
  const left = await statOf(mark);
  if (left !== null && isRecent(left)) {
    for (const name of await listBackups(dataDir)) await unpublish(mark, backupsFolder(dataDir), name);
  }
  await rm(mark, { force: true });
  await link(unfinished, mark);
}

async function statOf(path: string): Promise<Stats | null> {
  return (await stat(path).catch(ignoreAbsent)) ?? null;
}

function isRecent({ mtimeMs }: Stats): boolean {
  return Math.abs(Date.now() - mtimeMs) < REPEATED_WITHIN_MS;
}

interface Shelf {
  readonly client: SqlClient;
  readonly dataDir: string;
  readonly log: Pick<Platform['log'], 'error'>;
}

/** What dead processes left, unless it is on its way to its place. What the disk does not let go of is tried again the next time. */
export async function sweepUnfinished({ client, dataDir, log }: Shelf): Promise<void> {
  const folder = backupsFolder(dataDir);
  const names = (await readdir(folder).catch(ignoreAbsent)) ?? [];
  const unfinished = names.filter((name) => name.startsWith(UNFINISHED));
  if (unfinished.length === 0) return;
  const living = new Set(await readLiveProcesses(client));
  const due = new Set((await readMoves(client)).map(({ staged }) => staged));
  const isInUse = (name: string): boolean =>
    due.has(name) || living.has(name.slice(UNFINISHED.length).split('~')[0] ?? '');
  for (const name of unfinished) {
    const path = join(folder, name);
    try {
      if (name.startsWith(OF_KEY)) await forgetMark(path);
      else if (!isInUse(name)) await rm(path, { recursive: true, force: true });
    } catch (err) {
      log.error({ err, name }, 'what is left of a backup or a restore cannot be removed');
    }
  }
}

async function forgetMark(path: string): Promise<void> {
  const mark = await statOf(path);
  if (mark !== null && !isRecent(mark)) await rm(path, { force: true });
}
