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
/** A transaction that is not bounded waits for longer. */
const BACK_WITHIN_MS = 12_000;
const LOOK_EVERY_MS = 5;
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
    const { pool } = bed.database;
    await Promise.all(Array.from({ length: IDLE }, () => pool.query('SELECT pg_sleep(0.2)')));
    // One that is being made would carry everything.
    while (pool.idleCount < IDLE || pool.totalCount > pool.idleCount) await delay(LOOK_EVERY_MS);
    way.silence();
    const { rows } = await witness.query<{ until: Date }>(
      `SELECT clock_timestamp() + interval '${DEAD_AFTER_MS} milliseconds' AS until`,
    );
    const isBack = async () => {
      const beat = await witness.query('SELECT FROM brain.brain_processes WHERE seen_at > $1', [rows[0]?.until]);
      return beat.rowCount === 1;
    };
    await expect.poll(isBack, { timeout: BACK_WITHIN_MS }).toBe(true);
    way.drop(); // whatever else waits for an answer has none to wait for
    await delay(LOST_AFTER_MS);
    await bed[Symbol.asyncDispose]();
    await witness.end();
    way.close();
    await server?.stop();
  },
  60_000,
);
