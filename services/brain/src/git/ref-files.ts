/** References read from git's own files, which costs no process: loose ones win over packed ones. */
import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileStamp } from '../files/file-stamp.ts';
import { isAbsent, readTextIfPresent } from '../files/fsync.ts';
import { Slices } from '../thread/slices.ts';
import { RepositoryProblem } from './repository.ts';
import { isObjectId } from './run.ts';

interface PackedRefs {
  readonly stamp: string;
  readonly refs: ReadonlyMap<string, string>;
}

const packed = new Map<string, PackedRefs>();
const KEPT_FILES = 512;

/**
 * Full names below `prefix` (which ends in a slash) -> object id; null when a reference needs git to be understood. Throws
 * RepositoryProblem.
 */
export async function readRefFiles(gitDir: string, prefix: string): Promise<Map<string, string> | null> {
  const refs = new Map<string, string>();
  // In this order: a reference that is packed meanwhile is found in one of the two.
  if (!(await new Slices().run(readLoose(gitDir, prefix.slice(0, -1), refs)))) return null;
  for (const [name, oid] of readPacked(gitDir)) if (name.startsWith(prefix) && !refs.has(name)) refs.set(name, oid);
  return refs;
}

/** Of one that has no file of its own, which was looked at before. Throws RepositoryProblem. */
export function readPackedRef(gitDir: string, ref: string): string | null {
  return readPacked(gitDir).get(ref) ?? null;
}

function* readLoose(gitDir: string, directory: string, refs: Map<string, string>): Generator<void, boolean> {
  for (const child of childrenOf(join(gitDir, directory))) {
    const name = `${directory}/${child.name}`;
    if (child.isDirectory()) {
      if (!(yield* readLoose(gitDir, name, refs))) return false;
    } else if (!child.name.endsWith('.lock') && isFile(child, join(gitDir, name))) {
      const oid = readTextIfPresent(join(gitDir, name))?.trim();
      if (oid === undefined) continue;
      if (!isObjectId(oid)) return false;
      refs.set(name, oid);
      yield;
    }
  }
  return true;
}

/** Links are followed to files alone: directories that are linked in may have no end. Reading what is neither may never return. */
function isFile(child: Dirent, path: string): boolean {
  if (!child.isSymbolicLink()) return child.isFile();
  try {
    return statSync(path).isFile();
  } catch {
    return false; // it leads nowhere
  }
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
    if (line.endsWith('\r')) throw damaged('has line ends (CRLF) that git does not read');
    const oid = line.slice(0, 40);
    if (isObjectId(oid) && line[40] === ' ') refs.set(line.slice(41), oid);
    else if (!isBesideReferences(line)) throw damaged('has a line that is no reference');
  }
  return refs;
}

/** The heading, what the tag above points to, and what follows the last line. */
function isBesideReferences(line: string): boolean {
  return line === '' || line.startsWith('#') || (line.startsWith('^') && isObjectId(line.slice(1)));
}

/** Git reads none of the references then, nor does it move one. */
function damaged(problem: string): RepositoryProblem {
  return new RepositoryProblem('damaged', `.git/packed-refs ${problem}`);
}
