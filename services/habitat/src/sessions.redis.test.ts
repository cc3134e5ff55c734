import { createLog } from '@svc/runtime/log.ts';
import { connectRedis } from '@svc/runtime/redis.ts';
import { startOwnRedis } from '@svc/testing/servers/redis.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { createSessions } from './sessions.ts';

const log = createLog('silent', {});
const server = await startOwnRedis();

afterAll(() => server?.stop());

describe.skipIf(server === null)('sessions over Redis', () => {
  const { url, control } = server ?? { url: '', control: undefined };
  const open = () => connectRedis({ url, name: 'test', log });

  test('every process knows what one was told, until the Redis that keeps it restarts', async () => {
    const [one, other] = [await open(), await open()];
    const over = (redis: typeof one) => createSessions({ shared: (forms) => forms.redis(redis), log });
    const [writer, reader] = [over(one), over(other)];
    await writer.set('s1', 'acme');
    expect(await reader.currentOf(['s1', 's2'])).toEqual({ s1: 'acme' });
    await control?.kill();
    expect(await reader.currentOf(['s1'])).toEqual({});
    await expect(writer.set('s1', 'beta')).rejects.toThrow();
    await control?.start();
    await expect.poll(() => [one.status, other.status]).toEqual(['ready', 'ready']);
    expect(await reader.currentOf(['s1'])).toEqual({});
    await writer.set('s1', 'beta');
    expect(await reader.currentOf(['s1'])).toEqual({ s1: 'beta' });
    one.disconnect();
    other.disconnect();
  });
});
