/**
 * Paths as git has them are bytes. In texts of ours each byte of a segment that is no UTF-8 stands as a lone surrogate
 * (U+DC80 to U+DCFF), which no text from outside can hold, so that the same bytes come out again.
 */
import { isUtf8 } from 'node:buffer';

const FIRST = 0xdc00;
/** Alone: in a pair it is part of a letter. */
const LONE = /[\uDC80-\uDCFF]/u;

/** What git ends with NUL, one by one: of a large tree it is much. */
export function* nulEnded(bytes: Buffer): Generator<Buffer, void> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0, start);
    if (end < 0) return;
    yield bytes.subarray(start, end);
    start = end + 1;
  }
}

export function decodePath(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const parts: string[] = [];
  for (let start = 0; start <= bytes.length; ) {
    const end = endOfPart(bytes, start);
    parts.push(decodePart(bytes.subarray(start, end)), bytes.toString('latin1', end, end + 1));
    start = end + 1;
  }
  return parts.join('');
}

function endOfPart(bytes: Buffer, start: number): number {
  let end = start;
  while (end < bytes.length && bytes[end] !== SLASH && bytes[end] !== 0) end += 1;
  return end;
}

const SLASH = 0x2f;

function decodePart(part: Buffer): string {
  if (isUtf8(part)) return part.toString('utf8');
  return Array.from(part, (byte) => String.fromCharCode(byte < 0x80 ? byte : FIRST + byte)).join('');
}

export function encodePath(path: string): Buffer {
  if (isSpeakable(path)) return Buffer.from(path, 'utf8');
  return Buffer.concat(
    Array.from(path, (letter) => (LONE.test(letter) ? byteOf(letter) : Buffer.from(letter, 'utf8'))),
  );
}

function byteOf(letter: string): Buffer {
  return Buffer.from([(letter.codePointAt(0) ?? FIRST) - FIRST]);
}

/** Whether the path can be told and asked for: it is UTF-8. */
export function isSpeakable(path: string): boolean {
  return !LONE.test(path);
}

/** As it is shown, U+FFFD for what is no UTF-8. */
export function shownPath(path: string): string {
  return path.toWellFormed();
}
