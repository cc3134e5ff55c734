/** The logins of the services on real servers: with the secrets as they are made everything works, and nobody gets further. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startOwnPostgres } from '@svc/testing/servers/postgres.ts';
import { findExecutable, temporaryFolder, type TestServer } from '@svc/testing/servers/processes.ts';
import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { ROLES, SERVICE_NAMES } from './services.ts';
import { folder, type Started, start } from './testing/started-process.ts';

const READY_WITHIN_MS = 120_000;

const secrets = temporaryFolder('svc-logins');
const makeSecrets = (...args: readonly string[]) =>
  execFileSync(process.execPath, [join(import.meta.dirname, 'make-secrets.ts'), ...args, secrets], { stdio: 'pipe' });
const secret = (name: string) => readFileSync(join(secrets, name), 'utf8').trim();
makeSecrets();

const rules = readFileSync(join(import.meta.dirname, 'nats', 'nats.conf'), 'utf8');
const [nats, redis, postgres] = await Promise.all([
  startNats({ config: `${secret('nats_passwords')}\n${rules.slice(rules.indexOf('MAY_GATEWAY'))}` }),
  startOwnRedis(),
  startOwnPostgres(),
]);
const psql = findExecutable('psql');
afterAll(async () => {
  await Promise.all([nats, redis, postgres].map(async (server) => server?.stop()));
  rmSync(secrets, { recursive: true });
});

/** The address of a secret, at the server of this test. */
function at(server: TestServer | null, name: string): string {
  return String(Object.assign(new URL(secret(name)), { host: new URL(server?.url ?? '').host }));
}

/** As the container of the database runs it. */
function makeLogins(): void {
  const { hostname, port, username, pathname } = new URL(postgres?.url ?? '');
  execFileSync(join(import.meta.dirname, 'postgres', 'logins.sh'), {
    env: {
      PATH: process.env['PATH'],
      PGHOST: hostname,
      PGPORT: port,
      POSTGRES_USER: username,
      POSTGRES_DB: pathname.slice(1),
      DATABASE_LOGINS: join(secrets, 'database_logins'),
    },
    stdio: 'pipe',
  });
}

async function asAdmin<Value>(use: (client: Redis) => Promise<Value>): Promise<Value> {
  const client = new Redis(redis?.url ?? '');
  try {
    return await use(client);
  } finally {
    await client.quit();
  }
}

