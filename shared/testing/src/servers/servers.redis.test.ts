import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { findExecutable } from './processes.ts';
import { startOwnRedis, startRedis } from './redis.ts';

const server = await startOwnRedis();
afterAll(() => server?.stop());

async function answers(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {});
  const answered = await client.connect().then(
    () => true,
    () => false,
  );
  client.disconnect();
  return answered;
}

describe.skipIf(server === null)('servers of our own', () => {
  test('keep port and data over a restart and a kill', async () => {
    const { url, control } = server ?? { url: '' };
    const client = new Redis(url);
    client.on('error', () => {});
    await client.set('kept', 'yes');
    await delay(1100); // Redis syncs its file each second.
    await control?.restart(50);
    expect(await client.get('kept')).toBe('yes');
    await control?.kill();
    expect(await answers(url)).toBe(false);
    await control?.start();
    expect(await client.get('kept')).toBe('yes');
    client.disconnect();
  });

  test('end and leave nothing when stopped', async () => {
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`svc-test-redis-${process.pid}-`));
    const before = folders();
    const short = await startOwnRedis();
    const [folder] = folders().filter((name) => !before.includes(name));
    await short?.stop();
    expect(await answers(short?.url ?? '')).toBe(false);
    expect(folder).toBeDefined();
    expect(existsSync(`${tmpdir()}/${folder}`)).toBe(false);
  });

  test.skipIf(findExecutable('setpriv') === null)(
    'die with the process that started them, even by kill -9',
    async () => {
      const owner = spawn(process.execPath, [fileURLToPath(import.meta.resolve('../fixtures/server-owner.ts'))]);
      const [line] = (await once(owner.stdout, 'data')) as [Buffer];
      const url = line.toString().trim();
      expect(await answers(url)).toBe(true);
      owner.kill('SIGKILL');
      while (await answers(url)) await delay(20);
    },
  );
});

describe.skipIf(server === null)('a Redis given by its URL', () => {
  afterEach(() => {
    delete process.env['SVC_TEST_REDIS_URL'];
  });

  test('lends empty databases only and gets them back empty', async () => {
    const url = server?.url ?? '';
    const other = new Redis(`${url}/1`);
    await other.set('precious', 'yes');
    process.env['SVC_TEST_REDIS_URL'] = url;
    const [one, two] = [await startRedis(), await startRedis()];
    expect([one?.url, two?.url]).toEqual([`${url}/2`, `${url}/3`]);
    expect(one?.control).toBeUndefined();
    const own = await startOwnRedis();
    expect(new URL(own?.url ?? '').host).not.toBe(new URL(url).host);
    await own?.stop();
    await one?.stop();
    expect(await other.get('precious')).toBe('yes');
    await other.select(2);
    expect(await other.dbsize()).toBe(0);
    other.disconnect();
    await two?.stop();
  });
});
