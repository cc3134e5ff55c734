/** A start that must fail: why, in one sentence; at once, whatever asks meanwhile; nothing is left. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mountReadOnlyDisk } from '@svc/testing/read-only-disk.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { findNode } from './node-address.ts';
import { folder, sentenceOf, start } from './testing/started-process.ts';

const KEY = 'operator-key-0123456789';
/** A start takes a second or two, and a minute on a slow machine with much else to do. */
const STARTING = { timeout: 150_000 };

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

/** Asks /ready on kept connections until the test is over, as a probe does. */
function poll(port: number): void {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const ask = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await fetch(`http://127.0.0.1:${port}/ready`, { signal: stop.signal }).then(
        (reply) => reply.text(),
        () => undefined,
      );
      await sleep(20);
    }
  };
  void Promise.all([ask(), ask()]);
}

async function listening(): Promise<{ port: number; server: Server }> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

describe('one process', () => {
  const node = (environment: Readonly<Record<string, string>>) =>
    start(['embedded.ts'], { SVC_BIND: '127.0.0.1', SVC_MCP_PORT: '0', SVC_LOG_LEVEL: 'silent', ...environment });

  test('a process that is killed leaves its compiled code to the next one', async () => {
    const [cache, port] = [folder(), await freePort()];
    const started = node({ SVC_DATA_DIR: folder(), SVC_MCP_PORT: String(port), NODE_COMPILE_CACHE: cache });
    await expect.poll(() => started.said(), STARTING).toContain('listening on');
    await expect.poll(() => readdirSync(cache, { recursive: true }).length).toBeGreaterThan(500);
    started.kill('SIGKILL');
  });

  test.skipIf(!hasIpv6)(
    'one on an IPv6 address says where it can be called, and tells so in its directory',
    async () => {
      const dataDir = folder();
      const started = node({ SVC_BIND: '::1', SVC_DATA_DIR: dataDir });
      await expect.poll(() => started.said(), STARTING).toContain('listening on');
      const [, url = ''] = /listening on (\S+)/.exec(started.said()) ?? [];
      await expect.poll(async () => (await fetch(`${url}/ready`)).status, STARTING).toBe(200);
      await expect.poll(() => findNode(dataDir)).toMatchObject({ url });
    },
  );

  test('a process that is told to end while it starts ends at once, in order, and says nothing else', async () => {
    const dataDir = folder();
    const reached = [join(dataDir, 'service.lock'), join(dataDir, 'database', 'run', '.s.PGSQL.5432')];
    for (const [mark, afterMs] of reached.flatMap((path) => [0, 200].map((ms) => [path, ms] as const))) {
      const started = node({ SVC_DATA_DIR: dataDir, SVC_LOG_LEVEL: 'warn' });
      while (!existsSync(mark)) await sleep(5);
      await sleep(afterMs);
      started.kill('SIGTERM');
      const { code, stderr } = await started.ended;
      expect([code, stderr], `${afterMs} ms after ${mark}: ${started.said()}`).toEqual([0, '']);
      expect(started.said().replace(/^[^{]*listening on[^{]*$/m, '')).not.toContain('"level"');
    }
  }, 180_000);

  test('a second one on a data directory names the first, whatever asks it meanwhile, and leaves no trace', async () => {
    const dataDir = folder();
    const [first, second] = [await freePort(), await freePort()];
    const holder = node({ SVC_DATA_DIR: dataDir, SVC_MCP_PORT: String(first) });
    while (!existsSync(join(dataDir, 'service.lock'))) await sleep(20);
    poll(second);
    const said = await sentenceOf(node({ SVC_DATA_DIR: dataDir, SVC_MCP_PORT: String(second) }));
    expect(said).toContain(`${join(dataDir, 'service.lock')} is held by process ${holder.pid}`);
    expect(readFileSync(join(dataDir, 'service.lock'), 'utf8')).toMatch(new RegExp(`^${holder.pid} `));
    expect(readdirSync(dataDir).filter((name) => name.startsWith('service.lock'))).toEqual(['service.lock']);
  });

  test('Ctrl-C, which a terminal and every launcher hand on, is one wish to end: orderly, also in the middle of a start', async () => {
    const dataDir = folder();
    const running = node({ SVC_DATA_DIR: dataDir, SVC_LOG_LEVEL: 'info' });
    await expect.poll(() => running.said(), STARTING).toContain('listening on');
    for (let press = 0; press < 3; press += 1) running.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('shutting down') });
    expect(existsSync(join(dataDir, 'service.lock'))).toBe(false);

    const starting = node({ SVC_DATA_DIR: folder(), SVC_LOG_LEVEL: 'info' });
    await expect.poll(() => starting.said(), STARTING).toContain('migrations applied');
    starting.kill('SIGINT');
    const { code, stderr } = await starting.ended;
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining('    at ') });
  });

  test('the log is JSON where nobody reads it, and text when it is asked for', async () => {
    const lineOf = async (format: string): Promise<string> => {
      const started = node({
        SVC_DATA_DIR: folder(),
        SVC_LOG_LEVEL: 'info',
        SVC_LOG_FORMAT: format,
        SVC_BRIAN: 'typo',
      });
      await expect.poll(() => started.said(), STARTING).toContain('SVC_BRIAN');
      started.kill('SIGKILL');
      return started.said().split('\n')[0] ?? '';
    };
    expect(JSON.parse(await lineOf('auto'))).toMatchObject({
      level: 40,
      msg: expect.stringContaining('nearest: SVC_BRAIN'),
    });
    expect(await lineOf('text')).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: SVC_BRIAN is not a known variable/);
  });

  test('a port in use is named, and the new data directory is as before', async () => {
    const dataDir = join(folder(), 'data');
    const { port } = await listening();
    const said = await sentenceOf(node({ SVC_DATA_DIR: dataDir, SVC_MCP_PORT: String(port) }));
    expect(said).toBe(`SVC_MCP_PORT: port ${port} of 127.0.0.1 is in use by another process`);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('a data directory that cannot be one is named', async () => {
    const dataDir = join(folder(), 'file');
    writeFileSync(dataDir, 'a file');
    expect(await sentenceOf(node({ SVC_DATA_DIR: join(dataDir, 'data') }))).toMatch(
      /^SVC_DATA_DIR: \S+ cannot be used/,
    );
    expect(await sentenceOf(node({ SVC_DATA_DIR: dataDir }))).toMatch(/^SVC_DATA_DIR: \S+ cannot be used/);
  });

  test('a read-only disk is named, by the start and by the doctor', async ({ skip }) => {
    using disk = mountReadOnlyDisk();
    if (disk === null) {
      skip();
      return;
    }
    for (const dataDir of [disk.path, join(disk.path, 'new', 'data')]) {
      const said = await sentenceOf(node({ SVC_DATA_DIR: dataDir }));
      expect(said).toBe(`SVC_DATA_DIR: ${dataDir} cannot be used: read-only`);
      const doctor = start(['svc.ts', 'doctor'], { SVC_DATA_DIR: dataDir });
      await doctor.ended;
      expect(doctor.said()).toContain(`"state":"fail","found":"${disk.path} is on a read-only disk"`);
    }
  });

  test('what only a cluster uses is said to be left aside', async () => {
    const started = node({
      SVC_DATA_DIR: folder(),
      DATABASE_URL: 'postgres://127.0.0.1:9/svc',
      REDIS_URL: 'redis://127.0.0.1:9',
    });
    await expect.poll(() => started.said(), STARTING).toContain('listening on');
    expect(started.said()).toContain('off: REDIS_URL, DATABASE_URL');
    started.kill('SIGKILL');
  });

  test('a start that fails while a probe holds a connection ends at once', async () => {
    const dataDir = folder();
    mkdirSync(join(dataDir, 'database'));
    writeFileSync(join(dataDir, 'database', 'pg'), 'no directory');
    const port = await freePort();
    poll(port);
    const said = await sentenceOf(node({ SVC_DATA_DIR: dataDir, SVC_MCP_PORT: String(port) }));
    expect(said).toContain(join(dataDir, 'database'));
    expect(readdirSync(dataDir)).toEqual(['database']);
  });

  test.each([
    [{ SVC_BRAIN: '../evil' }, 'SVC_BRAIN'],
    [{ SVC_MCP_PORT: 'http' }, 'SVC_MCP_PORT'],
    [{ SVC_API_KEY: 'short' }, 'SVC_API_KEY'],
    [{ SVC_BIND: '0.0.0.0' }, 'SVC_API_KEY'],
    [{ SVC_SYNC_CA_FILE: '/absent/authorities.pem' }, 'SVC_SYNC_CA_FILE: /absent/authorities.pem cannot be read'],
    [{ SVC_SYNC_CA_FILE: import.meta.filename }, 'holds no certificate in PEM form'],
  ])('%o is refused by the name of the setting', async (environment, name) => {
    const dataDir = join(folder(), 'data');
    expect(await sentenceOf(node({ SVC_DATA_DIR: dataDir, ...environment }))).toContain(name);
    expect(existsSync(dataDir)).toBe(false);
  });
});

