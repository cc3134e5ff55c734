/** What git itself does not fsync: the directories that hold new objects and references. */
import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fsyncPath, ignoreAbsent } from '../files/fsync.ts';

/** A directory changed again within one tick of the file system's clock keeps its time stamp. */
const SETTLED_MS = 100;

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
