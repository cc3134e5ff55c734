/** The key under which hashes of files with hidden fields are shown: one per data directory, on disk for its owner only. */
import { createHash } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fsyncPath } from '../files/fsync.ts';

const FILE = 'shown-hash.key';
const KEY_BYTES = 32;
const DIRECTORY_CHARACTERS = 16;

/** Null where nobody has worked yet. */
export async function findHashKey(dataDir: string): Promise<Uint8Array | null> {
  const path = join(dataDir, FILE);
  const known = await readFile(path).catch(() => null);
  return known === null ? null : checked(known, path);
}

/** Made on first use; processes that share the directory get the same. */
export async function readHashKey(
  dataDir: string,
  { randomBytes, unique }: { randomBytes(count: number): Uint8Array; readonly unique: string },
): Promise<Uint8Array> {
  const known = await findHashKey(dataDir);
  if (known !== null) return known;
  const path = join(dataDir, FILE);
  const fresh = join(dataDir, `${FILE}.${unique}`);
  await writeFile(fresh, randomBytes(KEY_BYTES), { flag: 'wx', mode: 0o600, flush: true });
  try {
    await link(fresh, path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another process was first
    });
    await fsyncPath(dataDir);
  } finally {
    await rm(fresh, { force: true });
  }
  return checked(await readFile(path), path);
}

/** Tells the data directory of the key from any other, and nothing of the key. */
export function directoryOf(key: Uint8Array): string {
  return createHash('sha256').update('data directory').update(key).digest('hex').slice(0, DIRECTORY_CHARACTERS);
}

function checked(key: Uint8Array, path: string): Uint8Array {
  if (key.byteLength !== KEY_BYTES) throw new Error(`${path} does not hold a key of ${KEY_BYTES} bytes`);
  return key;
}