const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()]);
afterAll(() => Promise.all([nats, redis, postgres].map(async (server) => server?.stop())));

describe.skipIf(nats === null || redis === null || postgres === null)('a process of a cluster', () => {
  const servers = { NATS_URL: nats?.url ?? '', REDIS_URL: redis?.url ?? '', DATABASE_URL: postgres?.url ?? '' };
  const run = (role: string, environment: Readonly<Record<string, string>>) => {
    const common = { SVC_DATA_DIR: folder(), SVC_MCP_PORT: '0', SVC_LOG_LEVEL: 'silent', ...servers };
    return start(['node.ts', role], { ...common, ...environment });
  };
  const nobody = async () => `127.0.0.1:${await freePort()}`;

  test('a gateway without a key says so, and starts with SVC_KEYLESS', async () => {
    expect(await sentenceOf(run('gateway', {}))).toMatch(/^SVC_API_KEY is needed .*SVC_KEYLESS=1/);
    const keyless = run('gateway', { SVC_KEYLESS: '1' });
    const first = await Promise.race([keyless.ended, sleep(3000, 'runs')]);
    expect(first).toBe('runs');
    keyless.kill('SIGKILL');
  });

  test('settings that are missing are named all at once', async () => {
    expect(await sentenceOf(run('brain', { NATS_URL: '', DATABASE_URL: '' }))).toBe(
      'NATS_URL, DATABASE_URL: needed to run a service of the cluster',
    );
  });

  test('a role that there is none of, one that is named twice, and logins that are missing are said', async () => {
    for (const roles of [[], ['brian'], ['escrow', 'escrow'], ['escrow', 'brian']]) {
      expect(await sentenceOf(start(['node.ts', ...roles], { ...servers, SVC_LOG_LEVEL: 'silent' }))).toMatch(
        /^usage: node deploy\/node\.ts gateway\|/,
      );
    }
    const logins = folder();
    expect(await sentenceOf(run('escrow', { SVC_LOGINS_DIR: logins }))).toBe(
      `SVC_LOGINS_DIR: ${logins}/nats_url_escrow is no NATS_URL of escrow`,
    );
  });

  test('a server that is not there is named with its address', async () => {
    const address = await nobody();
    const said = (setting: string, url: string) => sentenceOf(run('escrow', { [setting]: url }));
    expect(await said('NATS_URL', `nats://${address}`)).toMatch(`NATS at ${address} cannot be reached`);
    expect(await said('REDIS_URL', `redis://${address}`)).toMatch(`Redis at ${address} cannot be reached`);
    expect(await said('DATABASE_URL', `postgres://svc:s3cret@${address}/svc`)).toMatch(
      `PostgreSQL at ${address} cannot be reached`,
    );
  });

  test('a server that says nothing is given up', async () => {
    const { port } = await listening();
    const said = (setting: string, url: string) => sentenceOf(run('escrow', { [setting]: url }));
    expect(await said('NATS_URL', `nats://127.0.0.1:${port}`)).toMatch(`NATS at 127.0.0.1:${port} cannot be reached`);
    expect(await said('REDIS_URL', `redis://127.0.0.1:${port}`)).toMatch(
      `Redis at 127.0.0.1:${port} cannot be reached`,
    );
    expect(await said('DATABASE_URL', `postgres://127.0.0.1:${port}/svc`)).toMatch(
      `PostgreSQL at 127.0.0.1:${port} cannot be reached`,
    );
  });

  test('a start waits as long as it is told for a server that comes later', async () => {
    const address = await nobody();
    const waiting = run('gateway', { SVC_API_KEY: KEY, NATS_URL: `nats://${address}`, SVC_START_WAIT_MS: '4000' });
    expect(await Promise.race([waiting.ended, sleep(3000, 'waits')])).toBe('waits');
    expect(await sentenceOf(waiting)).toContain(address);
  });

  test('a wrong role and a database that is not there are said at once, without the password', async () => {
    const url = new URL(servers.DATABASE_URL);
    const absent = Object.assign(new URL(url), { pathname: '/no_such_database' });
    const said = await sentenceOf(run('escrow', { DATABASE_URL: String(absent), SVC_START_WAIT_MS: '60000' }));
    expect(said).toMatch(`PostgreSQL at ${url.host} has no such database`);
    const stranger = Object.assign(new URL(url), { username: 'no_such_role', password: 's3cret' });
    const refused = await sentenceOf(run('escrow', { DATABASE_URL: String(stranger), SVC_START_WAIT_MS: '60000' }));
    expect(refused).toMatch(`PostgreSQL at ${url.host} refuses the credential in DATABASE_URL`);
    expect(refused).not.toContain('s3cret');
  });
});
