/** Part of the bytes of a file that somebody may change or replace at any time. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { fileStamp } from './file-stamp.ts';
import { isAbsent } from './fsync.ts';

/** `stamp`: of the file that is meant; null when another one lies there. A link is not followed. */
export function readPieceOf(
  file: string,
  stamp: string,
  { offset, length }: { readonly offset: number; readonly length: number },
): Uint8Array | null {
  const opened = openPlain(file);
  if (opened === null) return null;
  try {
    const stat = fstatSync(opened, { bigint: true });
    if (!stat.isFile() || fileStamp(stat) !== stamp) return null;
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, Number(stat.size) - offset)));
    let read = 0;
    while (read < bytes.byteLength) {
      const count = readSync(opened, bytes, read, bytes.byteLength - read, offset + read);
      if (count === 0) return null;
      read += count;
    }
    return bytes;
  } finally {
    closeSync(opened);
  }
}

function openPlain(file: string): number | null {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsent(error) || (error instanceof Error && 'code' in error && error.code === 'ELOOP')) return null;
    throw error;
  }
}
