/** Runs in the hands of a process that is killed: another one goes on with the job within seconds, and with no tick twice. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@svc/runtime/database.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CronBed, openCronBed } from '../../testing/cron-bed.ts';
import { FORSAKEN_AFTER_MS } from './domain/run.ts';

const FIXTURE = join(import.meta.dirname, '..', '..', 'testing', 'cron.fixture.ts');
const log = { warn() {}, fatal() {} };
const server = await lendPostgres();
const children: ChildProcess[] = [];
const keys: string[] = [];
let database: Database;
let bed: CronBed;

if (server === null) test.skip('no PostgreSQL here');
else {
  const { url } = server;
  beforeAll(async () => {
    database = await openPostgresDatabase({ url, log, poolSize: 8 });
    bed = await openCronBed(database, 'survivor', async ({ key }) => {
      keys.push(String(key));
      return { ok: true, result: null, kept: null, bytes: 4 };
    });
  });
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await bed.close();
    await database.close();
    await server.stop();
  });

  /** Resolves with the key of the tick that it has in hand. */
  async function takeTick(instance: string): Promise<{ child: ChildProcess; key: string }> {
    const child = spawn(process.execPath, [FIXTURE, url, instance], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, key: said.toString().trim() };
  }

  const statuses = async (id: string) => (await bed.history(id)).map(({ status }) => status);
  const isHeld = async (instance: string) => {
    const sql = `SELECT pg_try_advisory_xact_lock(hashtextextended('universe.cron-holder ' || $1, 0)) AS free`;
    return (await database.pool.query<{ free: boolean }>(sql, [instance])).rows[0]?.free === false;
  };

  test('a killed one is gone at once, one that stands still keeps its run', async () => {
    await bed.schedule('pay');
    const { child, key } = await takeTick('victim');
    await expect.poll(() => isHeld('victim')).toBe(true);
    child.kill('SIGSTOP');
    await bed.start();
    const skipped = async () => (await statuses('pay')).filter((status) => status === 'skipped').length;
    await expect.poll(skipped).toBeGreaterThan(FORSAKEN_AFTER_MS / 1000 + 2);
    expect(keys).toEqual([]);
    expect(await statuses('pay')).toContain('running');
    child.kill('SIGKILL');
    const killedAt = performance.now();
    await expect.poll(() => keys.length).toBeGreaterThan(1);
    expect(performance.now() - killedAt).toBeLessThan(15_000);
    expect(await statuses('pay')).toContain('lost');
    expect(new Set([...keys, key]).size).toBe(keys.length + 1);
    const ticks = (await bed.history('pay')).map(({ tick }) => tick);
    expect(new Set(ticks).size).toBe(ticks.length);
  });

  /** Nobody reaches the database for so long; its server is not started again, as a copy that takes over is not. */
  async function cutOff(ms: number): Promise<void> {
    const name = new URL(url).pathname.slice(1);
    const admin = new Client({ connectionString: Object.assign(new URL(url), { pathname: '/postgres' }).href });
    await admin.connect();
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    await delay(ms);
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await admin.end();
  }

  test('one that comes back a moment after the others keeps its run when the connections of all were cut', async () => {
    const before = keys.length;
    await bed.schedule('send');
    await expect.poll(() => keys.length).toBeGreaterThan(before);
    const { child } = await takeTick('late');
    await expect.poll(() => isHeld('late')).toBe(true);
    const run = await database.pool.query<{ id: string }>(
      `SELECT run_id AS id FROM universe.cron_runs WHERE holder = 'late' AND status = 'running'`,
    );
    child.kill('SIGSTOP');
    await cutOff(FORSAKEN_AFTER_MS + 500);
    await expect.poll(() => isHeld('survivor').catch(() => false)).toBe(true);
    await delay(1200);
    child.kill('SIGCONT');
    await expect.poll(() => isHeld('late')).toBe(true);
    const now = await database.pool.query('SELECT status FROM universe.cron_runs WHERE run_id = $1', [run.rows[0]?.id]);
    expect(now.rows).toEqual([{ status: 'running' }]);
  });
}
