/**
 * How other processes learn that this one is gone: it holds a lock in a session of its own, which the server of the database
 * lets go of as soon as the connection ends. A process that only stands still keeps it.
 */
import type { Database } from '@svc/runtime/database.ts';
import type { PoolClient } from 'pg';

export interface Presence {
  /** Under which others find the lock. */
  readonly holder: string;
  /** Since when it is held, by the clock of the database, as that writes it; null = it is not, as far as is known here. */
  readonly heldSince: string | null;
  /** Takes the lock again where the session was lost. Throws while the database does not answer. */
  assert(): Promise<void>;
  close(): void;
}

/** The key of the lock, as SQL; `holder` is SQL too. */
export function presenceKey(holder: string): string {
  return `hashtextextended('universe.cron-holder ' || ${holder}, 0)`;
}

export function createPresence({ pool }: Pick<Database, 'pool'>, holder: string): Presence {
  let session: PoolClient | null = null;
  let heldSince: string | null = null;
  let isClosed = false;

  function drop(): void {
    session?.release(true);
    session = null;
    heldSince = null;
  }

  async function open(): Promise<PoolClient> {
    const opened = await pool.connect();
    opened.on('error', () => {
      if (session === opened) drop();
    });
    session = opened;
    return opened;
  }

  return {
    holder,
    get heldSince() {
      return heldSince;
    },
    async assert() {
      if (isClosed) return;
      const mine = session ?? (await open());
      try {
        const take = `SELECT clock_timestamp()::text AS at WHERE pg_try_advisory_lock(${presenceKey('$1')})`;
        const { rows } = await mine.query<{ at?: string }>(heldSince === null ? take : 'SELECT $1::text', [holder]);
        if (session === mine) heldSince ??= rows[0]?.at ?? null;
      } catch (error) {
        if (session === mine) drop();
        throw error;
      }
      if (isClosed) drop();
    },
    close() {
      isClosed = true;
      drop();
    },
  };
}
