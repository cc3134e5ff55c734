/** Records on disk of work that a killed process leaves half done: a record is there whole or not at all. */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from './make-folder.ts';
import { fsyncPath, isAbsent } from './fsync.ts';

export interface Journal {
  /** Must be called when the work is done or undone. */
  close(): Promise<void>;
}

const UNFINISHED = '.tmp';

/** What a record outlasts once it is written: a power cut costs two waits for the disk. */
interface Durability {
  readonly survives: 'kill' | 'power cut';
}

/** `name` has no extension. */
export async function openJournal(
  directory: string,
  name: string,
  record: unknown,
  { survives }: Durability = { survives: 'power cut' },
): Promise<Journal> {
  const flush = survives === 'power cut';
  const file = join(directory, `${name}.json`);
  makeFolder(directory);
  try {
    await writeFile(file + UNFINISHED, JSON.stringify(record), { flag: 'wx', flush });
    await rename(file + UNFINISHED, file);
    if (flush) await fsyncPath(directory);
  } catch (error) {
    for (const left of [file, file + UNFINISHED]) await rm(left, { force: true }).catch(() => undefined);
    throw error;
  }
  return { close: () => rm(file, { force: true }) };
}

/** Records whose names begin with `prefix`, which a dead process left; half-written ones are removed. */
export async function leftJournals(
  directory: string,
  prefix: string,
): Promise<{ readonly record: unknown; readonly journal: Journal }[]> {
  const names = (await readNames(directory)).filter((name) => name.startsWith(prefix)).sort();
  const left: { record: unknown; journal: Journal }[] = [];
  for (const name of names) {
    const file = join(directory, name);
    const close = (): Promise<void> => rm(file, { force: true });
    if (name.endsWith(UNFINISHED)) await close();
    else left.push({ record: JSON.parse(await readFile(file, 'utf8')) as unknown, journal: { close } });
  }
  return left;
}

async function readNames(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}
