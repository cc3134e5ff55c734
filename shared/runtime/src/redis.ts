/** The connection to Redis. Commands fail fast: whoever uses it has an answer for the time Redis is away. */
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RepeatedTrouble } from './repeated-trouble.ts';
import { addressOf, reasonOf, type StartPatience, StartProblem } from './start-problem.ts';

export type { Redis } from 'ioredis';

interface RedisOptions extends StartPatience {
  readonly url: string;
  /** Shown in Redis's list of clients. */
  readonly name: string;
  readonly log: Pick<Logger, 'error' | 'info' | 'warn'>;
}

/** A Redis that could be reached and must not be used. */
export class RedisRefused extends StartProblem {}

const REDIS_PORT = '6379';
const COMMAND_TIMEOUT_MS = 3000;
const LONGEST_RETRY_MS = 1000;
/** System codes, and what ioredis says when it has none. */
const LOST_CONNECTION =
  /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET)|Connection is closed|isn't writeable|Command timed out|max retries/;
const WRONG_CREDENTIALS = /WRONGPASS|NOAUTH|NOPERM/;

/**
 * Connects, waiting for a Redis that is not there yet. Throws RedisRefused when it refuses who we are, or when it may
 * evict keys: locks and schedules would vanish without an error; StartProblem when it does not come in time.
 */
export async function connectRedis({ url, name, log, giveUpAt }: RedisOptions): Promise<Redis> {
  const address = addressOf(url, REDIS_PORT);
  const redis = new Redis(url, {
    connectionName: name,
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    // commands of one turn share a write: a limiter sends one per request
    enableAutoPipelining: true,
    commandTimeout: COMMAND_TIMEOUT_MS,
    // one that hangs is away: its connection is given up, so that not every command waits for it
    socketTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 100, LONGEST_RETRY_MS),
  });
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const tell = createAbsenceReport(address, log);
  let lastError: unknown = null;
  let isInUse = false;
  redis.on('error', (error: Error) => {
    lastError = error;
    // Whoever starts is told by what is thrown, and does not ask again.
    if (!isInUse && WRONG_CREDENTIALS.test(error.message)) reject(refusal(address, error));
    else tell.away(error);
  });
  const tellWhenRefused = (error: unknown): void => {
    if (error instanceof RedisRefused) log.error(error.message);
  };
  redis.on('ready', () => {
    tell.ready();
    resolve();
    // Another server may have taken over, or this one may have been started with other settings.
    if (isInUse) void assertKeepsKeys(redis, address).catch(tellWhenRefused);
  });
  const giveUp = startTimer(giveUpAt, () => {
    const reason = lastError === null ? 'no answer' : reasonOf(lastError);
    reject(new StartProblem(`Redis at ${address} cannot be reached: ${reason} (REDIS_URL)`));
  });
  try {
    // A failed first attempt is reported by the error event and repeated by the retry strategy.
    redis.connect().catch(() => {});
    await ready;
    await assertKeepsKeys(redis, address);
    isInUse = true;
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error instanceof Error && WRONG_CREDENTIALS.test(error.message) ? refusal(address, error) : error;
  } finally {
    clearTimeout(giveUp);
  }
}

/** Tells each reason for which Redis is away: one that was restarted with another password is not there first, and then refuses. */
function createAbsenceReport(address: string, log: RedisOptions['log']) {
  const trouble = new RepeatedTrouble();
  let isTold = false;
  return {
    away(error: Error): void {
      isTold = true;
      if (!trouble.isDue(error.message)) return;
      if (!WRONG_CREDENTIALS.test(error.message)) log.warn({ err: error }, `Redis at ${address} cannot be reached`);
      else log.warn(`${refusal(address, error).message}; it is asked again until it takes it`);
    },
    ready(): void {
      if (isTold) log.info('connected to Redis again');
      isTold = false;
      trouble.end();
    },
  };
}

function refusal(address: string, error: Error): RedisRefused {
  return error instanceof RedisRefused
    ? error
    : new RedisRefused(`Redis at ${address} refuses the credential in REDIS_URL: ${error.message}`);
}

function startTimer(giveUpAt: number | undefined, giveUp: () => void): NodeJS.Timeout | undefined {
  return giveUpAt === undefined ? undefined : setTimeout(giveUp, Math.max(0, giveUpAt - Date.now()));
}

/** The failure is that there is no connection, which the one of `connectRedis` tells once for all. */
export function isRedisAway(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return LOST_CONNECTION.test(code === '' ? error.message : code);
}

/** It answered with an error: it is full, cannot keep what it is told, or is a copy that takes no writes. */
export function isRedisRefusing({ name }: Error): boolean {
  return name === 'ReplyError';
}

/** Tells this database of this server, until that is started again, from any other; null while it does not answer. */
export async function readRedisId(redis: Redis): Promise<string | null> {
  const server = await redis.info('server').catch(() => '');
  const run = /^run_id:(\S+)/m.exec(server)?.[1];
  return run === undefined ? null : `${run}/${redis.options.db ?? 0}`;
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
  delete blocking.options.socketTimeout;
  // The first connection reports that Redis is away.
  blocking.on('error', () => {});
  return blocking;
}

/** INFO and not CONFIG: hosted services forbid CONFIG. */
async function assertKeepsKeys(redis: Redis, address: string): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
  if (policy !== 'noeviction') {
    throw new RedisRefused(
      `Redis at ${address} has maxmemory-policy "${policy ?? 'unknown'}" and may drop schedules and locks: set it to "noeviction"`,
    );
  }
}
