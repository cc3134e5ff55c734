/** A database of its own for a test: embedded, in a temporary folder, gone afterwards. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '@svc/runtime/database.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';

const MEMORY_FOLDER = '/dev/shm';
const ROOM_BYTES = 2 ** 30;

/** Creating the thousand files of a database takes a second on a busy disk, a tenth of it in memory. */
function fastFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    if (bavail * bsize >= ROOM_BYTES) return MEMORY_FOLDER;
  } catch {
    // not every system has one
  }
  return tmpdir();
}

const silent = { warn() {}, fatal() {} };

/** Opens in about half a second. Closing, also by `await using`, removes its folder. */
export async function embeddedDatabase(): Promise<Database & AsyncDisposable & { readonly directory: string }> {
  const directory = mkdtempSync(join(fastFolder(), 'svc-db-'));
  const database = await openEmbeddedDatabase({ directory, log: silent });
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove); // for a test that failed before it could close
  const close = async () => {
    await database.close();
    process.off('exit', remove);
    remove();
  };
  return { ...database, directory, close, [Symbol.asyncDispose]: close };
}
