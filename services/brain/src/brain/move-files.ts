/** Brings a working tree from one commit to another, and touches nothing that is not as the first one says. */
import { createHash } from 'node:crypto';
import { type BigIntStats, createReadStream, lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { leadsAstray } from '../files/obstacle.ts';
import { CLOCK_STEP_MS, fileStamp } from '../files/file-stamp.ts';
import type { FileTable } from '../files/file-table.ts';
import { isAbsent, isForbidden } from '../files/fsync.ts';
import { type FileReplacement, type ReplacedFiles, replaceFiles } from '../files/replace-files.ts';
import { blobId } from '../git/blob-id.ts';
import type { Repository } from '../git/repository.ts';
import { type Stage, stageEntries } from '../git/stage.ts';
import type { FileMove } from '../git/tree-merge.ts';
import { readFileEntry } from '../git/worktree-files.ts';
import { isCheckedOut } from '../git/worktrees.ts';

/** What is known of a file without reading it. */
interface KnownFile {
  readonly stat: string;
  readonly blob: string;
}

export interface MovedFiles {
  /** Now as the later commit says. */
  readonly placed: readonly FileMove[];
  /** Something else lies there, which stays. */
  readonly kept: readonly FileMove[];
}

/** What a look found, by the path as git spells it; null = nothing is known. */
export type KnownFiles = (path: string) => KnownFile | null;

export const NOTHING_KNOWN: KnownFiles = () => null;

/** What it says of a file is believed of one that has the same stamp still. */
export function knownIn(table: Pick<FileTable, 'get' | 'pathOf'>): KnownFiles {
  return (onDisk) => table.get(table.pathOf(onDisk)) ?? null;
}

export interface TreePlace {
  readonly root: string;
  readonly known: KnownFiles;
}

const LOOKS_PER_TURN = 64;

/** The contents that a tree will need, as files of ours: what takes long, and needs no queue. */
export function stageMoves(repository: Repository, moves: readonly FileMove[]): Promise<Stage> {
  return stageEntries(
    repository,
    moves.flatMap(({ path, to }) => (to === null ? [] : [{ path, entry: to }])),
  );
}

/** `settle` of the answer ends it. Throws DiskRefusal when nothing changed. */
export async function moveFiles(
  place: TreePlace,
  stage: Stage,
  moves: readonly FileMove[],
): Promise<Pick<ReplacedFiles, 'settle' | 'undo'> & MovedFiles> {
  const replacements: FileReplacement[] = [];
  const kept: FileMove[] = [];
  const placed: FileMove[] = [];
  for (const [index, move] of moves.entries()) {
    const verdict = judge(move, await lookAt(place, move.path));
    if (verdict === 'keep') kept.push(move);
    else if (verdict !== 'leave') placed.push(move);
    if (typeof verdict === 'object') {
      const staged = move.to === null ? null : stage.fileOf(move.path);
      replacements.push({ path: move.path, staged, expected: verdict.expected });
    }
    if (index % LOOKS_PER_TURN === 0) await nextTurn();
  }
  const replaced = await replaceFiles(place.root, replacements, stage.aside);
  return {
    placed: placed.filter(({ path }) => !replaced.kept.has(path)),
    kept: [...kept, ...placed.filter(({ path }) => replaced.kept.has(path))],
    settle: () => replaced.settle(),
    undo: () => replaced.undo(),
  };
}

/** What lies at a path; its blob is null when git would not name its bytes. */
interface Present {
  readonly stamp: string;
  readonly blob: string | null;
  readonly mode: string;
}

/** `keep`: something of a person's is in the way; `leave`: nothing is to be done here; `done`: it is there already. */
type Verdict = 'keep' | 'leave' | 'done' | { readonly expected: string | null };

function judge({ path, from, to }: FileMove, present: Present | null): Verdict {
  const isPut = to !== null && isCheckedOut(path, to);
  if (present === null) return isPut ? { expected: null } : 'leave';
  if (to !== null && isSame(present, to) && present.mode === to.mode) return 'done';
  if (from !== null && isSame(present, from)) return { expected: present.stamp };
  return to !== null && isSame(present, to) ? 'done' : 'keep';
}

/** Some file systems do not keep whether a file can be executed. */
function isSame({ blob, mode }: Present, entry: NonNullable<FileMove['from']>): boolean {
  return blob === entry.oid && (mode === '120000') === (entry.mode === '120000');
}

/** Whether the bytes that lie there are those of the entry. */
export async function holds(place: TreePlace, path: string, entry: NonNullable<FileMove['from']>): Promise<boolean> {
  const present = await lookAt(place, path);
  return present !== null && isSame(present, entry);
}

/** A directory is nothing here: whether it can make room shows when the files in it are gone. */
async function lookAt({ root, known }: TreePlace, path: string): Promise<Present | null> {
  if (leadsAstray(root, path)) return null;
  const stat = statOf(join(root, path));
  if (stat === null || stat.isDirectory()) return null;
  return { stamp: fileStamp(stat), mode: modeOf(stat), blob: await blobOf(join(root, path), stat, known(path)) };
}

function modeOf(stat: BigIntStats): string {
  if (stat.isSymbolicLink()) return '120000';
  return (stat.mode & 0o100n) === 0n ? '100644' : '100755';
}

async function blobOf(file: string, stat: BigIntStats, remembered: KnownFile | null): Promise<string | null> {
  if (stat.isSymbolicLink()) return blobId(readlinkSync(file, { encoding: 'buffer' }));
  if (!stat.isFile()) return null;
  const isSettled = Date.now() - Number(stat.mtimeMs) > CLOCK_STEP_MS;
  const isKnown = isSettled && remembered?.stat === fileStamp(stat) && remembered.blob !== '';
  return isKnown ? remembered.blob : hashFile(file, stat);
}

/** What is read at once; larger files come in pieces, which let others in. */
const SMALL_BYTES = 64n * 1024n;

/** Null when it changes while it is read. */
async function hashFile(file: string, stat: BigIntStats): Promise<string | null> {
  if (stat.size <= SMALL_BYTES) return hashSmallFile(file, stat);
  const digest = createHash('sha1').update(`blob ${stat.size}\0`);
  try {
    for await (const chunk of createReadStream(file)) digest.update(chunk as Buffer);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
  const after = statOf(file);
  return after !== null && fileStamp(after) === fileStamp(stat) ? digest.digest('hex') : null;
}

function hashSmallFile(file: string, stat: BigIntStats): string | null {
  const read = readFileEntry(file);
  if (read === null || fileStamp(read.stat) !== fileStamp(stat)) return null;
  const after = statOf(file);
  return after !== null && fileStamp(after) === fileStamp(stat) ? blobId(read.body) : null;
}

function statOf(path: string): BigIntStats | null {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (error) {
    if (isAbsent(error) || isForbidden(error)) return null; // what may not be looked at is kept
    throw error;
  }
}
