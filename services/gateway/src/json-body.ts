/** The body of a request as JSON. */
import { isUtf8 } from 'node:buffer';
import { CallError } from '@svc/contract/codes.ts';

/** Throws PARSE_ERROR. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new CallError('PARSE_ERROR');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new CallError('PARSE_ERROR');
  }
}
