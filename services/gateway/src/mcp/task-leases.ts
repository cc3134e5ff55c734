/** Which tasks are being worked on: a gateway says so while it lives, and any other notices when it does not any more. */
import type { Shared } from '@svc/runtime/platform.ts';
import type { Redis } from 'ioredis';
import { available } from './shelf.ts';

export interface TaskLeases {
  /** Takes the task in hand, or keeps it there. False when another gateway has it. Throws SERVICE_UNAVAILABLE. */
  hold(task: string): Promise<boolean>;
  isHeld(task: string): Promise<boolean>;
  drop(task: string): Promise<void>;
}

/** Several beats, so that a gateway with a busy loop is not given up. */
export const LEASE_MS = 6000;
export const LEASE_BEAT_MS = 1500;

/** `instance`: this process. */
export function createTaskLeases(shared: Shared, instance: string): TaskLeases {
  return shared({ memory: memoryLeases, redis: (redis) => redisLeases(redis, instance) });
}

/** With the process goes all that it knew of tasks. */
function memoryLeases(): TaskLeases {
  const held = new Set<string>();
  return {
    async hold(task) {
      held.add(task);
      return true;
    },
    isHeld: async (task) => held.has(task),
    drop: async (task) => void held.delete(task),
  };
}

const HOLD = `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
const DROP = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

function redisLeases(redis: Redis, instance: string): TaskLeases {
  const keyOf = (task: string): string => `svc:mcp:held:${task}`;
  return {
    hold: async (task) => (await available(redis.eval(HOLD, 1, keyOf(task), instance, LEASE_MS))) === 1,
    isHeld: async (task) => (await available(redis.exists(keyOf(task)))) === 1,
    async drop(task) {
      await available(redis.eval(DROP, 1, keyOf(task), instance));
    },
  };
}
