/** What becomes of tokens beside their use: when they were last used, to the minute, and the end of old rows. */
import { TOKENS_USED } from '@svc/contract/registry.ts';
import type { Subscription } from '@svc/runtime/bus.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

export interface TokenUse {
  /** Written soon, at most once a minute for each token. */
  note(tokenIds: readonly string[]): void;
  /** Writes the rest, then stops. */
  close(): Promise<void>;
}

const WRITE_EVERY_MS = 60_000;
const MAX_REMEMBERED = 100_000;
const MAX_REPORTED = 10_000;

const Report = z.object({ tokenIds: z.array(z.string()).max(MAX_REPORTED) });

const WRITE = `UPDATE habitat.tokens SET last_used_at = clock_timestamp() WHERE token_id = ANY($1::text[])
  AND (last_used_at IS NULL OR last_used_at <= clock_timestamp() - interval '1 minute')`;

export async function startTokenUse(client: SqlClient, { bus, log }: Pick<Platform, 'bus' | 'log'>): Promise<TokenUse> {
  const lately = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: WRITE_EVERY_MS });
  const writing = new Set<Promise<unknown>>();

  function note(tokenIds: readonly string[]): void {
    const fresh = tokenIds.filter((id) => !lately.has(id));
    if (fresh.length === 0) return;
    for (const id of fresh) lately.set(id, true);
    const written = client
      .$executeRawUnsafe(WRITE, fresh)
      .catch((error: unknown) => log.debug({ err: error }, 'the use of tokens was not written'))
      .finally(() => writing.delete(written));
    writing.add(written);
  }

  const reports: Subscription = await bus.subscribe(
    TOKENS_USED,
    (payload) => {
      const report = Report.safeParse(parsed(payload));
      if (report.success) note(report.data.tokenIds);
    },
    { queue: 'habitat' },
  );
  return {
    note,
    async close() {
      await reports.drain();
      await Promise.all(writing);
    },
  };
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return null;
  }
}
