import { pino } from 'pino';
import { connectRedis } from '@svc/runtime/redis.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { createSessions } from './sessions.ts';

const log = pino({ level: 'silent' });
const server = await startRedis();

afterAll(() => server?.stop());

describe.skipIf(server?.control === undefined)('sessions over Redis', () => {
  const { url, control } = server ?? { url: '', control: undefined };

  test('every process knows what one was told, until the Redis that keeps it restarts', async () => {
    const [one, other] = await Promise.all([1, 2].map(() => connectRedis({ url, name: 'test', log })));
    if (one === undefined || other === undefined) throw new Error('no Redis');
    const [writer, reader] = [one, other].map((redis) => createSessions({ redis, log }));
    await writer?.set('s1', 'acme');
    expect(await reader?.currentOf(['s1', 's2'])).toEqual({ s1: 'acme' });
    await control?.kill();
    expect(await reader?.currentOf(['s1'])).toEqual({});
    await expect(writer?.set('s1', 'beta')).rejects.toThrow();
    await control?.start();
    while (one.status !== 'ready' || other.status !== 'ready') await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await reader?.currentOf(['s1'])).toEqual({});
    await writer?.set('s1', 'beta');
    expect(await reader?.currentOf(['s1'])).toEqual({ s1: 'beta' });
    one.disconnect();
    other.disconnect();
  });
});
