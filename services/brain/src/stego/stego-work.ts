/** A message into a picture and out of it: what takes long, done in a thread. */
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';
import { PNG } from 'pngjs';
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import {
  capacityOf,
  type Header,
  HEADER_BYTES,
  headerBytes,
  headerIn,
  NONCE_BYTES,
  overheadOf,
  readLowBits,
  SALT_BYTES,
  SUM_BYTES,
  TAG_BYTES,
  writeLowBits,
} from './domain/payload.ts';
import { checkPng, type ImageRefusal } from './png-check.ts';

export interface Hiding {
  readonly image: Uint8Array;
  readonly message: string;
  readonly password: string | null;
}

export interface Seeking {
  readonly image: Uint8Array;
  readonly password: string | null;
}

export type StegoQuestion = { readonly hide: Hiding } | { readonly seek: Seeking };
export type Hidden = Decision<{ image: Uint8Array; capacity: number }, ImageRefusal | 'E_STEGO_CAPACITY'>;
export type Found = Decision<
  { message: string; encrypted: boolean },
  ImageRefusal | 'E_STEGO_NONE' | 'E_STEGO_PASSWORD' | 'E_STEGO_CORRUPT'
>;
export type StegoAnswer = Hidden | Found;

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const SCRYPT = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
const RGB = 2;
const RGB_WITH_ALPHA = 6;

export function doStegoWork(question: StegoQuestion): StegoAnswer {
  return 'hide' in question ? hide(question.hide) : seek(question.seek);
}

function decoded(image: Uint8Array): Decision<PNG, ImageRefusal> {
  const checked = checkPng(Buffer.from(image));
  if (!checked.ok) return checked;
  try {
    return allow(PNG.sync.read(checked.value.bytes));
  } catch {
    return deny('E_IMAGE_INVALID', {}, 'The image cannot be decoded.');
  }
}

function hide({ image, message, password }: Hiding): Hidden {
  const read = decoded(image);
  if (!read.ok) return read;
  const png = read.value;
  const text = Buffer.from(message, 'utf8');
  const isEncrypted = password !== null;
  const capacity = capacityOf(png.width * png.height, isEncrypted);
  if (text.length > capacity) return deny('E_STEGO_CAPACITY', { capacity, needed: text.length });
  writeLowBits(png.data, payloadOf(text, password));
  // Whatever it was, it is written with all three colours; alpha stays as it was, where there is any.
  const colorType = hasAlpha(png.data) ? RGB_WITH_ALPHA : RGB;
  return allow({ image: PNG.sync.write(png, { colorType, inputHasAlpha: true }), capacity });
}

function hasAlpha(pixels: Uint8Array): boolean {
  for (let at = 3; at < pixels.length; at += 4) if (pixels[at] !== 255) return true;
  return false;
}

function payloadOf(text: Buffer, password: string | null): Buffer {
  const header = headerBytes({ isEncrypted: password !== null, length: text.length });
  if (password === null) return Buffer.concat([header, text, sumOf(text)]);
  const salt = randomBytes(SALT_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(password, salt), nonce).setAAD(header);
  return Buffer.concat([header, salt, nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

function keyOf(password: string, salt: Uint8Array): Buffer {
  return scryptSync(password.normalize('NFC'), salt, KEY_BYTES, SCRYPT);
}

function sumOf(text: Uint8Array): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, SUM_BYTES);
}

function seek({ image, password }: Seeking): Found {
  const read = decoded(image);
  if (!read.ok) return read;
  const pixels = read.value.data;
  const header = headerIn(readLowBits(pixels, 0, HEADER_BYTES));
  if (header === null) return deny('E_STEGO_NONE');
  if (header === 'damaged') return deny('E_STEGO_CORRUPT');
  const size = overheadOf(header.isEncrypted) - HEADER_BYTES + header.length;
  const body = Buffer.from(readLowBits(pixels, HEADER_BYTES, size));
  if (body.length < size) return deny('E_STEGO_CORRUPT');
  return header.isEncrypted ? decrypted(header, body, password) : plain(header, body);
}

function plain({ length }: Header, body: Buffer): Found {
  const text = body.subarray(0, length);
  if (!sumOf(text).equals(body.subarray(length))) return deny('E_STEGO_CORRUPT');
  return messageIn(text, false);
}

function decrypted(header: Header, body: Buffer, password: string | null): Found {
  if (password === null) return deny('E_STEGO_PASSWORD');
  const salt = body.subarray(0, SALT_BYTES);
  const nonce = body.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES);
  const text = body.subarray(SALT_BYTES + NONCE_BYTES, body.length - TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, keyOf(password, salt), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(headerBytes(header)).setAuthTag(body.subarray(body.length - TAG_BYTES));
  try {
    return messageIn(Buffer.concat([decipher.update(text), decipher.final()]), true);
  } catch {
    return deny('E_STEGO_PASSWORD');
  }
}

function messageIn(text: Uint8Array, encrypted: boolean): Found {
  try {
    return allow({ message: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text), encrypted });
  } catch {
    return deny('E_STEGO_CORRUPT');
  }
}
