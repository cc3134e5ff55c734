/** Servers that are there and say no, and one that goes away while everything runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { startOwnPostgres } from '@svc/testing/servers/postgres.ts';
import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folder, type Started, sentenceOf, start } from './testing/started-process.ts';

const RIGHT = 'the-right-password';
const WRONG = 'a-wrong-password';

const [nats, redis, postgres] = await Promise.all([
  startNats({ config: `authorization { user: "escrow", password: "${RIGHT}" }` }),
  startOwnRedis(),
  startOwnPostgres(),
]);
afterAll(() => Promise.all([nats, redis, postgres].map(async (server) => server?.stop())));

function withLogin(url: string, user: string, password: string): string {
  return String(Object.assign(new URL(url), { username: user, password }));
}

describe.skipIf(nats === null || redis === null || postgres === null)('a process of a cluster', () => {
  const servers = {
    NATS_URL: withLogin(nats?.url ?? '', 'escrow', RIGHT),
    REDIS_URL: withLogin(redis?.url ?? '', 'escrow', RIGHT),
    DATABASE_URL: withLogin(postgres?.url ?? '', 'locked', RIGHT),
  };
  const escrow = (environment: Readonly<Record<string, string>> = {}): Started =>
    start(['node.ts', 'escrow'], { SVC_DATA_DIR: folder(), SVC_START_WAIT_MS: '60000', ...servers, ...environment });

  beforeAll(async () => {
    const client = new Redis(redis?.url ?? '');
    await client.acl('SETUSER', 'escrow', 'on', `>${RIGHT}`, '~*', '&*', '+@all');
    await client.quit();
    await query(`CREATE ROLE locked LOGIN SUPERUSER PASSWORD '${RIGHT}'`);
    const [{ hba_file: rules } = {}] = await query('SHOW hba_file');
    const lines = ['host all locked all scram-sha-256', 'host all all all trust'];
    const rows = lines.map((line) => `('${line}')`).join(',');
    await query(`COPY (SELECT * FROM (VALUES ${rows}) AS line) TO '${String(rules)}'`);
    await query('SELECT pg_reload_conf()');
    // the postmaster reads its rules a moment later
    while (!(await asLocked(WRONG)).includes('password authentication failed')) await sleep(50);
  });

  async function queryAs(url: string, sql: string): Promise<Record<string, unknown>[]> {
    const database = await openPostgresDatabase({ url, log: { warn() {}, fatal() {} }, poolSize: 1 });
    try {
      return (await database.pool.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await database.close();
    }
  }

  const query = (sql: string) => queryAs(postgres?.url ?? '', sql);
  const asLocked = (password: string) =>
    queryAs(withLogin(postgres?.url ?? '', 'locked', password), 'SELECT 1').then(() => 'let in', String);

  test.each([
    ['NATS_URL', 'NATS'],
    ['REDIS_URL', 'Redis'],
    ['DATABASE_URL', 'PostgreSQL'],
  ] as const)('a wrong password in %s is said at once with the address, and never the password', async (name, what) => {
    const url = new URL(servers[name]);
    const said = await sentenceOf(
      escrow({ [name]: withLogin(url.href, url.username, WRONG), SVC_LOG_LEVEL: 'silent' }),
    );
    expect(said).toMatch(`${what} at ${url.host} refuses the credential in ${name}`);
    expect(said).not.toContain(WRONG);
  });

  test('a Redis that dies is a line in the log, and so is its return; every connection is named', async () => {
    // its users go with it
    const process = escrow({ SVC_LOG_LEVEL: 'info', REDIS_URL: redis?.url ?? '' });
    await expect.poll(process.said).toContain('escrow is running');
    expect(
      await query(`SELECT DISTINCT application_name AS name FROM pg_stat_activity WHERE usename = 'locked'`),
    ).toEqual([{ name: expect.stringMatching(/^svc-escrow\/.+@$/) as string }]);
    const before = process.said().length;
    await redis?.control?.kill();
    await sleep(8000);
    await redis?.control?.start();
    await expect.poll(process.said).toContain('connected to Redis again');
    const lines = process.said().slice(before).trim().split('\n');
    expect(lines, lines.join('\n')).toHaveLength(2);
    expect(lines[0]).toContain('Redis at');
    process.kill('SIGTERM');
    expect(await process.ended).toMatchObject({ code: 0 });
  });

  test('one that would not know what those beside it do is refused, and leaves nothing', async () => {
    await query('CREATE DATABASE another');
    const beside = { REDIS_URL: redis?.url ?? '', SVC_NODE_ID: 'first' };
    const first = escrow({ ...beside, SVC_NODE_NAME: 'alpha' });
    await expect.poll(first.said).toContain('escrow is running');
    const another = String(Object.assign(new URL(servers.DATABASE_URL), { pathname: '/another' }));
    const quiet = { ...beside, SVC_LOG_LEVEL: 'silent' };
    expect(await sentenceOf(escrow({ ...quiet, SVC_NODE_NAME: 'alpha', DATABASE_URL: another }))).toMatch(
      /^DATABASE_URL: this is not the database in which first keeps what escrow knows/,
    );
    expect(await queryAs(another, `SELECT FROM information_schema.schemata WHERE schema_name = 'escrow'`)).toEqual([]);
    for (const name of [{}, { SVC_NODE_NAME: 'beta' }]) {
      expect(await sentenceOf(escrow({ ...quiet, ...name }))).toMatch(
        /^SVC_NODE_NAME: first, running escrow on this database, speaks under another name than (none|beta)/,
      );
    }
    first.kill('SIGTERM');
    expect(await first.ended).toMatchObject({ code: 0 });
  });

  test('a schema that another version of the software made is named', async () => {
    await query(`UPDATE escrow._prisma_migrations SET migration_name = '29990101000000_later', logs = NULL
      WHERE migration_name = (SELECT max(migration_name) FROM escrow._prisma_migrations)`);
    const said = await sentenceOf(escrow({ SVC_LOG_LEVEL: 'silent', REDIS_URL: redis?.url ?? '' }));
    expect(said).toMatch(/^migration 29990101000000_later of schema escrow is in the database but not in this version/);
  });
});
