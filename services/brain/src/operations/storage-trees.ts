/** Copying and removing in a branch as an area of files: all that is meant, in one step of the writer, or nothing. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { blockedPath } from '../blocked-path.ts';
import { removeEmptyFolder } from '../files/empty-folders.ts';
import type { FileEntry } from '../files/file-entry.ts';
import { isBelow, nameOfCopy, prefixOf } from '../storage/domain/tree-names.ts';
import type { BranchWriter, Step } from '../writer/branch-writer.ts';
import type { FileOutcome, Staging } from '../writer/staging.ts';
import { defineOperation, onBranch, once } from './operation.ts';
import { isRegular } from './storage.ts';
import type { Write } from './step.ts';
import { exceeds, exceedsCopy, GUARDED, inTreeStep, type Meant, meantBy } from './storage-step.ts';

type StagedRefusal = 'E_CONFLICT' | 'E_QUOTA' | 'E_FILE_ABSENT';

const Copied = z.strictObject({ dest: z.string(), files: z.number(), bytes: z.number() });
type Copied = z.output<typeof Copied>;

/** A file, or a directory with what the caller may read of it. */
export const copyStored = defineOperation({
  name: 'copyStored',
  effect: 'write',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, from: z.string(), to: z.string(), overwrite: z.boolean() }),
  answer: once(Copied, [...GUARDED, 'E_CONFLICT', 'E_QUOTA', 'E_FILE_ABSENT', 'E_FILE_EXISTS']),
  run: (served, { branch, ...wish }) => {
    const write = { ...served, branch };
    return inTreeStep(write, wish.to, (staging, writer) => copyStaged(write, writer, staging, wish));
  },
});

interface Copying {
  readonly from: string;
  readonly to: string;
  readonly overwrite: boolean;
}

function copyStaged(
  write: Write,
  writer: BranchWriter,
  staging: Staging,
  wish: Copying,
): Decision<Step<Copied>, StagedRefusal | 'E_FILE_EXISTS' | 'E_LIMIT'> {
  const planned = planCopy(write, writer, wish);
  if (!planned.ok) return planned;
  const { dest, sources } = planned.value;
  let bytes = 0;
  let files = 0;
  for (const { from, to } of sources) {
    const content = shownBytes(write, writer, from);
    if (content === null) continue;
    const outcome = stageCopy(write, staging, to, { content, overwrite: wish.overwrite });
    if (!outcome.ok) return outcome;
    bytes += content.byteLength;
    files += 1;
  }
  return allow({ value: { dest, files, bytes }, events: [] });
}

interface Plan {
  readonly dest: string;
  readonly sources: readonly { readonly from: string; readonly to: string }[];
}

function planCopy(
  write: Write,
  writer: BranchWriter,
  { from, to, overwrite }: Copying,
): Decision<Plan, 'E_FILE_ABSENT' | 'E_FILE_EXISTS' | 'E_LIMIT'> {
  const meant = meantBy(write, writer, from);
  if (meant === null) return deny('E_FILE_ABSENT', { path: from });
  if (isBelow(to, from)) throw blockedPath('lies inside of what is to be copied');
  const dest = meant.kind === 'file' ? nameOfCopy(meant.entry.path, to) : to;
  const inTheWay = [to, dest].flatMap((path) => meantBy(write, writer, path) ?? []);
  if (inTheWay.some(({ kind }) => !overwrite || kind !== meant.kind)) return deny('E_FILE_EXISTS', { path: dest });
  const entries = copied(write, meant);
  const excess = exceedsCopy(entries);
  if (excess !== null) return excess;
  const nameOf = (path: string): string =>
    meant.kind === 'file' ? dest : prefixOf(dest) + path.slice(prefixOf(from).length);
  return allow({ dest, sources: entries.map(({ path }) => ({ from: path, to: nameOf(path) })) });
}

function copied({ rows }: Write, meant: Meant): readonly FileEntry[] {
  if (meant.kind === 'file') return [meant.entry];
  return meant.below.filter(({ path, kind }) => rows.mayRead(path) && isRegular(kind));
}

function stageCopy(
  { rows, context }: Write,
  staging: Staging,
  path: string,
  { content, overwrite }: { readonly content: Uint8Array; readonly overwrite: boolean },
): Decision<FileOutcome, StagedRefusal> {
  const request = { path, content, ifMatch: overwrite ? null : 'none', rows, isOfBytes: true, isExact: true };
  return staging.judge(request, context);
}

