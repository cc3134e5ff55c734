/**
 * Edits the bytes of git's index (versions 2 and 3) without starting git: whatever no edit names stays byte for byte,
 * also what a person has staged.
 */
import { createHash } from 'node:crypto';
import { invalidateCacheTree } from './index-cache-tree.ts';
import { decodePath, encodePath } from './path-bytes.ts';

/** How a file lay on disk when its bytes were read; from `lstat` with `bigint`. */
interface IndexStat {
  readonly ctimeNs: bigint;
  readonly mtimeNs: bigint;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly uid: bigint;
  readonly gid: bigint;
  readonly size: bigint;
}

export interface IndexEntry {
  readonly mode: string;
  readonly oid: string;
  /** Null = git has to look at the bytes before it believes that the file is as committed. */
  readonly stat: IndexStat | null;
  /** It is not in the working tree and counts as present all the same (skip-worktree). */
  readonly isAbsent?: boolean;
}

export interface IndexEdit {
  readonly path: string;
  /** Null removes the path. */
  readonly entry: IndexEntry | null;
}

const HEADER_BYTES = 12;
const CHECKSUM_BYTES = 20;
const FIXED_BYTES = 62;
const OID_AT = 40;
const FLAGS_AT = 60;
const EXTENDED = 0x4000;
const NAME_LENGTH = 0xfff;
const SKIP_WORKTREE = 0x4000;

interface ParsedIndex {
  readonly bytes: Buffer;
  readonly version: number;
  /** Where each entry begins, and where the last one ends. */
  readonly starts: Uint32Array;
  readonly names: Uint32Array;
  readonly nameEnds: Uint32Array;
}

/**
 * The index with the edits made; `current` null = there is none yet. Null when only git itself can edit it: split,
 * sparse, compressed names, or damaged.
 */
export function editIndexFile(current: Buffer | null, edits: readonly IndexEdit[]): Buffer | null {
  const index = parseIndex(current ?? EMPTY);
  const extensions = index === null ? null : parseExtensions(index);
  if (index === null || extensions === null) return null;
  const wanted = [...new Map(edits.map((edit) => [edit.path, edit])).values()]
    .map((edit) => ({ ...edit, name: encodePath(edit.path) }))
    .sort((a, b) => Buffer.compare(a.name, b.name));
  const { kept, count } = mergeEntries(index, wanted);
  const isExtended = index.version === 3 || wanted.some(({ entry }) => entry?.isAbsent === true);
  const header = Buffer.from('DIRC\0\0\0\0\0\0\0\0', 'latin1');
  header.writeUInt32BE(isExtended ? 3 : 2, 4);
  header.writeUInt32BE(count, 8);
  const tree = extensions.get('TREE');
  const touched =
    tree === undefined
      ? null
      : invalidateCacheTree(
          tree,
          edits.map(({ path }) => path),
        );
  const body = [
    header,
    ...kept,
    ...(touched === null ? [] : extension('TREE', touched)),
    ...extension('REUC', extensions.get('REUC') ?? Buffer.alloc(0)),
  ];
  return Buffer.concat([...body, checksumOf(body)]);
}

const EMPTY = ((): Buffer => {
  const header = Buffer.from('DIRC\0\0\0\u0002\0\0\0\0', 'latin1');
  return Buffer.concat([header, checksumOf([header])]);
})();

