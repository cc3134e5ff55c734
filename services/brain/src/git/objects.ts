/** Writing and reading blobs and trees. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Slices } from '../thread/slices.ts';
import { writeLooseObjects } from './loose-objects.ts';
import { noteWritten, readCached, readTreeId } from './object-cache.ts';
import type { GitObject } from './object-id.ts';
import { writePack } from './pack-file.ts';
import { decodePath, encodePath, nulEnded } from './path-bytes.ts';
import { besideIndex, type Repository } from './repository.ts';
import { type GitCall, GitError, objectId } from './run.ts';
import { editTree, isIndexable, type TreeEdit } from './tree-edit.ts';

export type { TreeEdit } from './tree-edit.ts';

/** 100,000 entries of the longest paths, and the line around each. */
const MAX_TREE_BYTES = 96 * 1024 * 1024;

export type FileMode = '100644' | '100755' | '120000';

export interface TreeEntry {
  /** `100644`, `100755`, `120000` (symlink) or `160000` (submodule). */
  readonly mode: string;
  readonly oid: string;
  /** Null for a submodule. */
  readonly bytes: number | null;
}

/** Every entry below a commit's tree, whatever its kind, by path. Throws GitError, also when the repository lacks one of them. */
export function readTree(repository: Repository, commit: string): Promise<Map<string, TreeEntry>> {
  return listTree(repository, commit, ['-l'], (mode, oid, size) => {
    if (size === SIZE_OF_MISSING) throw missingObject(oid);
    return { mode, oid, bytes: size === '-' ? null : Number(size) };
  });
}

/** What git tells, and ends well. */
const SIZE_OF_MISSING = 'BAD';

function missingObject(oid: string): GitError {
  return new GitError('exit', `object ${oid} is missing`);
}

/** Every entry below a commit's tree by path, without the sizes, which cost a look at each object. */
export function readTreeEntries(
  repository: Repository,
  commit: string,
): Promise<Map<string, { mode: string; oid: string }>> {
  return listTree(repository, commit, [], (mode, oid) => ({ mode, oid }));
}

async function listTree<Entry>(
  repository: Repository,
  commit: string,
  options: readonly string[],
  entryOf: (mode: string, oid: string, size: string) => Entry,
): Promise<Map<string, Entry>> {
  const { stdout } = await repository.git.run({
    args: ['ls-tree', '-r', ...options, '-z', '--full-tree', objectId(commit)],
    gitDir: repository.gitDir,
    maxOutputBytes: MAX_TREE_BYTES,
  });
  const entries = new Map<string, Entry>();
  const slices = new Slices();
  for (const line of nulEnded(stdout)) {
    const tab = line.indexOf(TAB);
    const [mode = '', , oid = '', size = '-'] = line.toString('latin1', 0, tab).split(/ +/);
    entries.set(decodePath(line.subarray(tab + 1)), entryOf(mode, oid, size));
    if (slices.isOver) await slices.pause();
  }
  return entries;
}

const TAB = 9;

/** What differs between the trees of two commits, as it is in the second; null = not there. */
export async function readTreeChanges(repository: Repository, from: string, to: string): Promise<RawChanges> {
  const { stdout } = await repository.git.run({
    args: ['diff-tree', '-r', '-z', '--no-renames', '--raw', '--no-abbrev', objectId(from), objectId(to), '--'],
    ...besideIndex(repository),
    maxOutputBytes: MAX_TREE_BYTES,
  });
  return readRawChanges(stdout, ([, mode = '', , oid = '']) => ({ mode, oid }));
}

type RawChanges = Map<string, { mode: string; oid: string } | null>;

/** `:<mode> <mode> <id> <id> <status>` NUL `<path>` NUL; `sideOf` says which of the two states is wanted; null = not there. */
export async function readRawChanges(
  told: Buffer,
  sideOf: (fields: readonly string[]) => { mode: string; oid: string },
): Promise<RawChanges> {
  const changes: RawChanges = new Map();
  const slices = new Slices();
  let side: { mode: string; oid: string } | null = null;
  for (const field of nulEnded(told)) {
    if (side === null) {
      side = sideOf(field.toString('latin1', 1).split(' '));
      continue;
    }
    changes.set(decodePath(field), side.mode === '000000' ? null : side);
    side = null;
    if (slices.isOver) await slices.pause();
  }
  return changes;
}

