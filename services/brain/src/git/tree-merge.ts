/** Merges the trees of commits and tells what a working tree has to change. Writes objects only. */
import { type Conflict, type ContentMerge, mergeTrees, pathsOfBoth } from '../domain/merge/tree.ts';
import { Slices } from '../thread/slices.ts';
import { type MergeLimits, MergeThread } from './merge-thread.ts';
import { readBlob, readTree, type TreeEntry, writeBlobs, writeEditedTree } from './objects.ts';
import { shownPath } from './path-bytes.ts';
import type { Repository } from './repository.ts';
import { isCheckedOut, isKeptWhereItIs, MAX_FILE_BYTES } from './worktrees.ts';

export type CommitTree = ReadonlyMap<string, TreeEntry>;

const NOTHING: CommitTree = new Map();

interface MergedTree {
  readonly tree: string;
  readonly conflicts: readonly Conflict[];
}

/** The tree of `ours` with the changes from `base` to `theirs` merged in. Null base: nothing in common. */
export async function mergeCommitTrees(
  repository: Repository,
  { base, ours, theirs }: { base: string | null; ours: string; theirs: string },
  limits: MergeLimits,
): Promise<MergedTree> {
  const [baseTree, ourTree, theirTree] = await Promise.all([
    base === null ? NOTHING : readTree(repository, base),
    readTree(repository, ours),
    readTree(repository, theirs),
  ]);
  await using thread = new MergeThread(limits);
  const sides = { base: baseTree, ours: ourTree, theirs: theirTree };
  const { edits, conflicts } = await mergeSides(repository, thread, sides);
  return { tree: await writeEditedTree(repository, ours, edits), conflicts };
}

/** Three trees that are known already. */
export interface Sides {
  readonly base: CommitTree;
  readonly ours: CommitTree;
  readonly theirs: CommitTree;
}

/** A change of the tree that is merged into; null removes the path. */
export interface MergeEdit {
  readonly path: string;
  readonly entry: TreeEntry | null;
}

interface MergedSides {
  /** What to change in the tree of ours; the blobs are written. */
  readonly edits: readonly MergeEdit[];
  readonly conflicts: readonly Conflict[];
}

export async function mergeSides(
  repository: Repository,
  thread: MergeThread,
  { base, ours, theirs }: Sides,
): Promise<MergedSides> {
  const merge = await new Slices().run(mergeTrees(base, ours, theirs, isCheckedOut));
  const contents: MergedContent[] = [];
  const sizeOf = (path: string): number => Math.max(...[base, ours, theirs].map((tree) => tree.get(path)?.bytes ?? 0));
  for (const content of merge.contents) {
    contents.push(await mergeContent(repository, thread, { content, size: sizeOf(content.path) }));
  }
  const merged = contents.flatMap(({ path, mode, bytes }) => (bytes === null ? [] : [{ path, mode, bytes }]));
  const written = await writeBlobs(
    repository,
    merged.map(({ bytes }) => bytes),
  );
  const bytesOf = (path: string, oid: string): number | null =>
    [ours, theirs].map((tree) => tree.get(path)).find((entry) => entry?.oid === oid)?.bytes ?? null;
  const clashing = contents.filter(({ clashes }) => clashes);
  return {
    edits: [
      ...[...merge.taken].map(([path, entry]) => ({ path, entry })),
      ...merged.map(({ path, mode, bytes }, index) => ({
        path,
        entry: { mode, oid: written[index] ?? '', bytes: bytes.length },
      })),
      ...contents.flatMap(({ path, mode, oid, bytes }) =>
        bytes === null ? [{ path, entry: { mode, oid, bytes: bytesOf(path, oid) } }] : [],
      ),
    ],
    conflicts: [
      ...merge.conflicts.map((conflict) => ({ ...conflict, file: shownPath(conflict.file) })),
      ...clashing.map(({ path, base: baseId, ours: ourId, theirs: theirId }) => ({
        file: path,
        kind: 'content' as const,
        base: baseId,
        ours: ourId,
        theirs: theirId,
      })),
    ],
  };
}

interface MergedContent extends ContentMerge {
  /** Null = one side as it is, which `oid` names. */
  readonly bytes: Uint8Array | null;
  readonly oid: string;
  readonly clashes: boolean;
}

interface WantedMerge {
  readonly content: ContentMerge;
  /** Of the largest version, in bytes. */
  readonly size: number;
}

/** What is not text, is or would grow too large, or cannot be merged stays ours as a whole. */
async function mergeContent(
  repository: Repository,
  thread: MergeThread,
  { content, size }: WantedMerge,
): Promise<MergedContent> {
  const isOurs = content.base === content.theirs || content.ours === content.theirs;
  if (isOurs || content.base === content.ours) {
    return { ...content, bytes: null, oid: isOurs ? content.ours : content.theirs, clashes: false };
  }
  const asOurs = { ...content, bytes: null, oid: content.ours, clashes: true };
  if (size > MAX_FILE_BYTES) return asOurs;
  const base = content.base === null ? '' : decodeText(await readBlob(repository, content.base));
  const ours = decodeText(await readBlob(repository, content.ours));
  const theirs = decodeText(await readBlob(repository, content.theirs));
  if (base === null || ours === null || theirs === null) return asOurs;
  const merged = await thread.merge({ path: content.path, base, ours, theirs });
  if (merged === null) return asOurs;
  const bytes = new TextEncoder().encode(merged.text);
  if (bytes.length > MAX_FILE_BYTES) return asOurs;
  return { ...content, bytes, oid: '', clashes: merged.clashes };
}

/** Null when the bytes are not UTF-8 text; a byte order mark is kept as a character. */
function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** A change of one path. Nothing is moved where a working tree holds neither what `from` nor what `to` says. */
export interface FileMove {
  readonly path: string;
  /** Null when the file is new. */
  readonly from: TreeEntry | null;
  /** Null removes the file. */
  readonly to: TreeEntry | null;
  /** Neither side is put into working trees: it is moved only where a person has put `from` there. */
  readonly isForeign: boolean;
}

export interface TreeDifference {
  readonly moves: readonly FileMove[];
  /** Every foreign entry of the later tree: it stays out of the working tree. */
  readonly foreign: readonly string[];
}

/** What a working tree of `before` has to change to hold the files of `after`. */
export async function compareTrees(repository: Repository, before: string, after: string): Promise<TreeDifference> {
  const [old, next] = await Promise.all([readTree(repository, before), readTree(repository, after)]);
  const moves: FileMove[] = [];
  const foreign: string[] = [];
  const slices = new Slices();
  for (const path of pathsOfBoth(old, next)) {
    const entry = next.get(path) ?? null;
    const move = moveOf(path, old.get(path) ?? null, entry);
    if (move !== null) moves.push(move);
    if (entry !== null && !isCheckedOut(path, entry)) foreign.push(path);
    if (slices.isOver) await slices.pause();
  }
  return { moves, foreign };
}

/** Null where nothing changes in any working tree. */
function moveOf(path: string, from: TreeEntry | null, to: TreeEntry | null): FileMove | null {
  if (from?.oid === to?.oid && from?.mode === to?.mode) return null;
  const isForeign = [from, to].every((entry) => entry === null || !isCheckedOut(path, entry));
  const isPlaceable = (entry: TreeEntry | null): entry is TreeEntry =>
    entry !== null && (isCheckedOut(path, entry) || isKeptWhereItIs(path, entry));
  if (!isPlaceable(from) && !isPlaceable(to)) return null;
  return { path, from: isPlaceable(from) ? from : null, to: isPlaceable(to) ? to : null, isForeign };
}
