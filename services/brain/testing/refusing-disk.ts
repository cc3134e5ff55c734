/** What a disk refuses, and how much a brain may hold, without a disk that is full. */
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '@svc/runtime/database.ts';
import { BRAIN_LIMITS } from '../src/domain/brain-size.ts';

/** Until it is disposed, the database finds no room for what a change tells. */
export async function fullDatabase({ pool }: Pick<Database, 'pool'>): Promise<AsyncDisposable> {
  await pool.query(`CREATE FUNCTION brain.no_room() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
  await pool.query(`CREATE TRIGGER no_room BEFORE INSERT ON brain.event_batches EXECUTE FUNCTION brain.no_room()`);
  return {
    async [Symbol.asyncDispose]() {
      await pool.query('DROP FUNCTION brain.no_room() CASCADE');
    },
  };
}

/** A file that is as large as the whole brain may be, and takes no room. */
export function fillBrain(dataDir: string, brain: string): void {
  const path = join(dataDir, 'brains', brain, 'large.bin');
  writeFileSync(path, '');
  truncateSync(path, BRAIN_LIMITS.bytes);
}