/** A blob's bytes. Throws GitError when the repository does not have it. */
export async function readBlob(repository: Repository, oid: string): Promise<Buffer> {
  const blob = await repository.blobs.read(oid);
  if (blob === null) throw missingObject(oid);
  return blob;
}

/** Few objects are files of their own, many are one pack. */
const FEW_OBJECTS = 64;

/** Writes the objects and answers their ids in order; durable once a reference is moved after it. */
export async function writeObjects(repository: Repository, objects: readonly GitObject[]): Promise<string[]> {
  const objectsDir = join(repository.gitDir, 'objects');
  const write = objects.length <= FEW_OBJECTS ? writeLooseObjects : writePack;
  const oids = await write(objectsDir, objects);
  noteWritten(repository, objects);
  return oids;
}

/** Writes the blobs, byte for byte, and answers their ids in order. */
export function writeBlobs(repository: Repository, contents: readonly Uint8Array[]): Promise<string[]> {
  return writeObjects(
    repository,
    contents.map((body) => ({ type: 'blob', body })),
  );
}

/** `gitDir` is that of the working tree whose index it is or will be: what it narrows away, git leaves out of the file. */
export type IndexPlace = Required<Pick<GitCall, 'gitDir' | 'indexFile'>>;

/** Applies the edits to an index file. Removals come first, so that a directory can take a file's place. */
export async function editIndex({ git }: Repository, index: IndexPlace, edits: readonly TreeEdit[]): Promise<void> {
  if (edits.length === 0) return;
  const gone = edits.filter(({ entry }) => entry === null).map(({ path }) => `0 ${'0'.repeat(40)}\t${path}\0`);
  const set = edits.flatMap(({ path, entry }) =>
    entry === null ? [] : [`${entry.mode} ${objectId(entry.oid)}\t${path}\0`],
  );
  // NUL separates the entries git reads
  if (edits.some(({ path }) => path.includes('\0')))
    throw new GitError('unsafe-argument', 'a path with a NUL character');
  const { stderr } = await git.run({
    args: ['update-index', '-z', '--index-info'],
    ...index,
    stdin: encodePath([...gone, ...set].join('')),
  });
  // git skips a path it finds illegal and still ends well
  if (stderr !== '') throw new GitError('unsafe-argument', 'git refuses a path', 0, stderr);
}

/**
 * Makes an index file hold the tree of `commit`, but for entries that git takes into no index; stat data of entries that
 * stay equal is kept.
 */
export async function resetIndex(repository: Repository, index: IndexPlace, commit: string): Promise<void> {
  const args = ['read-tree', '--reset', objectId(commit)];
  try {
    await repository.git.run({ args, ...index });
  } catch {
    // the index it started from is damaged, or the tree has such an entry
    await rm(index.indexFile, { force: true });
    await gatherIndex(repository, index, commit);
  }
}

/** Into a new file. */
async function gatherIndex(repository: Repository, index: IndexPlace, commit: string): Promise<void> {
  const entries = [...(await readTreeEntries(repository, commit))].filter(([path, { mode }]) =>
    isIndexable(path, mode),
  );
  await repository.git.run({
    args: ['update-index', '-z', '--index-info'],
    ...index,
    stdin: encodePath(entries.map(([path, { mode, oid }]) => `${mode} ${oid}\t${path}\0`).join('')),
  });
}

/** The id of a commit's tree. */
export async function treeOf(repository: Repository, commit: string): Promise<string> {
  const tree = await readTreeId(repository, commit);
  if (tree === null) throw new GitError('exit', `${commit} is no commit`);
  return tree;
}

/** The tree of `commit` with the edits applied. Throws GitError when one of them cannot be made. */
export async function writeEditedTree(
  repository: Repository,
  commit: string,
  edits: readonly TreeEdit[],
): Promise<string> {
  const edited = await editTree((oid) => readCached(repository, oid), await treeOf(repository, commit), edits);
  if (edited.left.length > 0) throw new GitError('unsafe-argument', 'something is in the way of a path');
  await writeObjects(repository, edited.objects);
  return edited.tree;
}
