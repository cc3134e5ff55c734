/** PNG files: pictures, and what only says that it is one. */
import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const WITH_ALPHA = 6;
const BYTES_OF_PIXEL = 4;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** As its header says it: RGB with alpha and 8 bits a sample unless told otherwise, whatever `data` holds. */
interface PngForm {
  readonly width?: number;
  readonly height?: number;
  readonly depth?: number;
  readonly colour?: number;
  readonly interlaced?: number;
  /** By default as many zeros as belong there. */
  readonly data?: Buffer;
  readonly palette?: Buffer;
}

export function pngOf({
  width = 8,
  height = 8,
  depth = 8,
  colour = WITH_ALPHA,
  interlaced = 0,
  data = deflateSync(Buffer.alloc(height * (1 + width * BYTES_OF_PIXEL))),
  palette,
}: PngForm): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([depth, colour, 0, 0, interlaced], 8);
  const colours = palette === undefined ? [] : [chunk('PLTE', palette)];
  const parts = [chunk('IHDR', head), ...colours, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...parts]);
}

/** Whose pixels differ from each other. */
export function pictureOf(width: number, height: number): Buffer {
  const row = 1 + width * BYTES_OF_PIXEL;
  const lines = Buffer.alloc(height * row, 0);
  for (let at = 0; at < lines.length; at += 1) if (at % row !== 0) lines[at] = (at * 37) % 256;
  return pngOf({ width, height, data: deflateSync(lines) });
}

/** How large a PNG says it is. */
export function sizeOf(png: Buffer): [width: number, height: number] {
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}
