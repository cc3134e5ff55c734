/** Contents of commits as files of our own, beside the working trees, ready to be put in place. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../files/make-folder.ts';
import { fsyncPath } from '../files/fsync.ts';
import { scratchPath } from './journal.ts';
import type { TreeEntry } from './objects.ts';
import type { Repository } from './repository.ts';
import { objectId } from './run.ts';

export interface Stage extends AsyncDisposable {
  /** For files that are set aside. */
  readonly aside: string;
  /** Durable, with the mode of its entry. Throws when the path was not staged. */
  fileOf(path: string): string;
}

const FILES_PER_DIRECTORY = 1000;
const FLUSHED_AT_ONCE = 64;
const CHECKOUT_MS = 10 * 60_000;

/** Git writes the files, under numbers: no name from outside is used, and no content passes through this process. */
export async function stageEntries(
  repository: Repository,
  entries: readonly { readonly path: string; readonly entry: Pick<TreeEntry, 'mode' | 'oid'> }[],
): Promise<Stage> {
  const dir = await scratchPath(repository, 'stage');
  const stage = stageAt(dir, new Map(entries.map(({ path }, index) => [path, numbered(index)])));
  try {
    for (const folder of [dir, join(dir, 'files'), stage.aside]) makeFolder(folder);
    if (entries.length > 0) await checkOut(repository, dir, entries);
    return stage;
  } catch (error) {
    await stage[Symbol.asyncDispose]();
    throw error;
  }
}

async function checkOut(
  repository: Repository,
  dir: string,
  entries: readonly { readonly entry: Pick<TreeEntry, 'mode' | 'oid'> }[],
): Promise<void> {
  const { git, gitDir } = repository;
  const call = { gitDir, workTree: join(dir, 'files'), indexFile: join(dir, 'index'), timeoutMs: CHECKOUT_MS };
  const lines = entries.map(({ entry: { mode, oid } }, index) => `${mode} ${objectId(oid)}\t${numbered(index)}\0`);
  await git.run({ ...call, args: ['update-index', '-z', '--index-info'], stdin: lines.join('') });
  await git.run({ ...call, args: ['checkout-index', '--all', '--quiet'] });
  const files = entries.flatMap(({ entry }, index) =>
    entry.mode === '120000' ? [] : [join(dir, 'files', numbered(index))],
  );
  for (let start = 0; start < files.length; start += FLUSHED_AT_ONCE) {
    await Promise.all(files.slice(start, start + FLUSHED_AT_ONCE).map(fsyncPath));
  }
}

function numbered(index: number): string {
  return `${Math.floor(index / FILES_PER_DIRECTORY)}/${index}`;
}

function stageAt(dir: string, files: ReadonlyMap<string, string>): Stage {
  return {
    aside: join(dir, 'aside'),
    fileOf(path) {
      const file = files.get(path);
      if (file === undefined) throw new Error('a path that was not staged');
      return join(dir, 'files', file);
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}
