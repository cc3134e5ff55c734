/** Writes single objects as git does, without starting it: a file of its own each, whole and flushed before it has its name. */
import { randomUUID } from 'node:crypto';
import { closeSync, fsync, openSync, renameSync, rmSync, statSync, utimesSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import { isAbsent } from '../files/fsync.ts';
import { makeFolder } from '../files/make-folder.ts';
import { type GitObject, objectHeader, objectIdOf } from './object-id.ts';

const flush = promisify(fsync);

/** What git itself uses for loose objects: speed before size; packing compresses again. */
const LEVEL = 1;

interface Unnamed {
  readonly temp: string;
  readonly path: string;
  readonly file: number;
}

/**
 * Writes what is not there yet and answers the ids in order. The bytes are durable when it resolves; the names of the
 * files are when `ObjectDirectories.fsyncChanged` has run, which every move of a reference does first.
 */
export async function writeLooseObjects(objectsDir: string, objects: readonly GitObject[]): Promise<string[]> {
  const oids = objects.map(objectIdOf);
  const unnamed: Unnamed[] = [];
  try {
    const begun = new Set<string>();
    for (const [index, object] of objects.entries()) {
      const oid = oids[index] ?? '';
      if (begun.has(oid) || isFreshened(pathOf(objectsDir, oid))) continue;
      begun.add(oid);
      unnamed.push(writeUnnamed(objectsDir, oid, object));
    }
    await Promise.all(unnamed.map(({ file }) => flush(file)));
    for (const { temp, path } of unnamed) renameSync(temp, path);
  } catch (error) {
    for (const { temp } of unnamed) rmSync(temp, { force: true });
    throw error;
  } finally {
    for (const { file } of unnamed) closeSync(file);
  }
  return oids;
}

function pathOf(objectsDir: string, oid: string): string {
  return join(objectsDir, oid.slice(0, 2), oid.slice(2));
}

/**
 * An object that is there already becomes young again, or `git prune` could take it for a leftover that nobody uses. One
 * that may not be touched is written again, as git does, and so is an empty file: the name of an object that a person's
 * git did not flush before the power went.
 */
function isFreshened(path: string): boolean {
  const now = new Date();
  try {
    utimesSync(path, now, now);
    return statSync(path).size > 0;
  } catch {
    return false;
  }
}

function writeUnnamed(objectsDir: string, oid: string, object: GitObject): Unnamed {
  const dir = join(objectsDir, oid.slice(0, 2));
  // git prunes leftovers of this name
  const temp = join(dir, `tmp_obj_${randomUUID()}`);
  const file = openIn(dir, temp);
  try {
    writeWhole(file, deflateSync(Buffer.concat([objectHeader(object), object.body]), { level: LEVEL }));
  } catch (error) {
    closeSync(file);
    rmSync(temp, { force: true });
    throw error;
  }
  return { temp, path: pathOf(objectsDir, oid), file };
}

function openIn(dir: string, temp: string): number {
  try {
    return openSync(temp, 'wx', 0o444);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    makeFolder(dir);
    return openSync(temp, 'wx', 0o444);
  }
}

function writeWhole(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.byteLength; ) written += writeSync(file, bytes, written);
}
