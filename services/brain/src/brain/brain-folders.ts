/** Where the brains lie on disk. A person may remove such a folder, or put another in its place, while it is in use. */
import { statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BrainName } from '@svc/contract/names.ts';
import { isAbsent } from '../files/fsync.ts';

export class BrainFolders {
  readonly #dir: string;
  /** Brains that were there when they were last looked for here. */
  readonly #vanished = new Set<string>();

  /** `dataDir` is absolute. */
  constructor(dataDir: string) {
    this.#dir = join(dataDir, 'brains');
  }

  of(brain: string): string {
    return join(this.#dir, brain);
  }

  /** Every brain that is there, by name. */
  names(): Promise<string[]> {
    return this.namesWith([]);
  }

  /** As `names`, with some more. */
  async namesWith(others: readonly string[]): Promise<string[]> {
    const children = await readdir(this.#dir, { withFileTypes: true }).catch(() => []);
    const names = children.flatMap((child) =>
      child.isDirectory() && BrainName.safeParse(child.name).success ? [child.name] : [],
    );
    return [...new Set([...names, ...others])].sort();
  }

  async exists(brain: string): Promise<boolean> {
    try {
      return (await stat(this.of(brain))).isDirectory();
    } catch (error) {
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  /** Tells the repository that is there now from any that takes its place; null = there is none. */
  identity(brain: string): string | null {
    try {
      const found = statSync(join(this.of(brain), '.git'), { bigint: true, throwIfNoEntry: false });
      return found?.isDirectory() === true ? `${found.dev}:${found.ino}` : null;
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
  }

  noteVanished(brain: string): void {
    this.#vanished.add(brain);
  }

  /** Brains whose folders went away under us and are not back. */
  async vanished(): Promise<string[]> {
    for (const brain of this.#vanished) if (await this.exists(brain)) this.#vanished.delete(brain);
    return [...this.#vanished].sort();
  }
}
