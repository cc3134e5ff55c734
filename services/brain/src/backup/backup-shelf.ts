/** The backups that lie in the data directory, as any process sees them. */
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { LRUCache } from 'lru-cache';
import { ignoreAbsent } from '../files/fsync.ts';
import { DamagedArchive, type Manifest, readManifest, sumOf, verifyArchive } from './archive.ts';
import { backupsFolder, listBackups } from './backup-files.ts';

/** `sha256` of the file as it is; the rest is null when it does not say what it is. */
interface ShownBackup {
  readonly path: string;
  readonly bytes: number;
  readonly brain: string | null;
  readonly commit: string | null;
  readonly createdAt: number | null;
  readonly sha256: string;
}

const KEPT_SUMS = 1000;

export type BackupShelf = ReturnType<typeof createBackupShelf>;

export function createBackupShelf(dataDir: string) {
  const sums = new LRUCache<string, ShownBackup>({ max: KEPT_SUMS });
  const placeOf = (name: string): string => join(backupsFolder(dataDir), name);
  return {
    names: () => listBackups(dataDir),
    /** Null when it is gone. The sum is computed once for each state of the file. */
    async describe(name: string): Promise<ShownBackup | null> {
      const found = await lstat(placeOf(name), { bigint: true }).catch(ignoreAbsent);
      if (found === undefined) return null;
      const key = [name, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ');
      const known = sums.get(key);
      if (known !== undefined) return known;
      const { brain = null, commit = null, at = null } = (await manifestOf(placeOf(name))) ?? {};
      const shown = { path: name, brain, commit, createdAt: at, ...(await sumOf(placeOf(name))) };
      sums.set(key, shown);
      return shown;
    },
    /** The brain that the backup is of, once every byte is known to be what was written. */
    async check(name: string): Promise<Decision<{ brain: string }, 'E_BACKUP_ABSENT' | 'E_BACKUP_CORRUPT'>> {
      const found = await lstat(placeOf(name)).catch(ignoreAbsent);
      if (found?.isFile() !== true) return deny('E_BACKUP_ABSENT', { path: name });
      try {
        const { brain } = await verifyArchive(placeOf(name));
        return allow({ brain });
      } catch (error) {
        if (error instanceof DamagedArchive) return damaged(name, error);
        throw error;
      }
    },
  };
}

export function damaged(name: string, { message }: DamagedArchive) {
  return deny('E_BACKUP_CORRUPT', { path: name }, `The backup is damaged: ${message}. Nothing changed.`);
}

async function manifestOf(path: string): Promise<Manifest | null> {
  try {
    return await readManifest(path);
  } catch (error) {
    if (error instanceof DamagedArchive) return null;
    throw error;
  }
}
