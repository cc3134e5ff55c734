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
/** A large body of which nothing more came for so long gives its room to others. */
const STALLED_MS = 10_000;
/** So much comes with the connection anyway. */
const SMALL_BODY_BYTES = 64 * 1024;

/** `gone`: the client left before it had said everything; there is nobody to answer. */
type ReadBody = { readonly bytes: Buffer } | { readonly gone: true };

export interface Bodies {
  /** `owner`: whose share it is. Throws SERVICE_UNAVAILABLE while too much is held, PAYLOAD_TOO_LARGE. */
  read(request: IncomingMessage, owner: string): Promise<ReadBody>;
}

export function createBodies(stalledMs = STALLED_MS): Bodies {
  const held = new Tally();
  const assertRoom = (owner: string, more: number): void => {
    if (held.of(ALL) + more > MAX_HELD_BYTES || held.of(owner) + more > MAX_HELD_BYTES_OF_ONE) {
      throw new CallError('SERVICE_UNAVAILABLE', 'Too many large bodies are being read; try again.', TRY_AGAIN);
    }
  };
  return {
    async read(request, owner) {
      const { 'content-length': told } = request.headers;
      if (Number(told) > SMALL_BODY_BYTES) assertRoom(owner, Number(told));
      let taken = 0;
      /** Room is taken for what has come: whoever only says that much will come keeps it from nobody. */
      const grow = (size: number): void => {
        if (size <= SMALL_BODY_BYTES) return;
        const more = size - taken;
        assertRoom(owner, more);
        for (const name of [ALL, owner]) held.add(name, more);
        taken += more;
      };
      try {
        return await collect(request, grow, stalledMs);
      } finally {
        if (taken > 0) for (const name of [ALL, owner]) held.remove(name, taken);
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

/** `grow` is told of each size before it is held, and may throw. */
function collect(request: IncomingMessage, grow: (size: number) => void, stalledMs: number): Promise<ReadBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let stalled: NodeJS.Timeout | undefined;
    const finish = (act: () => void): void => {
      clearTimeout(stalled);
      request.off('data', take).off('end', end).off('close', leave);
      act();
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) return finish(() => reject(new CallError('PAYLOAD_TOO_LARGE')));
      try {
        grow(size);
      } catch (error) {
        return finish(() => reject(error));
      }
      chunks.push(chunk);
      if (stalled !== undefined) stalled.refresh();
      else if (size > SMALL_BODY_BYTES) stalled = setTimeout(giveUp, stalledMs);
    };
    const giveUp = (): void =>
      finish(() => reject(new CallError('SERVICE_UNAVAILABLE', 'The rest of the body did not come.', TRY_AGAIN)));
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
