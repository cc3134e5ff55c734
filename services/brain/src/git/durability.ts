/** What git itself does not fsync: the directories that hold new objects and references. */
import { statSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A directory changed again within one tick of the file system's clock keeps its time stamp. */
const SETTLED_MS = 100;

export async function fsyncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Fsyncs every file and directory below `dir`, and `dir`. */
export async function fsyncTree(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await fsyncTree(path);
    else if (entry.isFile()) await fsyncPath(path);
  }
  await fsyncPath(dir);
}

/** Fsyncs the directories from the one that holds `path` up to and including `top`. */
export async function fsyncParents(path: string, top: string): Promise<void> {
  for (let dir = dirname(path); dir.startsWith(top); dir = dirname(dir)) {
    await fsyncPath(dir).catch(ignoreAbsent);
    if (dir === top) return;
  }
}

/** Makes the names of new objects durable: fsyncs each object directory that changed since the last call. */
export class ObjectDirectories {
  readonly #objectsDir: string;
  readonly #synced = new Map<string, bigint>();

  constructor(objectsDir: string) {
    this.#objectsDir = objectsDir;
  }

  async fsyncChanged(): Promise<void> {
    const names = await readdir(this.#objectsDir);
    await Promise.all(names.map((name) => this.#fsyncOne(join(this.#objectsDir, name))));
    await this.#fsyncOne(this.#objectsDir);
  }

  async #fsyncOne(dir: string): Promise<void> {
    // synchronous: there are 257 directories, and each answer comes from memory
    const before = statSync(dir, { bigint: true, throwIfNoEntry: false });
    if (before === undefined || this.#synced.get(dir) === before.mtimeNs) return;
    await fsyncPath(dir).catch(ignoreAbsent);
    if (Date.now() - Number(before.mtimeMs) > SETTLED_MS) this.#synced.set(dir, before.mtimeNs);
  }
}

/** A person's git may remove an empty directory at any time. */
function ignoreAbsent(error: unknown): undefined {
  if (isAbsent(error)) return undefined;
  throw error;
}

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

export function isPresent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
