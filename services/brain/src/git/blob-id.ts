import { createHash } from 'node:crypto';

/** Git's id of a file's bytes (SHA-1 of `blob <length>` NUL bytes). */
export function blobId(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}
