/** Where a payload lies in a picture: one low bit of red, green and blue of each pixel, in the order of the rows. */

const MAGIC = [0x53, 0x56, 0x53, 0x31]; // SVS1
const ENCRYPTED = 1;

export const HEADER_BYTES = 9;
/** Of the sum that tells a whole message from a damaged one. */
export const SUM_BYTES = 8;
export const SALT_BYTES = 16;
export const NONCE_BYTES = 12;
export const TAG_BYTES = 16;

export interface Header {
  readonly isEncrypted: boolean;
  /** Of the message, in bytes. */
  readonly length: number;
}

/** What comes with a message besides its bytes. */
export function overheadOf(isEncrypted: boolean): number {
  return HEADER_BYTES + (isEncrypted ? SALT_BYTES + NONCE_BYTES + TAG_BYTES : SUM_BYTES);
}

/** Bytes that a message may have in a picture of so many pixels. */
export function capacityOf(pixels: number, isEncrypted: boolean): number {
  return Math.max(0, Math.floor((3 * pixels) / 8) - overheadOf(isEncrypted));
}

export function headerBytes({ isEncrypted, length }: Header): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES);
  bytes.set(MAGIC);
  bytes[4] = isEncrypted ? ENCRYPTED : 0;
  new DataView(bytes.buffer).setUint32(5, length);
  return bytes;
}

/** Null when there is no payload; `damaged` when there is one that this version did not write. */
export function headerIn(bytes: Uint8Array): Header | 'damaged' | null {
  if (bytes.length < HEADER_BYTES || MAGIC.some((byte, index) => bytes[index] !== byte)) return null;
  const flags = bytes[4] ?? 0;
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(5);
  return flags > ENCRYPTED || length === 0 ? 'damaged' : { isEncrypted: flags === ENCRYPTED, length };
}

/** `pixels`: four bytes each, alpha last, which stays as it is. The payload must fit. */
export function writeLowBits(pixels: Uint8Array, payload: Uint8Array): void {
  for (let bit = 0; bit < payload.length * 8; bit += 1) {
    const at = placeOf(bit);
    const value = ((payload[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1;
    pixels[at] = ((pixels[at] ?? 0) & 0xfe) | value;
  }
}

/** As many bytes as there are of those wanted. */
export function readLowBits(pixels: Uint8Array, from: number, length: number): Uint8Array {
  const there = Math.floor(((pixels.length >> 2) * 3) / 8) - from;
  const bytes = new Uint8Array(Math.max(0, Math.min(length, there)));
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const value = (pixels[placeOf(from * 8 + bit)] ?? 0) & 1;
    bytes[bit >> 3] = ((bytes[bit >> 3] ?? 0) << 1) | value;
  }
  return bytes;
}

/** Of a bit among the bytes of the pixels. */
function placeOf(bit: number): number {
  return Math.floor(bit / 3) * 4 + (bit % 3);
}
