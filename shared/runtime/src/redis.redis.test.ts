import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import { connectRedis, RedisRefused } from './redis.ts';

const log = pino({ level: 'silent' });
const server = await startOwnRedis();

afterAll(() => server?.stop());

function watchedLog() {
  const lines: string[] = [];
  return { lines, watched: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }) };
}

describe.skipIf(server === null)('connectRedis', () => {
  const { url, control } = server ?? { url: '', control: undefined };
  const open = () => connectRedis({ url, name: 'test', log });

  test('refuses a Redis that may evict keys, and says what to set', async () => {
    const admin = await open();
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(open()).rejects.toThrow(RedisRefused);
    await expect(open()).rejects.toThrow(/allkeys-lru.*noeviction/);
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    admin.disconnect();
  });

  test('says so when the one that is there after a break may evict keys', async () => {
    const { lines, watched } = watchedLog();
    const redis = await connectRedis({ url, name: 'test', log: watched });
    await redis.config('SET', 'maxmemory-policy', 'volatile-lru');
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no').catch(() => {});
    await expect.poll(() => lines.join('')).toMatch(/volatile-lru.*noeviction/);
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    redis.disconnect();
  });

  test('refuses wrong credentials instead of waiting', async () => {
    const admin = await open();
    await admin.config('SET', 'requirepass', 's3cret');
    await expect(open()).rejects.toThrow(RedisRefused);
    const { lines, watched } = watchedLog();
    const wrong = url.replace('//', '//:wrong@');
    await expect(connectRedis({ url: wrong, name: 'test', log: watched })).rejects.toThrow(RedisRefused);
    expect(lines.join('')).not.toContain('asked again');
    await admin.config('SET', 'requirepass', '');
    admin.disconnect();
  });

  test('says why it has no connection when that is not what it was at first, and goes on without a start', async () => {
    const { lines, watched } = watchedLog();
    const admin = await open();
    const allow = () => admin.call('ACL', 'SETUSER', 'app', 'on', '>s3cret', 'allkeys', '+@all');
    await allow();
    const redis = await connectRedis({ url: url.replace('//', '//app:s3cret@'), name: 'test', log: watched });
    await control?.kill();
    await expect.poll(() => lines.join('')).toMatch(/cannot be reached/);
    await control?.start(); // it knows this user no more
    await expect
      .poll(() => lines.join(''), { timeout: 5000 })
      .toMatch(/refuses the credential in REDIS_URL: WRONGPASS/);
    await expect.poll(() => admin.status).toBe('ready');
    await allow();
    await expect.poll(() => redis.status, { timeout: 5000 }).toBe('ready');
    expect(lines.filter((line) => line.includes('refuses the credential'))).toHaveLength(1);
    expect(lines.at(-1)).toMatch(/connected to Redis again/);
    redis.disconnect();
    admin.disconnect();
  });

  test('commands fail fast while Redis is away and work again when it is back', async () => {
    const redis = await open();
    await redis.set('kept', 'yes');
    await control?.kill();
    await expect(redis.get('kept')).rejects.toThrow();
    await control?.start();
    while (redis.status !== 'ready') await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await redis.get('kept')).toBe('yes');
    redis.disconnect();
  });

  test('a Redis that hangs costs a command its timeout, not forever', async () => {
    const redis = await open();
    await control?.pause();
    await expect(redis.get('kept')).rejects.toThrow('timed out');
    await control?.resume();
    redis.disconnect();
  });

  test('waits for a Redis that comes later', async () => {
    await control?.kill();
    const connecting = open();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await control?.start();
    (await connecting).disconnect();
  });
});
