/** The last context of each session: what was asked for, and what came of it. */
import { allow } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, ServiceStore } from '@svc/runtime/store.ts';
import { z } from 'zod';
import type { Breakpoint, ContextLayer } from './domain/assemble.ts';
import { touchOf } from './heartbeat-store.ts';

export const ContextWish = z.strictObject({
  brain: z.string(),
  branch: z.string(),
  query: z.string().nullable(),
  /** Tokens. */
  budget: z.number(),
  includeTools: z.boolean(),
});
export type ContextWish = z.output<typeof ContextWish>;

export interface BuiltContext {
  readonly wish: ContextWish;
  /** SHA-256 of the text. */
  readonly hash: string;
  readonly tokens: number;
  readonly layers: readonly ContextLayer[];
  readonly breakpoints: readonly Breakpoint[];
}

interface LastContext extends BuiltContext {
  /** Milliseconds since the epoch. */
  readonly builtAt: number;
  /** Builds of the session that were still known, and that were made anew. */
  readonly hits: number;
  readonly misses: number;
}

export type ContextStore = ReturnType<typeof createContextStore>;

/** What came of a wish. */
export interface Noted {
  readonly built: BuiltContext;
  readonly wasKnown: boolean;
}

/** What a session is told of a context that was built again. */
interface Refreshed extends Pick<BuiltContext, 'hash' | 'tokens'> {
  readonly brain: string;
  /** It says something else than the last one. */
  readonly changed: boolean;
}

export function createContextStore({ client, change }: Pick<ServiceStore, 'client' | 'change'>) {
  return {
    /** It was built without being asked for. */
    note: (session: string, noted: Noted) => client.$executeRawUnsafe(NOTE, ...valuesOf(session, noted)),
    /** The session asked for it, so its heartbeat goes on. */
    noteAsked: (session: string, noted: Noted) => client.$executeRawUnsafe(NOTE_ASKED, ...valuesOf(session, noted)),
    /** As `noteAsked`; a repeat under the same key hears again whether it changed. */
    noteRefreshed: (call: ChangeCall, session: string, noted: Noted): Promise<Once<Refreshed, never>> =>
      change(call, async ({ tx }) => {
        const last = await readLast(tx, session);
        await tx.$executeRawUnsafe(NOTE_ASKED, ...valuesOf(session, noted));
        const { hash, tokens, wish } = noted.built;
        return allow({ brain: wish.brain, hash, tokens, changed: hash !== last?.hash });
      }),
    last: (session: string) => readLast(client, session),
  };
}

const NOTE = `INSERT INTO brain.brain_contexts AS c (session_key, built, hits, misses, built_at)
  VALUES ($1, $2::jsonb, $3::bigint, 1 - $3::bigint, clock_timestamp())
  ON CONFLICT (session_key) DO UPDATE SET built = excluded.built, hits = c.hits + excluded.hits,
    misses = c.misses + excluded.misses, built_at = excluded.built_at`;
const NOTE_ASKED = `WITH touched AS (${touchOf('$1')}) ${NOTE}`;

function valuesOf(session: string, { built, wasKnown }: Noted): [string, string, number] {
  return [session, JSON.stringify(built), wasKnown ? 1 : 0];
}

interface Row {
  readonly built: BuiltContext;
  readonly hits: bigint;
  readonly misses: bigint;
  readonly builtAt: number;
}

async function readLast(client: SqlClient, session: string): Promise<LastContext | null> {
  const [row] = await client.$queryRawUnsafe<Row[]>(
    `SELECT built, hits, misses, (extract(epoch from built_at) * 1000)::double precision AS "builtAt"
     FROM brain.brain_contexts WHERE session_key = $1`,
    session,
  );
  if (row === undefined) return null;
  const { built, hits, misses, builtAt } = row;
  return { ...built, hits: Number(hits), misses: Number(misses), builtAt: Math.round(builtAt) };
}

/** Deletes what was built so long ago. */
export async function sweepContexts(client: SqlClient, keptDays: number): Promise<void> {
  await client.$executeRawUnsafe(
    'DELETE FROM brain.brain_contexts WHERE built_at < now() - make_interval(days => $1::int)',
    keptDays,
  );
}
