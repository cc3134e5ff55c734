/** States of keys that replicas share. Redis gives the time, and takes a change only of the state it was made from. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import type { Redis } from '@svc/runtime/redis.ts';
import { createTurns } from '@svc/runtime/turns.ts';
import { counted, OUTCOME_LIMITS, type OutcomeLimits, replayOf, type StoredOutcome } from './outcomes.ts';
import type { KeyStates, QosCall } from './qos.ts';
import { FRESH, type KeyState, type Step } from './window.ts';

const READ = `local time = redis.call('TIME')
return {redis.call('GET', KEYS[1]) or '', time[1] * 1000 + math.floor(time[2] / 1000)}`;
/** Answers 1, or the outcome that the key of the call has already, or 0 when the state is another one by now. */
const WRITE = `local outcome, outcomes = KEYS[4], KEYS[5]
local known = outcome and redis.call('GET', outcome)
if known then return known end
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[3], KEYS[1])
redis.call('ZADD', KEYS[3], ARGV[3], KEYS[1])
redis.call('PEXPIREAT', KEYS[2], ARGV[3] + 60000)
if not outcome then return 1 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', outcome, ARGV[4], 'PX', ARGV[5])
redis.call('ZADD', outcomes, now, outcome)
redis.call('PEXPIRE', outcomes, ARGV[5])
redis.call('ZREMRANGEBYSCORE', outcomes, '-inf', now - ARGV[5])
while redis.call('ZCARD', outcomes) > tonumber(ARGV[6]) do redis.call('DEL', redis.call('ZPOPMIN', outcomes)[1]) end
return 1`;
const COUNT = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])`;

const PREFIX = 'svc:qos';
const EVERYWHERE = `${PREFIX}:open`;
const OUTCOMES = `${PREFIX}:outcomes`;
const ATTEMPTS = 50;
const PAUSE_MS = 4;

export function createRedisKeyStates(redis: Redis, limits: OutcomeLimits = OUTCOME_LIMITS): KeyStates {
  /** Callers of one key in this process go one after the other, so that only replicas meet in Redis. */
  const inTurn = createTurns();

  async function change<Answer>(
    id: string,
    { scope, idempotency }: QosCall,
    step: (state: KeyState, now: number) => Step<Answer>,
  ): Promise<Once<Answer, never>> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const [before, now] = (await redis.eval(READ, 1, id)) as [string, number];
      const { state, endsAt, answer } = step(before === '' ? FRESH : (JSON.parse(before) as KeyState), now);
      const after = JSON.stringify(state);
      if (after === before && idempotency === null) return counted(answer);
      const keys = [id, openKeys(scope), EVERYWHERE];
      const args = [before, after, Math.ceil(endsAt)];
      if (idempotency !== null) {
        const outcome: StoredOutcome = { argsHash: idempotency.argsHash, answer };
        keys.push(`${PREFIX}:outcome:${digest(idempotencyId(idempotency))}`, OUTCOMES);
        args.push(JSON.stringify(outcome), limits.keptMs, limits.most);
      }
      const written = await redis.eval(WRITE, keys.length, ...keys, ...args);
      if (written === 1) return counted(answer);
      if (typeof written === 'string' && idempotency !== null) {
        return replayOf(JSON.parse(written) as StoredOutcome, idempotency);
      }
      await sleep(Math.random() * PAUSE_MS);
    }
    throw new CallError('E_BUSY');
  }

  return {
    change(call, step) {
      const id = `${PREFIX}:state:${digest(call.scope)}:${digest(call.key)}`;
      return unavailable(inTurn(id, () => change(id, call, step)));
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
