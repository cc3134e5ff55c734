import { objectIdOf } from './object-id.ts';

/** Git's id of a file's bytes (SHA-1 of `blob <length>` NUL bytes). */
export function blobId(bytes: Uint8Array): string {
  return objectIdOf({ type: 'blob', body: bytes });
}