/** As the caller reads it, so that a copy shows nobody more than its maker saw; null when nothing of it is shown. */
function shownBytes({ rows }: Write, { tree }: BranchWriter, path: string): Uint8Array | null {
  const found = tree.read(path);
  if (found === null) return null;
  if (rows.hides(path)) {
    const shown = found.text === null ? null : rows.shown(path, found.text);
    return shown === null ? null : Buffer.from(shown, 'utf8');
  }
  if (found.text !== null) return Buffer.from(found.text, 'utf8');
  return tree.readPiece(found.entry, { offset: 0, length: found.entry.bytes });
}

type RemovalRefusal = 'E_CONFLICT' | 'E_FILE_ABSENT';

const Removed = z.strictObject({ path: z.string(), files: z.number() });
type Removed = z.output<typeof Removed>;

interface Removing {
  readonly path: string;
  readonly recursive: boolean;
  readonly ifMatch: string | null;
}

/** A file, an empty directory, or with `recursive` a directory and everything in it. */
export const removeStored = defineOperation({
  name: 'removeStored',
  effect: 'write',
  namesCommits: false,
  question: z.strictObject({ ...onBranch, path: z.string(), recursive: z.boolean(), ifMatch: z.string().nullable() }),
  answer: once(Removed, [...GUARDED, 'E_CONFLICT', 'E_FILE_ABSENT', 'E_DIR_NOT_EMPTY']),
  async run(served, { branch, ...wish }) {
    const write = { ...served, branch };
    const folders: { readonly root: string; readonly directory: string }[] = [];
    const removed = await inTreeStep(write, wish.path, (staging, writer) => {
      const { root } = writer.tree;
      const judged = removeStaged(write, writer, staging, wish);
      if (judged.ok && judged.value.value.path === wish.path)
        folders.push({ root, directory: writer.tree.folderOnDisk(wish.path) });
      return judged;
    });
    // Directories that were empty before have no record; what has come into them meanwhile stays.
    if (removed.decision.ok) for (const { root, directory } of folders) removeEmptyFolder(root, directory);
    return removed;
  },
});

function removeStaged(
  write: Write,
  writer: BranchWriter,
  staging: Staging,
  { path, recursive, ifMatch }: Removing,
): Decision<Step<Removed>, RemovalRefusal | 'E_DIR_NOT_EMPTY' | 'E_LIMIT'> {
  const meant = meantBy(write, writer, path);
  if (meant === null) return unremovable(write, staging, path);
  if (meant.kind === 'file') {
    const removal = stageRemoval(write, staging, meant.entry.path, ifMatch);
    return removal.ok ? allow({ value: { path: meant.entry.path, files: 1 }, events: [] }) : removal;
  }
  if (ifMatch !== null) throw invalidArguments([{ path: 'ifMatch', message: 'goes with a file' }]);
  if (meant.below.length > 0 && !recursive) return deny('E_DIR_NOT_EMPTY', { path });
  return removeFolder(write, staging, path, meant.below);
}

/** As a whole, so by nobody to whom anything in it is hidden. */
function removeFolder(
  write: Write,
  staging: Staging,
  path: string,
  below: readonly FileEntry[],
): Decision<Step<Removed>, RemovalRefusal | 'E_LIMIT'> {
  const { rows } = write;
  if (below.some((entry) => !rows.mayRead(entry.path))) throw new CallError('RLS_DENIED');
  const denial = below.length === 0 ? rows.writeDenial(path) : null;
  if (denial !== null) throw new CallError(denial);
  const excess = exceeds(below);
  if (excess !== null) return excess;
  for (const entry of below) {
    const removal = stageRemoval(write, staging, entry.path, null);
    if (!removal.ok) return removal;
  }
  return allow({ value: { path, files: below.length }, events: [] });
}

/**
 * Of what is no regular file, or was not put into the working tree, the reason is told; who may not write there is told that,
 * whatever is there.
 */
function unremovable(write: Write, staging: Staging, path: string): Decision<never, RemovalRefusal> {
  const { rows } = write;
  const denial = rows.writeDenial(path);
  if (denial !== null) throw new CallError(denial);
  const removal = rows.mayRead(path) ? stageRemoval(write, staging, path, null) : null;
  return removal === null || removal.ok ? deny('E_FILE_ABSENT', { path }) : removal;
}

function stageRemoval(
  { rows, context }: Write,
  staging: Staging,
  path: string,
  ifMatch: string | null,
): Decision<FileOutcome, RemovalRefusal> {
  return staging.judge({ path, content: null, ifMatch, rows, isOfBytes: true, isExact: true }, context);
}
