/** Writes many objects as one pack and its index (version 2): one flush instead of thousands. */
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fsync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32, deflateSync } from 'node:zlib';
import { makeFolder } from '../files/make-folder.ts';
import { type GitObject, objectIdOf, type ObjectType } from './object-id.ts';

const flush = promisify(fsync);

/** A pack is built in memory; whoever has more makes several. */
export const PACK_LIMITS = { objects: 2_000, bytes: 16 * 1024 * 1024 } as const;

const LEVEL = 1;
const TURN_MS = 8;
const TYPE_CODE: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3 };
const TRAILER_BYTES = 20;

interface Packed {
  readonly oid: string;
  readonly offset: number;
  readonly crc: number;
}

/**
 * Writes the objects, which the repository may already have, and answers their ids in order. Durable as loose objects
 * are. The loop gets its turn in between.
 */
export async function writePack(objectsDir: string, objects: readonly GitObject[]): Promise<string[]> {
  const oids: string[] = [];
  const packed = new Map<string, Packed>();
  const chunks: Buffer[] = [Buffer.alloc(12)];
  let offset = 12;
  let turnEndsAt = performance.now() + TURN_MS;
  for (const object of objects) {
    const oid = objectIdOf(object);
    oids.push(oid);
    if (packed.has(oid)) continue;
    const entry = Buffer.concat([entryHeader(object), deflateSync(object.body, { level: LEVEL })]);
    packed.set(oid, { oid, offset, crc: crc32(entry) });
    chunks.push(entry);
    offset += entry.length;
    if (performance.now() >= turnEndsAt) {
      await nextTurn();
      turnEndsAt = performance.now() + TURN_MS;
    }
  }
  if (packed.size > 0) await putInPlace(objectsDir, chunks, [...packed.values()]);
  return oids;
}

/** Type and size: four bits of the size beside the type, then seven in each byte, the lowest first. */
function entryHeader({ type, body }: GitObject): Buffer {
  const bytes: number[] = [];
  let rest = body.byteLength;
  let byte = (TYPE_CODE[type] << 4) | (rest & 15);
  rest = Math.floor(rest / 16);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  bytes.push(byte);
  return Buffer.from(bytes);
}

async function putInPlace(objectsDir: string, chunks: readonly Buffer[], packed: Packed[]): Promise<void> {
  chunks[0]?.write('PACK', 'latin1');
  chunks[0]?.writeUInt32BE(2, 4);
  chunks[0]?.writeUInt32BE(packed.length, 8);
  const checksum = sha1(chunks);
  packed.sort((a, b) => (a.oid < b.oid ? -1 : 1));
  const dir = join(objectsDir, 'pack');
  makeFolder(dir);
  const name = join(dir, `pack-${checksum.toString('hex')}`);
  // git sees a pack by its index, so that comes last
  await writeNamed(dir, `${name}.pack`, [...chunks, checksum]);
  await writeNamed(dir, `${name}.idx`, indexOf(packed, checksum));
}

function indexOf(sorted: readonly Packed[], checksum: Buffer): Buffer[] {
  const head = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
  const fanout = Buffer.alloc(256 * 4);
  let seen = 0;
  for (let first = 0; first < 256; first += 1) {
    while (seen < sorted.length && Number.parseInt(sorted[seen]?.oid.slice(0, 2) ?? '', 16) <= first) seen += 1;
    fanout.writeUInt32BE(seen, first * 4);
  }
  const crcs = Buffer.alloc(sorted.length * 4);
  const offsets = Buffer.alloc(sorted.length * 4);
  for (const [index, { crc, offset }] of sorted.entries()) {
    crcs.writeUInt32BE(crc, index * 4);
    offsets.writeUInt32BE(offset, index * 4); // a pack of ours stays far below the 2 GiB from which offsets are longer
  }
  const oids = Buffer.from(sorted.map(({ oid }) => oid).join(''), 'hex');
  const parts = [head, fanout, oids, crcs, offsets, checksum];
  return [...parts, sha1(parts)];
}

function sha1(parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest().subarray(0, TRAILER_BYTES);
}

async function writeNamed(dir: string, path: string, parts: readonly Buffer[]): Promise<void> {
  const temp = join(dir, `tmp_pack_${randomUUID()}`); // git prunes leftovers of this name
  const file = openSync(temp, 'wx', 0o444);
  try {
    const bytes = Buffer.concat(parts);
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    await flush(file);
    renameSync(temp, path);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}
