/** A database of its own for a test: embedded, in a temporary folder, gone afterwards. */
import { hash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
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

/** An empty database as this version of the engine makes it: to copy it takes a fifth of the time of making one. */
async function template(): Promise<string> {
  // The package manager keeps each version in a folder of its own name.
  const engine = createRequire(import.meta.resolve('@svc/runtime/database.embedded.ts')).resolve(
    '@electric-sql/pglite',
  );
  const cache = join(import.meta.dirname, '..', 'node_modules', '.cache');
  const directory = join(cache, `embedded-database-${hash('sha256', engine).slice(0, 16)}`);
  if (existsSync(directory)) return directory;
  mkdirSync(cache, { recursive: true });
  const own = mkdtempSync(join(cache, 'making-'));
  await (await openEmbeddedDatabase({ directory: own, log: silent })).close();
  try {
    renameSync(own, directory);
  } catch {
    rmSync(own, { recursive: true }); // another process made it meanwhile
  }
  return directory;
}

/** Opens in about half a second. Closing, also by `await using`, removes its folder. */
export async function embeddedDatabase(): Promise<Database & AsyncDisposable & { readonly directory: string }> {
  const directory = mkdtempSync(join(fastFolder(), 'svc-db-'));
  cpSync(await template(), directory, { recursive: true });
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
