/** Merges the trees of commits and tells what a working tree has to change. Writes objects only. */
import { mergeFile } from '../domain/merge/file.ts';
import { type Conflict, type ContentMerge, mergeTrees } from '../domain/merge/tree.ts';
import { readBlob, readTree, type TreeEdit, type TreeEntry, writeBlobs, writeEditedTree } from './objects.ts';
import type { Repository } from './repository.ts';
import { isPlain, MAX_FILE_BYTES } from './worktrees.ts';

type Tree = ReadonlyMap<string, TreeEntry>;

const NOTHING: Tree = new Map();

export interface MergedTree {
  readonly tree: string;
  readonly conflicts: readonly Conflict[];
}

/** The tree of `ours` with the changes from `base` to `theirs` merged in. Null base: nothing in common. */
export async function mergeCommitTrees(
  repository: Repository,
  { base, ours, theirs }: { base: string | null; ours: string; theirs: string },
): Promise<MergedTree> {
  const [baseTree, ourTree, theirTree] = await Promise.all([
    base === null ? NOTHING : readTree(repository, base),
    readTree(repository, ours),
    readTree(repository, theirs),
  ]);
  const merge = mergeTrees(baseTree, ourTree, theirTree, isPlain);
  const contents: MergedContent[] = [];
  for (const content of merge.contents) contents.push(await mergeContent(repository, content));
  const written = await writeBlobs(
    repository,
    contents.map(({ bytes }) => bytes),
  );
  const edits: TreeEdit[] = [
    ...[...merge.taken].map(([path, entry]) => ({ path, entry })),
    ...contents.map(({ path, mode }, index) => ({ path, entry: { mode, oid: written[index] ?? '' } })),
  ];
  const clashing = contents.filter(({ clashes }) => clashes);
  return {
    tree: await writeEditedTree(repository, ours, edits),
    conflicts: [
      ...merge.conflicts,
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
  readonly bytes: Uint8Array;
  readonly clashes: boolean;
}

/** What is not text, or would grow too large, stays ours as a whole. */
async function mergeContent(repository: Repository, content: ContentMerge): Promise<MergedContent> {
  const ourBytes = await readBlob(repository, content.ours);
  const base = content.base === null ? '' : decodeText(await readBlob(repository, content.base));
  const ours = decodeText(ourBytes);
  const theirs = decodeText(await readBlob(repository, content.theirs));
  if (base === null || ours === null || theirs === null) return { ...content, bytes: ourBytes, clashes: true };
  const merged = mergeFile({ path: content.path, base, ours, theirs });
  const bytes = new TextEncoder().encode(merged.text);
  if (bytes.length > MAX_FILE_BYTES) return { ...content, bytes: ourBytes, clashes: true };
  return { ...content, bytes, clashes: merged.clashes };
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

/** A change of a plain file. */
export interface FileMove {
  readonly path: string;
  /** Null when the file is new. */
  readonly from: TreeEntry | null;
  /** Null removes the file. */
  readonly to: TreeEntry | null;
}

export interface TreeDifference {
  readonly moves: readonly FileMove[];
  /** Every foreign entry of the later tree: it stays out of the working tree. */
  readonly foreign: readonly string[];
}

/** What a working tree of `before` has to change to hold the plain files of `after`. */
export async function compareTrees(repository: Repository, before: string, after: string): Promise<TreeDifference> {
  const [old, next] = await Promise.all([readTree(repository, before), readTree(repository, after)]);
  const moves: FileMove[] = [];
  for (const path of new Set([...old.keys(), ...next.keys()])) {
    const from = plainEntry(path, old);
    const to = plainEntry(path, next);
    if (from?.oid !== to?.oid || from?.mode !== to?.mode) moves.push({ path, from, to });
  }
  return { moves, foreign: [...next].flatMap(([path, entry]) => (isPlain(path, entry) ? [] : [path])) };
}

function plainEntry(path: string, tree: Tree): TreeEntry | null {
  const entry = tree.get(path);
  return entry !== undefined && isPlain(path, entry) ? entry : null;
}
