/** Reads a request body of at most 4 MiB. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';

export const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** How long and how much of a body that is too large is still read, so that its sender gets to see the reply. */
const DISCARD_MS = 2000;
const DISCARD_BYTES = 64 * 1024 * 1024;

/** Throws UNSUPPORTED_MEDIA_TYPE or PAYLOAD_TOO_LARGE by what the headers say. */
export function assertReadable({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  const encoding = headers['content-encoding'];
  if (type !== 'application/json' && !/^application\/json *(;|$)/i.test(type ?? '')) {
    throw new CallError('UNSUPPORTED_MEDIA_TYPE');
  }
  if (encoding !== undefined && encoding !== 'identity') {
    throw new CallError('UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed.');
  }
  const length = headers['content-length'];
  if (length !== undefined && Number(length) > MAX_BODY_BYTES) throw new CallError('PAYLOAD_TOO_LARGE');
}

/** Null when the body grew beyond the limit; the rest of it is then not collected. Never settles for a gone client. */
export function readBody(request: IncomingMessage, done: (body: Buffer | null) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const collect = (chunk: Buffer): void => {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else finish(null);
  };
  const end = (): void => finish(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
  const finish = (body: Buffer | null): void => {
    request.off('data', collect).off('end', end);
    done(body);
  };
  request.on('data', collect).on('end', end);
}

/**
 * Ends a reply to a request whose body was not read. Closing at once would reset the connection under a sender that is
 * still writing, and the reply would be lost: what comes is read and dropped for a while first.
 */
export function endAfterDiscarding(request: IncomingMessage, response: ServerResponse, body: string): void {
  response.write(body);
  let dropped = 0;
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, DISCARD_MS);
  request.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > DISCARD_BYTES) end();
  });
  request.once('end', end).once('close', end);
}
