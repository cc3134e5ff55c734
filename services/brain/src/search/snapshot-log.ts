/** The file of one index's snapshot: blocks one after the other, of which later ones win. It may be deleted at any time. */
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Block, blockLength, HEADER_BYTES } from './snapshot-block.ts';

export class SnapshotLog {
  readonly #file: string;
  /** Up to the end of the last sound block; null = the file must be written anew. */
  #bytes: number | null = null;

  constructor(file: string) {
    this.#file = file;
  }

  /** 0 when the next block must be the first of a new file. */
  get bytes(): number {
    return this.#bytes ?? 0;
  }

  /** The sound blocks from the start on; what a killed process left half written ends them. */
  async *read(): AsyncGenerator<Block> {
    this.#bytes = null;
    const file = await open(this.#file, 'r').catch(() => null);
    if (file === null) return;
    await using _closing = file;
    for (let at = 0; ; ) {
      const header = await readExactly(file, at, HEADER_BYTES);
      const length = header === null ? null : blockLength(header);
      const bytes = length === null ? null : await readExactly(file, at, length);
      const block = bytes === null ? null : Block.read(bytes);
      if (block === null) return;
      at += length ?? 0;
      this.#bytes = at;
      yield block;
    }
  }

  /** False when the file is not as this log left it: then it must be written anew. Throws what the disk says. */
  async append(block: Uint8Array): Promise<boolean> {
    if (this.#bytes === null) return false;
    const file = await open(this.#file, 'r+').catch(() => null);
    if (file === null) return false;
    await using _closing = file;
    // Longer: the rest of a killed process. Shorter: not our file.
    if ((await file.stat()).size < this.#bytes) return false;
    await file.write(block, 0, block.length, this.#bytes);
    this.#bytes += block.length;
    await file.truncate(this.#bytes);
    return true;
  }

  /** Puts other blocks in the place of the file. Throws what the disk says; the file is then as it was. */
  async rewrite(blocks: AsyncIterable<Uint8Array>): Promise<void> {
    const temporary = `${this.#file}.tmp`;
    await mkdir(dirname(this.#file), { recursive: true });
    let bytes = 0;
    try {
      const file = await open(temporary, 'w');
      await using _closing = file;
      for await (const block of blocks) {
        await file.write(block);
        bytes += block.length;
      }
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw error;
    }
    await rename(temporary, this.#file);
    this.#bytes = bytes;
  }

  async remove(): Promise<void> {
    this.#bytes = null;
    await rm(this.#file, { force: true });
  }
}

type OpenFile = Awaited<ReturnType<typeof open>>;

/** Null when the file ends before. */
async function readExactly(file: OpenFile, at: number, length: number): Promise<Uint8Array | null> {
  // Before memory is taken for it: a length that was never written whole can be anything.
  if (at + length > (await file.stat()).size) return null;
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  return bytesRead === length ? bytes : null;
}
