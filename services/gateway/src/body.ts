/** Request bodies: at most 4 MiB each, and not more at once than the process can hold. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import { Tally } from './connections.ts';

const MAX_BODY_BYTES = 4 * 1024 * 1024;
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

/** What bodies that are being read take of the memory, in all and of one caller. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
const MAX_HELD_BYTES_OF_ONE = MAX_HELD_BYTES / 2;
/** So much comes with the connection anyway. */
const SMALL_BODY_BYTES = 64 * 1024;

/** `gone`: the client left before it had said everything; there is nobody to answer. */
type ReadBody = { readonly bytes: Buffer } | { readonly gone: true };

export interface Bodies {
  /** `owner`: whose share it is. Throws SERVICE_UNAVAILABLE while too much is held, PAYLOAD_TOO_LARGE. */
  read(request: IncomingMessage, owner: string): Promise<ReadBody>;
}

export function createBodies(): Bodies {
  const held = new Tally();
  return {
    async read(request, owner) {
      const length = mostBytesOf(request);
      if (length <= SMALL_BODY_BYTES) return collect(request);
      if (held.of(ALL) + length > MAX_HELD_BYTES || held.of(owner) + length > MAX_HELD_BYTES_OF_ONE) {
        throw new CallError('SERVICE_UNAVAILABLE', 'Too many large bodies are being read; try again.', TRY_AGAIN);
      }
      const names = [ALL, owner];
      for (const name of names) held.add(name, length);
      try {
        return await collect(request);
      } finally {
        for (const name of names) held.remove(name, length);
      }
    },
  };
}

/** No bucket has this name. */
const ALL = '';
const TRY_AGAIN = { retryAfterMs: 1000 };

/** Whether so little of the request can be left that reading it off the connection costs nothing. */
export function isAsGoodAsRead(request: IncomingMessage): boolean {
  return request.complete || mostBytesOf(request) <= SMALL_BODY_BYTES;
}

/** Who does not say how much there is may send as much as anybody. */
function mostBytesOf({ headers }: IncomingMessage): number {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length);
  return headers['transfer-encoding'] === undefined ? 0 : MAX_BODY_BYTES;
}

function collect(request: IncomingMessage): Promise<ReadBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = (act: () => void): void => {
      request.off('data', take).off('end', end).off('close', leave);
      act();
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
      else finish(() => reject(new CallError('PAYLOAD_TOO_LARGE')));
    };
    const end = (): void => {
      const [first] = chunks;
      finish(() => resolve({ bytes: chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks) }));
    };
    const leave = (): void => finish(() => resolve({ gone: true }));
    if (request.destroyed) resolve({ gone: true });
    else request.on('data', take).on('end', end).on('close', leave);
  });
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
