/** What lies at one place of a working tree, told from the disk: its kind, its bytes' names, and why it is not served. */
import { createHash, hash } from 'node:crypto';
import { type BigIntStats, createReadStream, lstatSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { filePathProblem } from '@svc/contract/names.ts';
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import { blobId } from '../git/blob-id.ts';
import { leadsAstray } from './obstacle.ts';
import { CLOCK_STEP_MS, fileStamp } from './file-stamp.ts';
import { isAbsent, isForbidden, isThere, mayBeListed, readIfPresent } from './fsync.ts';

/**
 * `text`: UTF-8 of at most 1 MiB under a legal name, the only kind that is served and searched. `large`: longer text.
 * `binary`: any other regular file. `link`: a symbolic link. `other`: what has a name that is not served, is larger than
 * the service keeps, may not be read, or is no file.
 */
export const EntryKind = z.enum(['text', 'large', 'binary', 'link', 'other']);
export type EntryKind = z.output<typeof EntryKind>;
export type EntryMode = '100644' | '100755' | '120000';
/** Of an entry that is a repository of its own: git has its commit, and none of its files. */
export const REPOSITORY_MODE = '160000';

/** Whether a commit takes the entry: when a person has tracked it, only then. */
export type Committing = 'always' | 'tracked' | 'never';

export interface FileEntry {
  /** In NFC, unless another entry of the directory has that name already. */
  readonly path: string;
  /** As the disk and git spell it. */
  readonly onDisk: string;
  readonly kind: EntryKind;
  readonly mode: EntryMode;
  /** SHA-256 of the bytes (of a link: of its target), hex; empty while they are not read, or never are. */
  readonly hash: string;
  /** Git blob id of the same bytes; empty like the hash. */
  readonly blob: string;
  readonly bytes: number;
  /** Size, times and inode in one text: equal text, equal bytes (but see `Worktree.refresh`). */
  readonly stat: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** Why it is not served, as the end of a sentence; null of text. */
  readonly problem: string | null;
}

/** An entry as just read or written. */
export interface DescribedFile {
  readonly entry: FileEntry;
  /** Null when it is not served. */
  readonly text: string | null;
  /** The file may still change within the same tick of the file system's clock. */
  readonly lookedTooEarly: boolean;
}

/** Larger files stay where a person put them: neither read nor committed. */
export const MAX_COMMITTED_BYTES = 50 * 1024 * 1024;

interface EntryPlace {
  readonly root: string;
  readonly path: string;
  readonly onDisk: string;
}

export function committingOf({ path, kind, blob }: FileEntry): Committing {
  const isUnread = kind === 'other' && blob === '';
  if (isUnread || path.includes(REPLACED)) return 'never';
  return kind === 'link' || path.startsWith('.') || path.includes('/.') ? 'tracked' : 'always';
}

/** Stands where a name on disk is not UTF-8: such an entry cannot be named again. */
const REPLACED = '\uFFFD';

export function isUnspeakable(onDisk: string): boolean {
  return onDisk.includes(REPLACED);
}

const NOT_TEXT = 'is not UTF-8 text';
const NOT_A_FILE = 'is neither a file nor a link';
const TOO_LARGE = 'is larger than 50 MiB';
const FORBIDDEN = 'may not be read by the user that the service runs as';
const REPOSITORY = 'is a git repository of its own';
const MAX_FOLDERS = 64;
const TOO_DEEP = `lies in ${MAX_FOLDERS} folders`;

/** Null when there is nothing, or a directory that is looked into. */
export function statEntry(root: string, onDisk: string): BigIntStats | null {
  try {
    const stat = lstatSync(join(root, onDisk), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined || (stat.isDirectory() && !isNotLookedInto(root, onDisk))) return null;
    return stat;
  } catch (error) {
    if (isAbsent(error) || isForbidden(error)) return null; // below what is an entry itself
    throw error;
  }
}

/** A directory that is a repository of its own, lies too deep, or may not be entered or listed: it is an entry itself. */
export function isNotLookedInto(root: string, onDisk: string): boolean {
  return onDisk !== '' && problemInside(root, onDisk) !== null;
}

/** Why a directory is not looked into. */
function problemInside(root: string, onDisk: string): string | null {
  if (onDisk.split('/').length > MAX_FOLDERS) return TOO_DEEP;
  const directory = join(root, onDisk);
  try {
    if (isThere(join(directory, '.git'))) return REPOSITORY;
    return mayBeListed(directory) ? null : FORBIDDEN;
  } catch (error) {
    if (isForbidden(error)) return FORBIDDEN;
    throw error;
  }
}

/** Whether what is below it is out of sight, where it is a directory. */
export function isNotLookedThrough({ problem }: FileEntry): boolean {
  return problem === REPOSITORY || problem === FORBIDDEN || problem === TOO_DEEP;
}

/** Whether a directory above is one that is not looked into. */
export function isInRepository(root: string, onDisk: string): boolean {
  for (let slash = onDisk.indexOf('/'); slash !== -1; slash = onDisk.indexOf('/', slash + 1)) {
    if (isNotLookedInto(root, onDisk.slice(0, slash))) return true;
  }
  return false;
}

/** What is there now; null when it went meanwhile. Files over 1 MiB are described without their bytes: see `readLarge`. */
export function describeOnDisk(place: EntryPlace, stat: BigIntStats, now: number): DescribedFile | null {
  const { root, onDisk } = place;
  if (leadsAstray(root, onDisk)) return null;
  if (stat.isSymbolicLink()) return describeLink(place, stat, now);
  if (!stat.isFile()) return unread(place, stat, 'other', problemInside(root, onDisk) ?? NOT_A_FILE);
  if (stat.size > MAX_COMMITTED_BYTES) return unread(place, stat, 'other', TOO_LARGE);
  if (stat.size > MAX_CONTENT_BYTES) return unread(place, stat, 'large', 'is larger than 1 MiB');
  try {
    const bytes = readIfPresent(join(root, onDisk));
    return bytes === null ? null : describeBytes(place, bytes, stat, now);
  } catch (error) {
    if (isForbidden(error)) return unread(place, stat, 'other', FORBIDDEN);
    throw error;
  }
}

/** A regular file of at most 1 MiB by its bytes. */
export function describeBytes(place: EntryPlace, bytes: Uint8Array, stat: BigIntStats, now: number): DescribedFile {
  const text = decodeText(bytes);
  const nameProblem = filePathProblem(place.path);
  const kind = nameProblem !== null ? 'other' : text === null ? 'binary' : 'text';
  const problem = nameProblem ?? (text === null ? NOT_TEXT : null);
  const names = { hash: hash('sha256', bytes, 'hex'), blob: blobId(bytes) };
  const modifiedAt = modifiedAtOf(stat);
  const entry = { ...place, ...names, kind, mode: modeOf(stat), bytes: bytes.byteLength, problem } as const;
  return {
    entry: entryOf(entry, stat, modifiedAt),
    text: kind === 'text' ? text : null,
    lookedTooEarly: now - modifiedAt < CLOCK_STEP_MS,
  };
}

/** As the name says; no later look finds it so. */
export function describeVanished(place: EntryPlace, bytes: Uint8Array, now: number): DescribedFile {
  const { path, onDisk } = place;
  const names = { hash: hash('sha256', bytes, 'hex'), blob: blobId(bytes) };
  const text = decodeText(bytes);
  const kind = text === null ? 'binary' : 'text';
  const problem = text === null ? NOT_TEXT : null;
  const entry = { path, onDisk, ...names, kind, mode: '100644', bytes: bytes.byteLength } as const;
  return {
    entry: { ...entry, stat: '', modifiedAt: now, problem },
    text,
    lookedTooEarly: true,
  };
}

function describeLink(place: EntryPlace, stat: BigIntStats, now: number): DescribedFile {
  const target = readlinkSync(join(place.root, place.onDisk), { encoding: 'buffer' });
  const names = { hash: hash('sha256', target, 'hex'), blob: blobId(target) };
  const modifiedAt = modifiedAtOf(stat);
  const entry = { ...place, ...names, kind: 'link', mode: '120000', bytes: target.byteLength } as const;
  const problem = 'is a symbolic link, which is never followed';
  return {
    entry: entryOf({ ...entry, problem }, stat, modifiedAt),
    text: null,
    lookedTooEarly: now - modifiedAt < CLOCK_STEP_MS,
  };
}

/** What a walk found under a name that is not UTF-8, so that it cannot be looked at. */
export function describeUnspeakable({ path, onDisk }: EntryPlace, now: number): DescribedFile {
  const names = { path, onDisk, kind: 'other', mode: '100644', hash: '', blob: '' } as const;
  const entry = { ...names, bytes: 0, stat: '', modifiedAt: now, problem: 'has a name that is not UTF-8' };
  return { entry, text: null, lookedTooEarly: false };
}

function unread(place: EntryPlace, stat: BigIntStats, kind: EntryKind, problem: string): DescribedFile {
  const entry = { ...place, kind, mode: modeOf(stat), hash: '', blob: '', bytes: Number(stat.size), problem };
  return { entry: entryOf(entry, stat, modifiedAtOf(stat)), text: null, lookedTooEarly: false };
}

function entryOf(
  { path, onDisk, kind, mode, hash: sha256, blob, bytes, problem }: Omit<FileEntry, 'stat' | 'modifiedAt'>,
  stat: BigIntStats,
  modifiedAt: number,
): FileEntry {
  return { path, onDisk, kind, mode, hash: sha256, blob, bytes, stat: fileStamp(stat), modifiedAt, problem };
}

function modifiedAtOf(stat: BigIntStats): number {
  return Number(stat.mtimeNs / 1_000_000n);
}

function modeOf({ mode }: BigIntStats): EntryMode {
  return (mode & 0o100n) === 0n ? '100644' : '100755';
}

/** Reads a file over 1 MiB piece by piece; null when it is no longer the one described. */
export async function readLarge(root: string, described: FileEntry): Promise<FileEntry | null> {
  const read = await readPieces(join(root, described.onDisk), described.bytes);
  if (read === 'forbidden') return { ...described, kind: 'other', problem: FORBIDDEN };
  const after = statEntry(root, described.onDisk);
  if (read === null || after === null || fileStamp(after) !== described.stat) return null;
  const { hash: sha256, blob, isText } = read;
  const nameProblem = filePathProblem(described.path);
  const kind = nameProblem !== null ? 'other' : isText ? 'large' : 'binary';
  const problem = nameProblem ?? (isText ? described.problem : 'is not UTF-8 text');
  return { ...described, kind, hash: sha256, blob, problem };
}

/** Null when there are not so many bytes. */
async function readPieces(
  file: string,
  size: number,
): Promise<{ readonly hash: string; readonly blob: string; readonly isText: boolean } | 'forbidden' | null> {
  const sha256 = createHash('sha256');
  const blob = createHash('sha1').update(`blob ${size}\0`);
  const decoding = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let bytes = 0;
  let isText = true;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      const piece = chunk as Buffer;
      bytes += piece.byteLength;
      sha256.update(piece);
      blob.update(piece);
      isText &&= isTextPiece(decoding, piece);
    }
  } catch (error) {
    if (isAbsent(error)) return null;
    if (isForbidden(error)) return 'forbidden';
    throw error;
  }
  return bytes === size ? { hash: sha256.digest('hex'), blob: blob.digest('hex'), isText } : null;
}

function isTextPiece(decoding: InstanceType<typeof TextDecoder>, piece: Uint8Array): boolean {
  if (piece.includes(0)) return false;
  try {
    decoding.decode(piece, { stream: true });
    return true;
  } catch {
    return false; // not UTF-8
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** UTF-8 without NUL, else null. */
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return decoder.decode(bytes);
  } catch {
    return null; // not UTF-8
  }
}
