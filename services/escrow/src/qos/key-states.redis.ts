/** States of keys that replicas share. Redis gives the time, and takes a change only of the state it was made from. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { KeyStates } from './qos.ts';
import { endsAt, FRESH, type KeyState, type Step } from './window.ts';

type Redis = NonNullable<Platform['redis']>;

const READ = `local time = redis.call('TIME')
return {redis.call('GET', KEYS[1]) or '', time[1] * 1000 + math.floor(time[2] / 1000)}`;
/** Answers 1, or 0 when the state is another one by now. */
const WRITE = `if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[3], KEYS[1])
redis.call('ZADD', KEYS[3], ARGV[3], KEYS[1])
redis.call('PEXPIREAT', KEYS[2], ARGV[3] + 60000)
return 1`;
const COUNT = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])`;

const PREFIX = 'svc:qos';
const EVERYWHERE = `${PREFIX}:open`;
const ATTEMPTS = 50;
const PAUSE_MS = 4;

export function createRedisKeyStates(redis: Redis): KeyStates {
  /** Callers of one key in this process go one after the other, so that only replicas meet in Redis. */
  const lines = new Map<string, Promise<unknown>>();

  async function change<Answer>(
    id: string,
    open: string,
    step: (state: KeyState, now: number) => Step<Answer>,
  ): Promise<Answer> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const [before, now] = (await redis.eval(READ, 1, id)) as [string, number];
      const { state, answer } = step(before === '' ? FRESH : (JSON.parse(before) as KeyState), now);
      const after = JSON.stringify(state);
      if (after === before) return answer;
      const written = await redis.eval(WRITE, 3, id, open, EVERYWHERE, before, after, Math.ceil(endsAt(state)));
      if (written === 1) return answer;
      await sleep(Math.random() * PAUSE_MS);
    }
    throw new CallError('E_BUSY');
  }

  return {
    change(scope, key, step) {
      const id = `${PREFIX}:state:${digest(scope)}:${digest(key)}`;
      const mine = (lines.get(id) ?? Promise.resolve()).then(
        () => change(id, openKeys(scope), step),
        () => change(id, openKeys(scope), step),
      );
      lines.set(id, mine);
      return unavailable(mine.finally(() => lines.get(id) === mine && lines.delete(id)));
    },
    count: (scope) => unavailable(redis.eval(COUNT, 1, scope === null ? EVERYWHERE : openKeys(scope)).then(Number)),
  };
}

function openKeys(scope: string): string {
  return `${EVERYWHERE}:${digest(scope)}`;
}

/** Keys are chosen by callers. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

async function unavailable<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CallError) throw error;
    const away = new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 });
    away.cause = error;
    throw away;
  }
}
