/**
 * The file of a backup: a line that names its form, then sections, each with a line `<name> <bytes> <sha256>` before its
 * bytes. Whatever is not exactly so is damaged. Nothing of it is ever in memory as a whole.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { BrainName } from '@svc/contract/names.ts';

const FORM = 'svc-backup 1\n';
const SECTIONS = ['manifest', 'bundle', 'rows'] as const;
type SectionName = (typeof SECTIONS)[number];
const MAX_LINE_BYTES = 200;
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

export class DamagedArchive extends Error {}

const ObjectId = z.string().regex(/^[0-9a-f]{40}$/);

export const Manifest = z.strictObject({
  brain: BrainName,
  /** Head of main. */
  commit: ObjectId,
  /** Milliseconds since the epoch. */
  at: z.number(),
  /** Where it is at home. */
  workspace: z.string(),
  /** It, or something in it, had a boundary of its own, which is not in here; what does not say so may have had one. */
  isBounded: z.boolean().default(true),
  refs: z.array(z.strictObject({ ref: z.string().regex(/^refs\/[^\0\n]+$/), oid: ObjectId })),
  /** Commits that hold what was uncommitted; nothing but this names them. */
  work: z.array(z.strictObject({ branch: z.string(), commit: ObjectId })),
  /** Commits whose parents it has not, of a brain that a person cloned without all of its history. */
  shallow: z.array(ObjectId).optional(),
  /** In the working tree of main. */
  files: z.int(),
  rows: z.int(),
});
export type Manifest = z.output<typeof Manifest>;

/** Bytes, or a file that holds them. */
export type Piece = Uint8Array | { readonly file: string };

/** Durable. Answers its size and the SHA-256 of all of it. Throws what the disk throws. */
export async function writeArchive(
  path: string,
  sections: Readonly<Record<SectionName, readonly Piece[]>>,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const whole = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx');
  try {
    const write = async (chunk: Uint8Array): Promise<void> => {
      whole.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    };
    await write(Buffer.from(FORM));
    for (const name of SECTIONS) {
      const pieces = sections[name];
      const { size, sha256 } = await measure(pieces);
      await write(Buffer.from(`${name} ${size} ${sha256}\n`));
      for await (const chunk of chunksOf(pieces)) await write(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: whole.digest('hex') };
}

async function measure(pieces: readonly Piece[]): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of chunksOf(pieces)) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { size, sha256: hash.digest('hex') };
}

async function* chunksOf(pieces: readonly Piece[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if ('file' in piece) yield* createReadStream(piece.file) as AsyncIterable<Uint8Array>;
    else yield piece;
  }
}

/** Where a section lies in the file. */
interface Section {
  readonly name: SectionName;
  readonly start: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** Of the whole file, by the lines before its sections; their bytes are not looked at. Throws DamagedArchive. */
async function sectionsOf(file: FileHandle): Promise<readonly Section[]> {
  const { size } = await file.stat();
  const form = await readAt(file, 0, FORM.length);
  if (form !== FORM) throw new DamagedArchive('it does not begin as a backup does');
  const sections: Section[] = [];
  let at = FORM.length;
  for (const name of SECTIONS) {
    const line = (await readAt(file, at, MAX_LINE_BYTES)).split('\n', 1)[0] ?? '';
    const [, bytes = '', sha256 = ''] = new RegExp(`^${name} (\\d{1,15}) ([0-9a-f]{64})$`).exec(line) ?? [];
    if (sha256 === '') throw new DamagedArchive(`the section ${name} is missing`);
    const start = at + line.length + 1;
    at = start + Number(bytes);
    if (at > size) throw new DamagedArchive(`the section ${name} ends too soon`);
    sections.push({ name, start, bytes: Number(bytes), sha256 });
  }
  if (at !== size) throw new DamagedArchive('something follows its last section');
  return sections;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.toString('latin1', 0, bytesRead);
}

/** Without a look at the rest. Throws DamagedArchive. */
export async function readManifest(path: string): Promise<Manifest> {
  await using file = await open(path, 'r');
  const [section] = await sectionsOf(file);
  if (section === undefined || section.bytes > MAX_MANIFEST_BYTES) throw new DamagedArchive('its manifest is too long');
  const { buffer } = await file.read(Buffer.alloc(section.bytes), 0, section.bytes, section.start);
  const sum = createHash('sha256').update(buffer).digest('hex');
  if (sum !== section.sha256) throw new DamagedArchive('its manifest is not what was written');
  return manifestIn(buffer.toString('utf8'));
}

function manifestIn(text: string): Manifest {
  try {
    return Manifest.parse(JSON.parse(text));
  } catch {
    throw new DamagedArchive('its manifest is none');
  }
}

/** Every section held against its sum. Throws DamagedArchive. */
export async function verifyArchive(path: string): Promise<Manifest> {
  {
    await using file = await open(path, 'r');
    for (const { name, start, bytes, sha256 } of await sectionsOf(file)) {
      const hash = createHash('sha256');
      if (bytes > 0)
        for await (const chunk of createReadStream(path, { start, end: start + bytes - 1 }) as AsyncIterable<Buffer>)
          hash.update(chunk);
      if (hash.digest('hex') !== sha256) throw new DamagedArchive(`the section ${name} is not what was written`);
    }
  }
  return readManifest(path);
}

/** Every section as a file, each held against its sum. Throws DamagedArchive. */
export async function extractArchive(path: string, into: Readonly<Record<SectionName, string>>): Promise<void> {
  await using file = await open(path, 'r');
  for (const { name, start, bytes, sha256 } of await sectionsOf(file)) {
    const hash = createHash('sha256');
    const target = createWriteStream(into[name], { flags: 'wx' });
    const source = bytes === 0 ? Readable.from([]) : createReadStream(path, { start, end: start + bytes - 1 });
    await pipeline(source, summed(hash), target);
    if (hash.digest('hex') !== sha256) throw new DamagedArchive(`the section ${name} is not what was written`);
  }
}

function summed(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

/** Of the whole file, in bytes and in its sum. */
export async function sumOf(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const { sha256 } = await measure([{ file: path }]);
  return { bytes: (await stat(path)).size, sha256 };
}
