import { createHash } from 'node:crypto';

export type ObjectType = 'blob' | 'tree' | 'commit';

/** An object as git stores it: `<type> <length>` NUL, then the bytes. */
export interface GitObject {
  readonly type: ObjectType;
  readonly body: Uint8Array;
}

export function objectHeader({ type, body }: GitObject): Buffer {
  return Buffer.from(`${type} ${body.byteLength}\0`, 'latin1');
}

/** Git's id of an object: SHA-1 of header and bytes. */
export function objectIdOf(object: GitObject): string {
  return createHash('sha1').update(objectHeader(object)).update(object.body).digest('hex');
}
