/** The template of an embedded database, as an archive of plain files and directories (ustar), written out. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const BLOCK = 512;
/** Where a header has what is read of it. */
const NAME = { from: 0, to: 100 };
const SIZE = { from: 124, to: 136 };
const TYPE = { from: 156, to: 157 };
const FILE = '0';
const DIRECTORY = '5';
/** Inflated into one piece: many small ones would leave holes among what is allocated meanwhile. */
const PIECE_BYTES = 64 * 1024 * 1024;

/** PGlite could load it itself; it makes a copy of each file, and 40 MB of holes stay with the process. */
export function writeTemplate(archive: Uint8Array, to: string): void {
  const files = gunzipSync(archive, { chunkSize: PIECE_BYTES });
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (let at = 0; at + BLOCK <= files.length && files[at] !== 0; ) {
    const header = files.subarray(at, at + BLOCK);
    const path = join(to, field(header, NAME));
    const type = field(header, TYPE);
    const size = Number.parseInt(field(header, SIZE), 8);
    at += BLOCK;
    if (type === DIRECTORY) mkdirSync(path, { recursive: true, mode: 0o700 });
    else if (type === FILE) writeFileSync(path, files.subarray(at, at + size), { mode: 0o600 });
    else throw new Error(`the template has an entry of type ${type}: ${path}`);
    at += Math.ceil(size / BLOCK) * BLOCK;
  }
}

function field(header: Buffer, { from, to }: { readonly from: number; readonly to: number }): string {
  const [text = ''] = header.toString('latin1', from, to).split('\0');
  return text.trim();
}
