/** What a node tells a session of the earlier era without being asked. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Door } from './door.ts';
import { eventData, oneLine } from './frames.ts';
import type { LegacySession } from './session.ts';

const AGAIN_MS = 1000;

export interface Followed {
  readonly door: Door;
  readonly session: LegacySession;
  readonly write: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Until the signal; begins anew whenever the stream ends, with a new session where the old one is forgotten. */
export async function follow({ door, session, write, signal }: Followed): Promise<void> {
  while (!signal.aborted) {
    const stale = session.name();
    const request = { method: 'GET' as const, headers: { accept: 'text/event-stream', ...session.headers() } };
    const isForgotten = await door
      .exchange({
        request,
        signal,
        async read(reply) {
          if (reply.ok && reply.body !== null) for await (const data of eventData(reply.body)) write(oneLine(data));
          else await reply.body?.cancel();
          return reply.status === 404;
        },
      })
      .catch(() => false);
    if (isForgotten) await session.renew(stale, signal).catch(() => false);
    await sleep(AGAIN_MS, null, { signal, ref: false }).catch(() => {});
  }
}
