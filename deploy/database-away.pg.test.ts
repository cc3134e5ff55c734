/** A database that lets nobody in fills no log, however often it is asked meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { startOwnPostgres } from '@svc/testing/servers/postgres.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { expect, test, vi } from 'vitest';
import { SERVICES } from './services.ts';

const server = await startOwnPostgres();
const REFUSED_MS = 6000;
/** For a machine that has other things to do. */
const WITHIN = { timeout: 60_000, interval: 50 };

interface Line {
  readonly service?: string;
  readonly msg: string;
  readonly job?: string;
  readonly what?: string;
  readonly err?: { readonly message: string };
}

test.skipIf(server === null)(
  'services whose database refuses them tell of each trouble once',
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'database-away-'));
    const lines: string[] = [];
    const write = (text: string): void => {
      const { service, msg, job, what, err } = JSON.parse(text) as Line;
      lines.push(JSON.stringify([service, msg, job, what, err?.message]));
    };
    const log = createLog('warn', {}, { write });
    const url = new URL(server?.url ?? '');
    const beside = await openPostgresDatabase({ url: url.href, log, poolSize: 1 });
    await beside.pool.query(
      `CREATE ROLE retired LOGIN; GRANT CREATE ON DATABASE "${url.pathname.slice(1)}" TO retired`,
    );
    url.username = 'retired';
    const database = await openPostgresDatabase({ url: url.href, log, poolSize: 20 });
    const platform = platformOn(database, { jobs: createLocalJobs({ log }) }, { SVC_DATA_DIR: dataDir });
    const running = [];
    for (const service of SERVICES) {
      running.push(await service.start({ ...platform, log: createLog('warn', { service: service.name }, { write }) }));
    }
    lines.length = 0;
    await beside.pool.query('ALTER ROLE retired NOLOGIN');
    await beside.pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'retired'");
    await delay(REFUSED_MS);
    const refused = () => lines.filter((line) => line.includes('is not permitted to log in'));
    for (const trouble of ['no heartbeat', 'the event log waits'])
      await vi.waitFor(
        () =>
          expect(
            refused().some((line) => line.includes(trouble)),
            trouble,
          ).toBe(true),
        WITHIN,
      );
    const told = refused();
    await beside.pool.query('ALTER ROLE retired LOGIN');
    expect(told.filter((line, index) => told.indexOf(line) !== index)).toEqual([]);
    for (const service of running.toReversed()) await service.stop();
    await platform.jobs.close();
    await platform.bus.close();
    await Promise.all([database.close(), beside.close()]);
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  },
  120_000,
);
