/** Three-way merge of whole trees: which side each path takes, and which files need a merge of their text. */

export interface Entry {
  readonly mode: string;
  readonly oid: string;
  readonly bytes: number | null;
}

export type Tree<E extends Entry = Entry> = ReadonlyMap<string, E>;

/** `in-the-way`: the merge is clean, but something that no commit holds lies where it would put a file. */
type ConflictKind = 'content' | 'delete-modify' | 'directory-file' | 'foreign' | 'in-the-way';

export interface Conflict {
  readonly file: string;
  readonly kind: ConflictKind;
  /** Blob ids; null where the side does not have the file. */
  readonly base: string | null;
  readonly ours: string | null;
  readonly theirs: string | null;
}

export interface ContentMerge {
  readonly path: string;
  readonly mode: string;
  readonly base: string | null;
  readonly ours: string;
  readonly theirs: string;
}

interface TreeMerge {
  /** What changes against ours by taking theirs; null removes the path. */
  readonly taken: ReadonlyMap<string, Entry | null>;
  /** Files changed on both sides, whose text is to be merged. */
  readonly contents: readonly ContentMerge[];
  readonly conflicts: readonly Conflict[];
}

interface Versions {
  readonly base: Entry | undefined;
  readonly ours: Entry | undefined;
  readonly theirs: Entry | undefined;
}

type Verdict =
  | { readonly take: 'ours' | 'theirs'; readonly kind?: ConflictKind }
  | { readonly take: 'merge'; readonly mode: string };

/**
 * In steps, a path each. `isPlain` tells ordinary files from foreign entries, which are never merged, only taken from one
 * side.
 */
export function* mergeTrees(
  base: Tree,
  ours: Tree,
  theirs: Tree,
  isPlain: (path: string, entry: Entry) => boolean,
): Generator<void, TreeMerge> {
  const taken = new Map<string, Entry | null>();
  const contents: ContentMerge[] = [];
  const conflicts = new Map<string, Conflict>();
  for (const path of pathsOfBoth(ours, theirs)) {
    yield;
    const versions = { base: base.get(path), ours: ours.get(path), theirs: theirs.get(path) };
    const verdict = judge(versions, (entry) => isPlain(path, entry));
    if (verdict.take === 'merge') contents.push(contentMerge(path, versions, verdict.mode));
    else {
      if (verdict.take === 'theirs') taken.set(path, versions.theirs ?? null);
      if (verdict.kind !== undefined) conflicts.set(path, conflictOf(path, verdict.kind, versions));
    }
  }
  for (const path of yield* collisions(ours, taken)) {
    taken.delete(path);
    const versions = { base: base.get(path), ours: ours.get(path), theirs: theirs.get(path) };
    conflicts.set(path, conflictOf(path, 'directory-file', versions));
  }
  return { taken, contents, conflicts: [...conflicts.values()] };
}

function same(left: Entry | undefined, right: Entry | undefined): boolean {
  return left?.oid === right?.oid && left?.mode === right?.mode;
}

function judge({ base, ours, theirs }: Versions, isPlain: (entry: Entry) => boolean): Verdict {
  if (same(ours, theirs) || same(base, theirs)) return { take: 'ours' };
  if (same(base, ours)) return { take: 'theirs' };
  const foreign = [base, ours, theirs].some((entry) => entry !== undefined && !isPlain(entry));
  if (foreign) return { take: 'ours', kind: 'foreign' };
  if (ours === undefined) return { take: 'theirs', kind: 'delete-modify' };
  if (theirs === undefined) return { take: 'ours', kind: 'delete-modify' };
  return { take: 'merge', mode: ours.mode === base?.mode ? theirs.mode : ours.mode };
}

function contentMerge(path: string, { base, ours, theirs }: Versions, mode: string): ContentMerge {
  return { path, mode, base: base?.oid ?? null, ours: ours?.oid ?? '', theirs: theirs?.oid ?? '' };
}

function conflictOf(file: string, kind: ConflictKind, { base, ours, theirs }: Versions): Conflict {
  return { file, kind, base: base?.oid ?? null, ours: ours?.oid ?? null, theirs: theirs?.oid ?? null };
}

/** Paths taken from theirs that would be a file where a path we keep needs a directory, or the reverse. */
function* collisions(ours: Tree, taken: ReadonlyMap<string, Entry | null>): Generator<void, string[]> {
  const isKept = (path: string): boolean => ours.has(path) && !taken.has(path);
  const placed = new Set<string>();
  for (const [path, entry] of taken) if (entry !== null) placed.add(path);
  if (placed.size === 0) return [];
  const directories = new Set<string>();
  for (const path of ours.keys()) {
    yield;
    if (!taken.has(path)) for (const above of ancestors(path)) if (placed.has(above)) directories.add(above);
  }
  const found: string[] = [];
  for (const path of placed) {
    yield;
    if (directories.has(path) || ancestors(path).some(isKept)) found.push(path);
  }
  return found;
}

function ancestors(path: string): string[] {
  const segments = path.split('/');
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'));
}

/** Those of the first in its order, then those of the second alone. */
export function* pathsOfBoth(first: Tree, second: Tree): Generator<string, void> {
  yield* first.keys();
  for (const path of second.keys()) if (!first.has(path)) yield path;
}
