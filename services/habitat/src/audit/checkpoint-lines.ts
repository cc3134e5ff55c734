/** Signed ends of chains as lines of a file. */
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { ChainEnd } from '../domain/audit-chain.ts';
import { syncDirectory } from './sync-directory.ts';

const CheckpointLine = z.strictObject({
  chain: z.string(),
  seq: z.int(),
  hash: z.string(),
  /** Ms since the epoch. */
  at: z.number(),
  mac: z.string(),
  /** The chain led to this entry when its checkpoints were thinned out. */
  judged: z.literal(true).optional(),
});
export type CheckpointLine = z.output<typeof CheckpointLine>;

/**
 * Resolves when they are durable, in a file that still has its name or another one that is read. Starts on a new line,
 * so that a line which a killed process left unfinished spoils no other.
 */
export async function appendLines(file: string, lines: readonly CheckpointLine[]): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    const isNew = (await handle.stat()).size === 0;
    await handle.appendFile(`\n${textOf(lines)}`);
    await handle.datasync();
    if (isNew) await syncDirectory(dirname(file));
    // Whoever stood still in between may have been written into a file that was thinned out meanwhile.
    if ((await handle.stat()).nlink > 0) return;
  } finally {
    await handle.close();
  }
  await appendLines(file, lines);
}

/** None of a file that is not there; what is no line of ours is left out. */
export async function readLines(file: string): Promise<CheckpointLine[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n').flatMap((line) => {
    const parsed = CheckpointLine.safeParse(parsedJson(line));
    return parsed.success ? [parsed.data] : [];
  });
}

/** The file holds these lines or, should this fail, those that it had. */
export async function replaceLines(file: string, lines: readonly CheckpointLine[]): Promise<void> {
  const draft = `${file}.draft`;
  const handle: FileHandle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(textOf(lines));
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
  await syncDirectory(dirname(file));
}

function textOf(lines: readonly CheckpointLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** What the signature is of. */
export function endOfLine({ chain, seq, hash }: CheckpointLine): ChainEnd {
  return { chain, seq, hash };
}

function parsedJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