function checksumOf(parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Paths that were never put into the working tree; null where only git itself can read the index. */
export function skippedIn(current: Buffer): string[] | null {
  const index = parseIndex(current);
  if (index === null || parseExtensions(index) === null) return null;
  const { bytes, starts, names, nameEnds } = index;
  const skipped: string[] = [];
  for (const [number, name] of names.entries()) {
    const start = starts[number] ?? 0;
    const isExtended = (bytes.readUInt16BE(start + FLAGS_AT) & EXTENDED) !== 0;
    if (!isExtended || (bytes.readUInt16BE(start + FIXED_BYTES) & SKIP_WORKTREE) === 0) continue;
    skipped.push(decodePath(bytes.subarray(name, nameEnds[number])));
  }
  return skipped;
}

/** False of one that was cut off, which git itself reads as though its files were removed. */
export function isWholeIndex(bytes: Buffer): boolean {
  const end = bytes.length - CHECKSUM_BYTES;
  if (end < HEADER_BYTES || !isSound(bytes, end)) return false;
  return bytes.readUInt32BE(4) > 3 || parseIndex(bytes) !== null;
}

function parseIndex(bytes: Buffer): ParsedIndex | null {
  if (bytes.length < HEADER_BYTES + CHECKSUM_BYTES || bytes.toString('latin1', 0, 4) !== 'DIRC') return null;
  const version = bytes.readUInt32BE(4);
  const count = bytes.readUInt32BE(8);
  const end = bytes.length - CHECKSUM_BYTES;
  if ((version !== 2 && version !== 3) || count * FIXED_BYTES > end || !isSound(bytes, end)) return null;
  const starts = new Uint32Array(count + 1);
  const names = new Uint32Array(count);
  const nameEnds = new Uint32Array(count);
  let at = HEADER_BYTES;
  for (let number = 0; number < count; number += 1) {
    const entry = parseEntry(bytes, at, end);
    if (entry === null) return null;
    starts[number] = at;
    names[number] = entry.name;
    nameEnds[number] = entry.nameEnd;
    at = entry.next;
  }
  starts[count] = at;
  return at > end ? null : { bytes, version, starts, names, nameEnds };
}

function parseEntry(bytes: Buffer, at: number, end: number): { name: number; nameEnd: number; next: number } | null {
  if (at + FIXED_BYTES > end) return null;
  const flags = bytes.readUInt16BE(at + FLAGS_AT);
  const name = at + FIXED_BYTES + ((flags & EXTENDED) === 0 ? 0 : 2);
  const length = flags & NAME_LENGTH;
  const nameEnd = length < NAME_LENGTH ? name + length : bytes.indexOf(0, name);
  if (nameEnd < name || nameEnd >= end || bytes[nameEnd] !== 0) return null;
  return { name, nameEnd, next: at + ((nameEnd - at + 8) & ~7) };
}

/** Its checksum fits, or was left out on purpose (`index.skipHash`). */
function isSound(bytes: Buffer, end: number): boolean {
  const checksum = bytes.subarray(end);
  return checksum.every((byte) => byte === 0) || checksumOf([bytes.subarray(0, end)]).equals(checksum);
}

/** By signature; null when one is needed to understand the index at all (its signature begins in lower case). */
function parseExtensions({ bytes, starts }: ParsedIndex): Map<string, Buffer> | null {
  const end = bytes.length - CHECKSUM_BYTES;
  const found = new Map<string, Buffer>();
  for (let at = starts[starts.length - 1] ?? end; at < end; ) {
    if (at + 8 > end) return null;
    const signature = bytes.toString('latin1', at, at + 4);
    const next = at + 8 + bytes.readUInt32BE(at + 4);
    if (next > end || !/^[A-Z]/.test(signature)) return null;
    found.set(signature, bytes.subarray(at + 8, next));
    at = next;
  }
  return found;
}

function extension(signature: string, content: Buffer): Buffer[] {
  if (content.length === 0) return [];
  const head = Buffer.alloc(8);
  head.write(signature, 'latin1');
  head.writeUInt32BE(content.length, 4);
  return [head, content];
}

interface NamedEdit extends IndexEdit {
  readonly name: Buffer;
}

/** `edits` in order of their names. */
function mergeEntries(index: ParsedIndex, edits: readonly NamedEdit[]): { kept: Buffer[]; count: number } {
  const total = index.names.length;
  const removed = new Uint8Array(total);
  for (const edit of edits) markRemoved(index, edit, removed);
  const kept: Buffer[] = [];
  let count = 0;
  let next = 0;
  const keepUpTo = (end: number): void => {
    while (next < end) {
      while (next < end && removed[next] === 1) next += 1;
      const from = next;
      while (next < end && removed[next] === 0) next += 1;
      count += next - from;
      if (next > from) kept.push(index.bytes.subarray(index.starts[from], index.starts[next]));
    }
  };
  for (const { name, entry } of edits) {
    if (entry === null) continue;
    keepUpTo(lowerBound(index, name));
    kept.push(formatEntry(name, entry));
    count += 1;
  }
  keepUpTo(total);
  return { kept, count };
}

const SLASH = 0x2f;

/** All stages of the path go; for a new entry also what would be a file and a directory of one name. */
function markRemoved(index: ParsedIndex, { name, entry }: NamedEdit, removed: Uint8Array): void {
  const mark = (from: Buffer, to: Buffer): void => {
    removed.fill(1, lowerBound(index, from), lowerBound(index, to));
  };
  const markExactly = (exact: Buffer): void => mark(exact, Buffer.concat([exact, Buffer.from([0])]));
  markExactly(name);
  if (entry === null) return;
  mark(Buffer.concat([name, Buffer.from([SLASH])]), Buffer.concat([name, Buffer.from([SLASH + 1])]));
  for (let slash = name.indexOf(SLASH); slash >= 0; slash = name.indexOf(SLASH, slash + 1)) {
    markExactly(name.subarray(0, slash));
  }
}

/** The first entry that does not come before `name`. */
function lowerBound({ bytes, names, nameEnds }: ParsedIndex, name: Buffer): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bytes.compare(name, 0, name.length, names[middle], nameEnds[middle]) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function formatEntry(name: Buffer, { mode, oid, stat, isAbsent = false }: IndexEntry): Buffer {
  const nameAt = FIXED_BYTES + (isAbsent ? 2 : 0);
  const entry = Buffer.alloc((nameAt + name.length + 8) & ~7);
  if (stat !== null) writeStat(entry, stat);
  entry.writeUInt32BE(Number.parseInt(mode, 8), 24);
  entry.write(oid, OID_AT, 'hex');
  entry.writeUInt16BE((isAbsent ? EXTENDED : 0) | Math.min(name.length, NAME_LENGTH), FLAGS_AT);
  if (isAbsent) entry.writeUInt16BE(SKIP_WORKTREE, FIXED_BYTES);
  name.copy(entry, nameAt);
  return entry;
}

const SECOND_NS = 1_000_000_000n;

/** Git keeps the lower 32 bits of each. */
function writeStat(entry: Buffer, { ctimeNs, mtimeNs, dev, ino, uid, gid, size }: IndexStat): void {
  const write = (value: bigint, at: number): void => {
    entry.writeUInt32BE(Number(BigInt.asUintN(32, value)), at);
  };
  write(ctimeNs / SECOND_NS, 0);
  write(ctimeNs % SECOND_NS, 4);
  write(mtimeNs / SECOND_NS, 8);
  write(mtimeNs % SECOND_NS, 12);
  write(dev, 16);
  write(ino, 20);
  write(uid, 28);
  write(gid, 32);
  write(size, 36);
}
