/** Whether bytes are a PNG that may be decoded: judged by its lines and its size before anything of it is inflated. */
import { crc32, inflateSync } from 'node:zlib';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';

const MAX_PIXELS = 8_000_000;

interface CheckedPng {
  /** Without whatever is not needed to show it. */
  readonly bytes: Buffer;
  readonly width: number;
  readonly height: number;
}

export type ImageRefusal = 'E_IMAGE_INVALID' | 'E_IMAGE_LIMIT';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const NEEDED = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND']);
/** Samples of a pixel, by the kind of colour: grey, RGB, palette, grey with alpha, RGB with alpha. */
const SAMPLES: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

interface Chunk {
  readonly type: string;
  /** With its length, type and sum. */
  readonly whole: Buffer;
  readonly data: Buffer;
}

function invalid(reason: string) {
  return deny('E_IMAGE_INVALID', {}, `The image ${reason}.`);
}

export function checkPng(bytes: Buffer): Decision<CheckedPng, ImageRefusal> {
  const chunks = chunksOf(bytes);
  if (typeof chunks === 'string') return invalid(chunks);
  const [first] = chunks;
  if (first?.type !== 'IHDR' || first.data.length !== 13) return invalid('does not begin with its size');
  const width = first.data.readUInt32BE(0);
  const height = first.data.readUInt32BE(4);
  if (width === 0 || height === 0) return invalid('has no pixels');
  if (width * height > MAX_PIXELS) return deny('E_IMAGE_LIMIT', { pixels: width * height, limit: MAX_PIXELS });
  const bits = bitsOfPixel(first.data);
  if (typeof bits === 'string') return invalid(bits);
  const problem = problemOfData(chunks, height * (1 + Math.ceil((width * bits) / 8)));
  if (problem === 'limit') return deny('E_IMAGE_LIMIT', {}, 'The image holds more data than its size says.');
  if (problem !== null) return invalid(problem);
  const needed = chunks.filter(({ type }) => NEEDED.has(type)).map(({ whole }) => whole);
  return allow({ bytes: Buffer.concat([SIGNATURE, ...needed]), width, height });
}

/** Or why it is not taken, as the end of a sentence. */
function bitsOfPixel(head: Buffer): number | string {
  const depth = head.readUInt8(8);
  const colour = head.readUInt8(9);
  const samples = SAMPLES[colour];
  if (samples === undefined) return 'has a kind of colour that there is not';
  if (head.readUInt8(12) !== 0) return 'is interlaced; save it without';
  const isPacked = samples === 1 && [1, 2, 4].includes(depth);
  return depth === 8 || isPacked ? samples * depth : `has ${depth} bits a sample; save it with 8`;
}

/** Or why there are none, as the end of a sentence. */
function chunksOf(bytes: Buffer): Chunk[] | string {
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return 'is no PNG';
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const end = at + 12 + length;
    if (end > bytes.length) return 'is cut off';
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) return 'is damaged';
    const type = bytes.toString('latin1', at + 4, at + 8);
    chunks.push({ type, whole: bytes.subarray(at, end), data: bytes.subarray(at + 8, end - 4) });
    if (type === 'IEND') return chunks;
    at = end;
  }
  return 'is cut off';
}

/** `limit`: it would inflate to more than what the picture needs. */
function problemOfData(chunks: readonly Chunk[], expected: number): string | null {
  const data = chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data);
  try {
    const inflated = inflateSync(Buffer.concat(data), { maxOutputLength: expected });
    return inflated.length === expected ? null : 'has fewer rows than its size says';
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE' ? 'limit' : 'is damaged';
  }
}
