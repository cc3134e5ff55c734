/** What lies in the service for a while, beside the files of brains. */
import type { Ids } from '@svc/runtime/clock.ts';
import { NOW } from '@svc/runtime/sql-time.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { TmpCache } from './cache-store.ts';
import { TmpFiles } from './file-store.ts';
import { TmpStash } from './stash-store.ts';

export interface TmpStore {
  readonly files: TmpFiles;
  readonly cache: TmpCache;
  readonly stash: TmpStash;
}

export function createTmpStore(store: ServiceStore, ids: Ids): TmpStore {
  return { files: new TmpFiles(store), cache: new TmpCache(store), stash: new TmpStash(store, ids) };
}

const SWEPT_AT_ONCE = 1000;

/**
 * Takes away what is past its time, a few rows at once, so that nobody waits for long. By the clock of the database: a
 * process whose own is ahead would take what others may still read.
 */
export async function sweepTmp(client: ServiceStore['client']): Promise<void> {
  for (const table of ['tmp_files', 'tmp_cache']) {
    let swept = SWEPT_AT_ONCE;
    while (swept === SWEPT_AT_ONCE) {
      swept = await client.$executeRawUnsafe(
        `DELETE FROM brain.${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM brain.${table}
           WHERE expires_at <= ${NOW} ORDER BY expires_at LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED))`,
      );
    }
  }
}
