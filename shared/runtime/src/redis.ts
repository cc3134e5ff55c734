/** The connection to Redis. Commands fail fast: whoever uses it has an answer for the time Redis is away. */
import { Redis } from 'ioredis';
import type { Logger } from 'pino';

export interface RedisOptions {
  readonly url: string;
  /** Shown in Redis's list of clients. */
  readonly name: string;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** A Redis that could be reached and must not be used. */
export class RedisRefused extends Error {}

const COMMAND_TIMEOUT_MS = 3000;
const LONGEST_RETRY_MS = 1000;
const WRONG_CREDENTIALS = /WRONGPASS|NOAUTH|NOPERM/;

/**
 * Connects, waiting for a Redis that is not there yet. Throws RedisRefused when it refuses who we are, or when it may
 * evict keys: locks and schedules would vanish without an error.
 */
export async function connectRedis({ url, name, log }: RedisOptions): Promise<Redis> {
  const redis = new Redis(url, {
    connectionName: name,
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    // commands of one turn share a write: a limiter sends one per request
    enableAutoPipelining: true,
    commandTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 100, LONGEST_RETRY_MS),
  });
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  let reported = false;
  redis.on('error', (error: Error) => {
    if (!reported) log.warn({ err: error }, 'Redis cannot be reached');
    reported = true;
    if (WRONG_CREDENTIALS.test(error.message)) reject(new RedisRefused(`Redis refuses us: ${error.message}`));
  });
  redis.on('ready', () => {
    if (reported) log.info('connected to Redis again');
    reported = false;
    resolve();
  });
  try {
    // A failed first attempt is reported by the error event and repeated by the retry strategy.
    redis.connect().catch(() => {});
    await ready;
    await assertKeepsKeys(redis);
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

/** A second connection whose commands may block and wait for Redis to come back, as workers need. */
export function duplicateForBlocking(redis: Redis): Redis {
  const blocking = redis.duplicate({
    lazyConnect: false,
    maxRetriesPerRequest: null,
    enableOfflineQueue: true,
    enableAutoPipelining: false,
  });
  delete blocking.options.commandTimeout;
  // The first connection reports that Redis is away.
  blocking.on('error', () => {});
  return blocking;
}

/** INFO and not CONFIG: hosted services forbid CONFIG. */
async function assertKeepsKeys(redis: Redis): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
  if (policy !== 'noeviction') {
    throw new RedisRefused(
      `Redis has maxmemory-policy "${policy ?? 'unknown'}" and may drop schedules and locks: set it to "noeviction"`,
    );
  }
}
