/** References read from git's own files, which costs no process: loose ones win over packed ones. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileStamp } from '../files/file-stamp.ts';
import { isAbsent, readTextIfPresent } from '../files/fsync.ts';
import { isObjectId } from './run.ts';

interface PackedRefs {
  readonly stamp: string;
  readonly refs: ReadonlyMap<string, string>;
}

const packed = new Map<string, PackedRefs>();
const KEPT_FILES = 512;

/** Full names below `prefix` (which ends in a slash) -> object id; null when a reference needs git to be understood. */
export function readRefFiles(gitDir: string, prefix: string): Map<string, string> | null {
  const refs = new Map<string, string>();
  // In this order: a reference that is packed meanwhile is found in one of the two.
  if (!readLoose(gitDir, prefix.slice(0, -1), refs)) return null;
  for (const [name, oid] of readPacked(gitDir)) if (name.startsWith(prefix) && !refs.has(name)) refs.set(name, oid);
  return refs;
}

/** Of one that has no file of its own, which was looked at before. */
export function readPackedRef(gitDir: string, ref: string): string | null {
  return readPacked(gitDir).get(ref) ?? null;
}

function readLoose(gitDir: string, directory: string, refs: Map<string, string>): boolean {
  for (const child of childrenOf(join(gitDir, directory))) {
    const name = `${directory}/${child.name}`;
    if (child.isDirectory()) {
      if (!readLoose(gitDir, name, refs)) return false;
    } else if (!child.name.endsWith('.lock')) {
      const oid = readTextIfPresent(join(gitDir, name))?.trim();
      if (oid === undefined) continue;
      if (!isObjectId(oid)) return false;
      refs.set(name, oid);
    }
  }
  return true;
}

function childrenOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function readPacked(gitDir: string): ReadonlyMap<string, string> {
  const file = join(gitDir, 'packed-refs');
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) return new Map();
  const stamp = fileStamp(stat);
  const known = packed.get(file);
  if (known?.stamp === stamp) return known.refs;
  const refs = parsePacked(readTextIfPresent(file) ?? '');
  if (packed.size >= KEPT_FILES) packed.clear();
  packed.set(file, { stamp, refs });
  return refs;
}

function parsePacked(text: string): Map<string, string> {
  const refs = new Map<string, string>();
  for (const line of text.split('\n')) {
    const oid = line.slice(0, 40);
    if (isObjectId(oid) && line[40] === ' ') refs.set(line.slice(41), oid);
  }
  return refs;
}
