/** Applies edits to a commit's tree by walking the touched directories only. */
import { type GitObject, objectIdOf } from './object-id.ts';
import { GitError, objectId } from './run.ts';
import {
  DIRECTORY,
  formatTree,
  isDirectoryRow,
  parseTree,
  treeName,
  type TreeRow,
  type TreeRows,
} from './tree-objects.ts';

export interface TreeEdit {
  readonly path: string;
  /** Null removes the path. */
  readonly entry: { readonly mode: string; readonly oid: string } | null;
}

/** Reads a tree object's bytes. */
type ReadObject = (oid: string) => Promise<Buffer | null>;

interface EditedTree {
  readonly tree: string;
  /** Trees that may not be in the repository yet. */
  readonly objects: readonly GitObject[];
  /** Edits that were not made: something that no edit names is in their way, or git refuses the name. */
  readonly left: readonly string[];
}

/** What is to become of one name of a directory. */
interface Step {
  /** Undefined = no edit names it. */
  edit?: TreeEdit;
  readonly below: Map<string, Step>;
}

/**
 * The tree `root` (null = the empty one) with the edits applied. An edit never removes what no edit names: a file does
 * not take the place of a directory in which something stays, nor a directory that of a file. Throws GitError.
 */
export async function editTree(read: ReadObject, root: string | null, edits: readonly TreeEdit[]): Promise<EditedTree> {
  const objects: GitObject[] = [];
  const left: string[] = [];
  const steps = plan(edits, left);
  const rows = await applySteps({ read, objects, left }, root, steps);
  const tree = keep(objects, rows);
  return { tree, objects, left };
}

function plan(edits: readonly TreeEdit[], left: string[]): Map<string, Step> {
  const root = new Map<string, Step>();
  for (const edit of edits) {
    const segments = edit.path.split('/');
    if (edit.entry !== null && !isAcceptable(segments, edit.entry.mode)) {
      left.push(edit.path);
      continue;
    }
    let place = root;
    for (const [index, segment] of segments.entries()) {
      const name = treeName(segment);
      const step = place.get(name) ?? { below: new Map<string, Step>() };
      place.set(name, step);
      if (index === segments.length - 1) step.edit = edit;
      place = step.below;
    }
  }
  return root;
}

const STEERING = /^\.git(?:modules|attributes|ignore)$/i;

/** Whether git takes an entry of a tree into an index, and so into a working tree. */
export function isIndexable(path: string, mode: string): boolean {
  const segments = path.split('/');
  return segments.every(isNameOfGit) && !(mode === '120000' && /^\.gitmodules$/i.test(segments.at(-1) ?? ''));
}

/** What `git fsck --strict` would call an error. The names of files are judged before; this is the last look. */
function isAcceptable(segments: readonly string[], mode: string): boolean {
  return segments.every(isNameOfGit) && !(mode === '120000' && STEERING.test(segments.at(-1) ?? ''));
}

function isNameOfGit(segment: string): boolean {
  return !/^\.{0,2}$/.test(segment) && !isDotGit(segment);
}

/** `.git` to any file system: cases, code points that HFS+ ignores, short names, streams and trailing forms of NTFS. */
function isDotGit(segment: string): boolean {
  if (segment.includes('\0')) return true;
  const folded = segment.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '').toLowerCase();
  return folded.split('\\').some((part) => /^(?:\.git|git~1)(?:[ .]*$|[ .]*:)/.test(part));
}

interface Walk {
  readonly read: ReadObject;
  readonly objects: GitObject[];
  readonly left: string[];
}

async function applySteps(walk: Walk, oid: string | null, steps: ReadonlyMap<string, Step>): Promise<TreeRows> {
  const rows: TreeRows = oid === null ? new Map() : parseTree(await readTreeObject(walk.read, oid));
  for (const [name, step] of steps) await applyStep(walk, rows, name, step);
  return rows;
}

async function readTreeObject(read: ReadObject, oid: string): Promise<Buffer> {
  const body = await read(objectId(oid));
  if (body === null) throw new GitError('exit', `tree ${oid} is missing`);
  return body;
}

async function applyStep(walk: Walk, rows: TreeRows, name: string, { edit, below }: Step): Promise<void> {
  const before = rows.get(name);
  const removesFile = edit?.entry === null && before !== undefined && !isDirectoryRow(before);
  if (removesFile) rows.delete(name);
  if (below.size > 0) await applyBelow(walk, rows, name, below);
  if (edit === undefined || edit.entry === null) return;
  const now = rows.get(name);
  if (now !== undefined && isDirectoryRow(now)) walk.left.push(edit.path);
  else rows.set(name, { mode: edit.entry.mode, oid: objectId(edit.entry.oid) });
}

async function applyBelow(walk: Walk, rows: TreeRows, name: string, below: ReadonlyMap<string, Step>): Promise<void> {
  const before = rows.get(name);
  if (before !== undefined && !isDirectoryRow(before)) {
    walk.left.push(...additions(below)); // a file that stays is in the way
    return;
  }
  const after = await applySteps(walk, before?.oid ?? null, below);
  if (after.size === 0) rows.delete(name);
  else rows.set(name, directoryRow(walk.objects, after, before));
}

function directoryRow(objects: GitObject[], rows: TreeRows, before: TreeRow | undefined): TreeRow {
  const body = formatTree(rows);
  const oid = objectIdOf({ type: 'tree', body });
  if (oid === before?.oid) return before;
  objects.push({ type: 'tree', body });
  return { mode: DIRECTORY, oid };
}

function keep(objects: GitObject[], rows: TreeRows): string {
  const object: GitObject = { type: 'tree', body: formatTree(rows) };
  objects.push(object);
  return objectIdOf(object);
}

function additions(steps: ReadonlyMap<string, Step>): string[] {
  return Array.from(steps.values()).flatMap(({ edit, below }) => [
    ...(edit === undefined || edit.entry === null ? [] : [edit.path]),
    ...additions(below),
  ]);
}
