/** What processes share, over a Redis that cannot be reached: the client is the real one, which nobody answers. */
import type { Shared } from '@svc/runtime/platform.ts';
import { Redis } from 'ioredis';

const NOBODY_LISTENS = 'redis://127.0.0.1:1';

export function awayRedis(): { readonly shared: Shared } & Disposable {
  const redis = new Redis(NOBODY_LISTENS, { lazyConnect: true, enableOfflineQueue: false, retryStrategy: () => null });
  redis.on('error', () => {}); // it is meant to fail
  return {
    shared: (forms) => forms.redis(redis),
    [Symbol.dispose]: () => redis.disconnect(),
  };
}
