/**
 * How other processes learn that this one is gone: it holds a lock in a session of its own, which the server of the database
 * lets go of as soon as the connection ends. A process that only stands still keeps it.
 */
import type { Database } from '@svc/runtime/database.ts';
import type { PoolClient } from 'pg';

export interface Presence {
  /** Under which others find the lock. */
  readonly holder: string;
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
  let isHeld = false;
  let isClosed = false;

  function drop(): void {
    session?.release(true);
    session = null;
    isHeld = false;
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
    async assert() {
      if (isClosed) return;
      const mine = session ?? (await open());
      try {
        const sql = isHeld ? 'SELECT $1::text' : `SELECT pg_try_advisory_lock(${presenceKey('$1')}) AS held`;
        const { rows } = await mine.query<{ held?: boolean }>(sql, [holder]);
        isHeld ||= rows[0]?.held === true;
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
