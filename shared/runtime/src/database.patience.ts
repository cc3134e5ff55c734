/** The first meeting with PostgreSQL: waits for a server that is not there yet, and says what is wrong with one that is. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from './database.ts';
import { isDatabaseAway, isOutOfTime, isTurnedAway, layersOf } from './database-errors.ts';
import { addressOf, reasonOf, type StartPatience, StartProblem } from './start-problem.ts';

const POSTGRES_PORT = '5432';
const RETRY_MS = 250;
const TELL_EVERY_MS = 5000;
const LONGEST_PING_MS = 5000;
/** Major version. */
const OLDEST_VERSION = 15;
const ENCODING = 'UTF8';
/** SQLSTATE: what waiting does not mend. */
const REFUSALS: Readonly<Record<string, string>> = {
  '28P01': 'refuses the credential in DATABASE_URL',
  '28000': 'refuses the credential in DATABASE_URL',
  '3D000': 'has no such database (DATABASE_URL)',
  '42501': 'does not let this role do its work (DATABASE_URL)',
  '25006': 'is read-only: DATABASE_URL names a standby',
};

interface Meeting extends StartPatience {
  readonly url: string;
  readonly log: Pick<Logger, 'warn'>;
}

/** Resolves when the database answers, and is one that can keep what it gets. Throws StartProblem. */
export async function meetDatabase(database: Database, { url, log, giveUpAt = Infinity }: Meeting): Promise<void> {
  let toldAt = 0;
  for (;;) {
    try {
      await database.ping(Math.max(RETRY_MS, Math.min(LONGEST_PING_MS, giveUpAt - Date.now())));
      await assertFits(database, url);
      return;
    } catch (error) {
      if (error instanceof StartProblem) throw error;
      const refused = databaseProblemOf(error, url);
      const now = Date.now();
      if (refused !== null && (isTurnedAway(error) || !isDatabaseAway(error))) throw new StartProblem(refused);
      if (now + RETRY_MS >= giveUpAt) throw new StartProblem(unreachable(url, error));
      if (now - toldAt >= TELL_EVERY_MS) {
        log.warn({ err: error }, `PostgreSQL at ${addressOf(url, POSTGRES_PORT)} cannot be reached yet`);
        toldAt = now;
      }
      await delay(RETRY_MS);
    }
  }
}

/** Throws StartProblem: it is too old, or could not keep every text. */
async function assertFits({ pool }: Pick<Database, 'pool'>, url: string): Promise<void> {
  const { rows } = await pool.query<{ version: number; encoding: string }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding`,
  );
  const [{ version, encoding } = { version: OLDEST_VERSION, encoding: ENCODING }] = rows;
  const place = `PostgreSQL at ${addressOf(url, POSTGRES_PORT)}`;
  if (version < OLDEST_VERSION)
    throw new StartProblem(`${place} is version ${version}; it has to be ${OLDEST_VERSION} or newer (DATABASE_URL)`);
  if (encoding !== ENCODING)
    throw new StartProblem(`${place} keeps this database as ${encoding}; it has to be ${ENCODING} (DATABASE_URL)`);
}

/** What the server at `url` refuses, or that it does not answer, as a sentence; null for anything else. */
export function databaseProblemOf(error: unknown, url: string | undefined): string | null {
  if (url === undefined) return null;
  for (const { codes, message } of layersOf(error)) {
    const code = codes.find((one) => one in REFUSALS);
    if (code !== undefined) return `PostgreSQL at ${addressOf(url, POSTGRES_PORT)} ${REFUSALS[code]}: ${message}`;
  }
  return isDatabaseAway(error) || isOutOfTime(error) ? unreachable(url, error) : null;
}

function unreachable(url: string, error: unknown): string {
  const innermost = layersOf(error).at(-1)?.message ?? '';
  const reason = /ECONNREFUSED|ENOTFOUND|ETIMEDOUT/.test(innermost) ? innermost : reasonOf(error);
  return `PostgreSQL at ${addressOf(url, POSTGRES_PORT)} cannot be reached: ${reason} (DATABASE_URL)`;
}
