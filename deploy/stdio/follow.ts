/** What a node tells a session of the earlier era without being asked. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Door } from './door.ts';
import { eventData, oneLine } from './frames.ts';
import type { LegacySession } from './session.ts';

const AGAIN_MS = 1000;
/** For one that is refused each time: a wrong credential counts for all who have that address. */
const AGAIN_AT_MOST_MS = 60_000;

export interface Followed {
  readonly door: Door;
  readonly session: LegacySession;
  readonly write: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Until the signal; begins anew whenever the stream ends, with a new session where the old one is forgotten. What changed
 * meanwhile nobody told, and the client sees no end of a stream: it is told to read again.
 */
export async function follow({ door, session, write, signal }: Followed): Promise<void> {
  let isFirst = true;
  let pauseMs = AGAIN_MS;
  const began = (): void => {
    if (!isFirst) for (const uri of session.wanted()) write(updateOf(uri));
    isFirst = false;
  };
  while (!signal.aborted) {
    const stale = session.name();
    const request = { method: 'GET' as const, headers: { accept: 'text/event-stream', ...session.headers() } };
    const isForgotten = await door
      .exchange({
        request,
        signal,
        async read(reply) {
          pauseMs = reply.ok ? AGAIN_MS : Math.min(2 * pauseMs, AGAIN_AT_MOST_MS);
          if (reply.ok && reply.body !== null) {
            began();
            for await (const data of eventData(reply.body)) write(oneLine(data));
          } else await reply.body?.cancel();
          return reply.status === 404;
        },
      })
      .catch(() => false);
    if (isForgotten && (await session.renew(stale).catch(() => false))) pauseMs = AGAIN_MS;
    await sleep(pauseMs, null, { signal, ref: false }).catch(() => {});
  }
}

function updateOf(uri: string): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
}
