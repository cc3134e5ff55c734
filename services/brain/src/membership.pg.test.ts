/** A process whose connections to the database fall silent, as behind a server that has moved, goes on being counted on. */
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { silenceable } from '@svc/testing/servers/silenceable.ts';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { openBrainTestBed } from '../testing/brain-test-bed.ts';
import { DEAD_AFTER_MS } from './store/ownership.ts';

const POOL_SIZE = 20;
/** Connections that wait for work. */
const IDLE = 5;
/** One after the other the connections that are idle are found to be silent; a statement may be for 40 s. */
const BACK_WITHIN_MS = 30_000;
/** The pool has heard by then that its connections are closed. */
const LOST_AFTER_MS = 1000;
const log = { warn() {}, fatal() {} };
const server = await lendPostgres();

it.skipIf(server === null)(
  'a heartbeat is not held up by a connection that carries nothing any more',
  async () => {
    const way = await silenceable(server?.url ?? '');
    const bed = await openBrainTestBed(() => openPostgresDatabase({ url: way.url, log, poolSize: POOL_SIZE }));
    await bed.start();
    const witness = new Client({ connectionString: server?.url });
    await witness.connect();
    const isDead = async () => {
      const { rows } = await witness.query<{ dead: boolean }>(
        `SELECT max(seen_at) < clock_timestamp() - interval '${DEAD_AFTER_MS} milliseconds' AS dead FROM brain.brain_processes`,
      );
      return rows[0]?.dead;
    };
    const { pool } = bed.database;
    await Promise.all(Array.from({ length: IDLE }, () => pool.query('SELECT pg_sleep(0.2)')));
    expect(pool.idleCount).toBeGreaterThanOrEqual(IDLE);
    way.silence();
    await expect.poll(isDead, { timeout: BACK_WITHIN_MS }).toBe(true);
    await expect.poll(isDead, { timeout: BACK_WITHIN_MS }).toBe(false);
    way.drop(); // whatever else waits for an answer has none to wait for
    await delay(LOST_AFTER_MS);
    await bed[Symbol.asyncDispose]();
    await witness.end();
    way.close();
    await server?.stop();
  },
  60_000,
);
