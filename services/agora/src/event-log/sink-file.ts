/** Files of the sink: JSON lines, one file a day. What does not fit, or what the disk does not take, is left out. */
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

export const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_FILES = 10;
const FILE_NAME = /^events-\d{4}-\d{2}-\d{2}\.jsonl$/;

export interface Written {
  readonly file: string;
  readonly lines: number;
  readonly bytes: number;
}

export interface SinkFiles {
  /** The file of the day of `at`. */
  fileOf(at: number): string;
  /** Throws what the disk says when nothing can be written there. */
  assertWritable(at: number): Promise<void>;
  /** The first lines of `lines` that fit; none is there by half. Throws what the disk says, having written nothing. */
  append(at: number, lines: readonly string[]): Promise<Written>;
}

/** `maxBytes`: of one file. */
export function createSinkFiles(directory: string, maxBytes = MAX_FILE_BYTES): SinkFiles {
  const fileOf = (at: number): string => join(directory, `events-${new Date(at).toISOString().slice(0, 10)}.jsonl`);

  async function opened(at: number) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return open(fileOf(at), 'a', 0o600);
  }

  return {
    fileOf,
    async assertWritable(at) {
      const handle = await opened(at);
      await handle.close();
    },
    async append(at, lines) {
      await using handle = await opened(at);
      const { size } = await handle.stat();
      const fitting = linesWithin(lines, maxBytes - size);
      const text = Buffer.from(fitting.map((line) => `${line}\n`).join(''));
      try {
        await handle.appendFile(text);
      } catch (error) {
        await handle.truncate(size);
        throw error;
      }
      if (size === 0) await removeOldest(directory);
      return { file: fileOf(at), lines: fitting.length, bytes: text.length };
    },
  };
}

function linesWithin(lines: readonly string[], bytes: number): readonly string[] {
  let room = bytes;
  const beyond = lines.findIndex((line) => (room -= Buffer.byteLength(line) + 1) < 0);
  return beyond === -1 ? lines : lines.slice(0, beyond);
}

async function removeOldest(directory: string): Promise<void> {
  const files = (await readdir(directory)).filter((name) => FILE_NAME.test(name)).sort();
  for (const name of files.slice(0, -MAX_FILES)) await rm(join(directory, name), { force: true });
}
