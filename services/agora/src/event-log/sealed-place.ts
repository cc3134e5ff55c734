/** Places in the log as their readers get them: numbers of rows would count what a reader may not see. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Place } from './log-pages.ts';

export interface PlaceSeal {
  seal(place: Place): string;
  /** Null = it was not sealed here. */
  open(sealed: string): Place | null;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createPlaceSeal(secret: string): PlaceSeal {
  const key = createHash('sha256').update(`svc-agora-place\0${secret}`).digest();
  return {
    seal({ onward, seq }) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce);
      const text = `${onward ? '>' : '<'}${String(seq).padStart(20)}`;
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      try {
        const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
        const text = Buffer.concat([body, decipher.final()]).toString('utf8');
        return { onward: text.startsWith('>'), seq: text.slice(1).trim() };
      } catch {
        return null;
      }
    },
  };
}
