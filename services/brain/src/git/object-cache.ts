/** Trees and commits as last read or written: the next commit starts from those that the one before made. */
import { LRUCache } from 'lru-cache';
import { noteCommit } from './broken-branch.ts';
import { type GitObject, objectIdOf } from './object-id.ts';
import type { Repository } from './repository.ts';
import { objectId } from './run.ts';

const MAX_BYTES = 16 * 1024 * 1024;
/** Of one object: a folder of some 25,000 files. */
const MAX_OBJECT_BYTES = 1024 * 1024;

/** For all repositories: an id names the same bytes in each, but only what a repository has may be found there. */
const bodies = new LRUCache<string, Buffer>({ maxSize: MAX_BYTES, sizeCalculation: (body) => body.length + 100 });

/** A tree's or commit's bytes; null when the repository does not have it. Throws GitError. */
export async function readCached(repository: Repository, oid: string): Promise<Buffer | null> {
  const key = keyOf(repository, oid);
  const known = bodies.get(key);
  if (known !== undefined) return known;
  const body = await repository.blobs.read(objectId(oid));
  if (body !== null && body.length <= MAX_OBJECT_BYTES) bodies.set(key, body);
  return body;
}

/** The id of a commit's tree; null when the repository does not have it. A commit may hold a text of any length, which is not read. */
export async function readTreeId(repository: Repository, commit: string): Promise<string | null> {
  const known = bodies.get(keyOf(repository, commit));
  if (known !== undefined) return TREE_LINE.exec(known.toString('latin1', 0, 46))?.[1] ?? null;
  const body = await repository.blobs.readTreeOf(commit);
  if (body === null) return null;
  const tree = objectIdOf({ type: 'tree', body });
  if (body.length <= MAX_OBJECT_BYTES) bodies.set(keyOf(repository, tree), body);
  return tree;
}

const TREE_LINE = /^tree ([0-9a-f]{40})\n/;

/** They are in the repository now. */
export function noteWritten(repository: Repository, objects: readonly GitObject[]): void {
  for (const object of objects) {
    if (object.type === 'commit') noteCommit(repository, objectIdOf(object));
    if (object.type === 'blob' || object.body.byteLength > MAX_OBJECT_BYTES) continue;
    bodies.set(keyOf(repository, objectIdOf(object)), Buffer.from(object.body));
  }
}

function keyOf({ gitDir }: Repository, oid: string): string {
  return `${oid} ${gitDir}`;
}