/** What the file says of everybody but those who have no password: the test itself is one of them. */
function setRedisUsers(): Promise<void> {
  return asAdmin(async (client) => {
    for (const line of secret('redis_users').split('\n').slice(1)) {
      const [, user = '', ...rights] = line.split(' ');
      await client.acl('SETUSER', user, 'reset', ...rights);
    }
    await client.acl('LOG', 'RESET');
  });
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const database = await openPostgresDatabase({ url, log: { warn() {}, fatal() {} }, poolSize: 1 });
  try {
    return (await database.pool.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await database.close();
  }
}

const addressesOf = (role: string): Record<string, string> => ({
  NATS_URL: at(nats, `nats_url_${role}`),
  REDIS_URL: at(redis, `redis_url_${role}`),
  ...(role === 'gateway' ? {} : { DATABASE_URL: at(postgres, `database_url_${role}`) }),
});

/** One role has its addresses in variables, several have theirs in a directory. */
function environmentOf(...roles: readonly string[]): Record<string, string> {
  const [role = '', ...others] = roles;
  if (others.length === 0) return { ...addressesOf(role), ...COMMON };
  const logins = folder();
  for (const one of roles) {
    for (const [name, url] of Object.entries(addressesOf(one)))
      writeFileSync(join(logins, `${name.toLowerCase()}_${one}`), `${url}\n`);
  }
  return { SVC_LOGINS_DIR: logins, ...COMMON };
}

const COMMON: Record<string, string> = {
  SVC_API_KEY: secret('api_key'),
  SVC_AUDIT_KEY: secret('audit_key'),
  SVC_BIND: '127.0.0.1',
  SVC_DRAIN_WAIT_MS: '0',
  SVC_LOG_LEVEL: 'warn',
  SVC_START_WAIT_MS: '20000',
};
/** The last is the gateway. */
const TOGETHER = [ROLES.filter((role) => role !== 'gateway' && role !== 'brain'), ['brain'], ['gateway']];

async function untilReady(url: string, { ended, said }: Started): Promise<void> {
  const giveUpAt = Date.now() + READY_WITHIN_MS;
  for (;;) {
    const isReady = await fetch(`${url}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    const end = await Promise.race([ended, new Promise<null>((resolve) => setTimeout(resolve, 200, null))]);
    if (end !== null || Date.now() > giveUpAt) throw new Error(`not ready:\n${said()}`);
  }
}

describe.skipIf(nats === null || redis === null || postgres === null || psql === null)('logins of the services', () => {
  test('a database of the time when all services had one login is taken over', async () => {
    const early = start(['node.ts', 'escrow'], {
      ...environmentOf('escrow'),
      DATABASE_URL: postgres?.url ?? '',
      NATS_URL: at(nats, 'nats_url_escrow'),
      REDIS_URL: redis?.url ?? '',
      SVC_DATA_DIR: folder(),
    });
    const giveUpAt = Date.now() + READY_WITHIN_MS;
    while (!early.said().includes('escrow is running') && Date.now() < giveUpAt)
      await new Promise((r) => setTimeout(r, 100));
    early.kill('SIGTERM');
    expect(await early.ended).toMatchObject({ code: 0 });
    await setRedisUsers();
    makeLogins();
    makeLogins();
    const owners = await query(
      postgres?.url ?? '',
      `SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'escrow'`,
    );
    expect(owners).toEqual([{ tableowner: 'escrow' }]);
  }, 120_000);

  test('every role does its work with them, and Redis refuses it nothing', async () => {
    const dataDir = folder();
    const processes = await Promise.all(
      TOGETHER.map(async (roles) => {
        const [health, port] = [await freePort(), await freePort()];
        const process = start(['node.ts', ...roles], {
          ...environmentOf(...roles),
          SVC_DATA_DIR: dataDir,
          SVC_HEALTH_PORT: String(health),
          SVC_MCP_PORT: String(port),
        });
        return { health: `http://127.0.0.1:${health}`, door: `http://127.0.0.1:${port}`, process };
      }),
    );
    for (const { health, process } of processes) await untilReady(health, process);
    const door = processes.at(-1)?.door ?? '';
    const call = async (name: string, args: object): Promise<unknown> => {
      const reply = await fetch(`${door}/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': secret('api_key') },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
      });
      return ((await reply.json()) as { result?: unknown }).result;
    };
    expect(await call('svc_set_memory', { category: 'c', filename: 'f', content: 'x' })).toBeDefined();
    expect(await call('escrow_create', { org: 'acme' })).toBeDefined();
    expect(await call('qos_canProceed', { key: 'k', limit: 60 })).toBeDefined();
    expect(await call('svc_habitat_createWorkspace', { workspaceId: 'acme' })).toBeDefined();
    expect(await asAdmin((client) => client.acl('LOG'))).toEqual([]);
    const logins = await query(
      postgres?.url ?? '',
      `SELECT DISTINCT usename AS login, split_part(application_name, '/', 1) AS role FROM pg_stat_activity
        WHERE application_name LIKE 'svc-%' ORDER BY 1`,
    );
    expect(logins).toEqual(SERVICE_NAMES.toSorted().map((name) => ({ login: `${name}_a`, role: `svc-${name}` })));
    for (const { process } of processes) process.kill('SIGTERM');
    for (const { process } of processes) expect(await process.ended, process.said()).toMatchObject({ code: 0 });
  }, 180_000);

  test('a service reads and changes no schema but its own, and makes none', async () => {
    const brain = at(postgres, 'database_url_brain');
    expect(await query(brain, 'SELECT count(*)::int AS n FROM brain._prisma_migrations')).toMatchObject([
      { n: expect.any(Number) },
    ]);
    for (const sql of [
      'SELECT * FROM habitat.tokens',
      'DELETE FROM escrow.entries',
      'CREATE TABLE habitat.mine (id int)',
      'CREATE SCHEMA mine',
      'CREATE TABLE public.mine (id int)',
      'CREATE TEMP TABLE mine (id int)',
      'SET ROLE habitat',
      'CREATE ROLE mine',
    ]) {
      await expect(query(brain, sql), sql).rejects.toThrow(/permission denied|must be/);
    }
  });

  test('a service touches no key of another in Redis, and nothing of the server', async () => {
    const brain = new Redis(at(redis, 'redis_url_brain'), { enableReadyCheck: false });
    for (const command of [
      ['get', 'svc:rate:pro:x'],
      ['del', '{svc-jobs}:escrow.jobs:meta'],
      ['publish', 'svc:any', 'x'],
      ['config', 'get', '*'],
      ['flushall'],
      ['keys', '*'],
    ]) {
      await expect(brain.call(command[0] ?? '', ...command.slice(1)), command.join(' ')).rejects.toThrow('NOPERM');
    }
    await brain.quit();
  });

  test('a gateway counts calls and keeps the sessions of agents in Redis', async () => {
    const gateway = new Redis(at(redis, 'redis_url_gateway'), { enableReadyCheck: false });
    for (const key of ['svc:rate:pro:x', 'svc:failed:x', 'svc:mcp:x']) {
      expect(await gateway.set(key, '1', 'PX', 1000)).toBe('OK');
    }
    await gateway.quit();
  });

  test('a renewed login works beside the one before, which is locked out when it is retired', async () => {
    const before = at(postgres, 'database_url_escrow');
    makeSecrets('--renew', 'database_url_escrow');
    makeLogins();
    const after = at(postgres, 'database_url_escrow');
    const sql =
      'CREATE TABLE IF NOT EXISTS escrow.made (id int); ALTER TABLE escrow.made ADD COLUMN IF NOT EXISTS n int';
    for (const url of [before, after, before]) await query(url, sql);
    makeSecrets('--retire', 'database_url_escrow');
    makeLogins();
    await query(after, sql);
    await expect(query(before, sql)).rejects.toThrow('not permitted to log in');
    await query(after, 'DROP TABLE escrow.made');
  });
});
