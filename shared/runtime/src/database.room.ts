/** Whether a PostgreSQL server has room: with a full disk it goes on answering, and refuses what it would have to keep. */
import type { Pool, PoolClient } from 'pg';
import { layersOf } from './database-errors.ts';
import { LATE, within } from './within.ts';

/** SQLSTATE: disk_full. */
const FULL = '53100';
/** Writes some blocks where the tables are, into a file that goes with the statement. It needs no right and keeps nothing. */
const WRITE_SOMETHING = `SET LOCAL work_mem = '64kB'; SELECT FROM generate_series(1, 10000) OFFSET 10000`;

export interface Room {
  /** Hears what is answered on the connection. */
  watch(client: PoolClient): void;
  /** False from the first statement that found no room until there is some again, which is tried when this is asked. */
  isThere(withinMs: number): Promise<boolean>;
}

export function createRoom(pool: Pool): Room {
  let isFull = false;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    try {
      await pool.query(WRITE_SOMETHING);
    } catch (error) {
      if (layersOf(error).some(({ codes }) => codes.includes(FULL))) return;
      // It says nothing of room, as where such files are forbidden: the next statement that finds none is heard.
    }
    isFull = false;
  }

  return {
    watch(client) {
      connectionOf(client).on('errorMessage', ({ code }) => {
        if (code === FULL) isFull = true;
      });
    },
    async isThere(withinMs) {
      if (!isFull) return true;
      looking ??= look().finally(() => {
        looking = null;
      });
      return (await within(withinMs, looking)) !== LATE && !isFull;
    },
  };
}

interface Answers {
  on(event: 'errorMessage', listener: (message: { readonly code?: string }) => void): unknown;
}

function connectionOf(client: PoolClient): Answers {
  return (client as unknown as { connection: Answers }).connection;
}
