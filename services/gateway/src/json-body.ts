/** The body of a request as JSON. */
import { isUtf8 } from 'node:buffer';
import { CallError } from '@svc/contract/codes.ts';
import { assertShallow } from './domain/json-limits.ts';

/** Throws PARSE_ERROR, and INVALID_REQUEST for a nesting that parsing would be slow at. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new CallError('PARSE_ERROR');
  assertShallow(body);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new CallError('PARSE_ERROR');
  }
}
