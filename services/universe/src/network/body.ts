/** The body of an answer: texts alone, and never more of them than there is room for, however well they are packed. */
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Dispatcher } from 'undici';

export interface Body {
  readonly contentType: string;
  readonly body: string;
  /** As they are after unpacking. */
  readonly bytes: number;
}

const TEXTS = /^(text\/[a-z0-9.+-]+|application\/(json|xml|[a-z0-9.-]+\+(json|xml)))$/;
const UNPACKED: Readonly<Record<string, (() => NodeJS.ReadWriteStream) | null>> = {
  '': null,
  identity: null,
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

export async function readBody(
  { headers, body }: Pick<Dispatcher.ResponseData, 'headers' | 'body'>,
  limit: number,
): Promise<Decision<Body, 'E_TOO_LARGE' | 'E_TYPE'>> {
  const contentType = textOf(headers['content-type']);
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const encoding = textOf(headers['content-encoding']).toLowerCase().trim();
  const bytes = Object.hasOwn(UNPACKED, encoding) ? await readUpTo(unpacked(body, encoding), limit) : null;
  if (bytes === null) return Object.hasOwn(UNPACKED, encoding) ? deny('E_TOO_LARGE', { limit }) : deny('E_TYPE');
  if (bytes.length > 0 && !TEXTS.test(type.trim())) return deny('E_TYPE', { contentType });
  const decoder = decoderOf(parameters);
  return decoder === null
    ? deny('E_TYPE', { contentType })
    : allow({ contentType, body: decoder.decode(bytes), bytes: bytes.length });
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header.slice(0, 200) : '';
}

function unpacked(body: Readable, encoding: string): AsyncIterable<Buffer> {
  const unpack = UNPACKED[encoding];
  if (unpack === null || unpack === undefined) return body;
  return pipeline(body, unpack(), () => {}) as unknown as Readable; // its errors are those of whoever reads it
}

/** Null = it is more. Leaving the loop ends the stream, and with it the connection. */
export async function readUpTo(stream: AsyncIterable<Buffer>, limit: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stream) {
    bytes += part.length;
    if (bytes > limit) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function decoderOf(parameters: readonly string[]): InstanceType<typeof TextDecoder> | null {
  const charset = parameters.map((one) => /^\s*charset="?([a-z0-9_-]+)"?\s*$/.exec(one)?.[1]).find(Boolean);
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch {
    return null;
  }
}
