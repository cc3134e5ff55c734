/** Where backups lie, and what a killed process leaves half made among them. */
import { link, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SqlClient } from '@svc/runtime/database.ts';
import { ignoreAbsent, fsyncPath, isPresent } from '../files/fsync.ts';
import { checkedPath, blockedPath } from '../blocked-path.ts';
import { readMoves } from '../store/home-store.ts';
import { readLiveProcesses } from '../store/ownership.ts';

const EXTENSION = '.svcb';
const UNFINISHED = '.svc-';

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

/** What dead processes left, unless it is on its way to its place. */
export async function sweepUnfinished(client: SqlClient, dataDir: string): Promise<void> {
  const folder = backupsFolder(dataDir);
  const names = (await readdir(folder).catch(ignoreAbsent)) ?? [];
  const unfinished = names.filter((name) => name.startsWith(UNFINISHED));
  if (unfinished.length === 0) return;
  const living = new Set(await readLiveProcesses(client));
  const due = new Set((await readMoves(client)).map(({ staged }) => staged));
  for (const name of unfinished) {
    const [process = ''] = name.slice(UNFINISHED.length).split('~');
    if (!living.has(process) && !due.has(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
}
