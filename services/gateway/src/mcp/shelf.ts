/** Named things that are kept for a while, each its owner's: bounded for one owner and in all. */
import { hash } from 'node:crypto';
import { CallError } from '@svc/contract/codes.ts';
import type { Shared } from '@svc/runtime/platform.ts';
import type { Redis } from 'ioredis';

export interface ShelfRules {
  /** Part of the keys in Redis. */
  readonly kind: string;
  readonly keptMs: number;
  /** Whether reading a thing keeps it for as long again. */
  readonly isRenewed: boolean;
  readonly maxInAll: number;
  readonly maxEach: number;
  /** What becomes of an owner's next thing when it has `maxEach`; nobody's thing ever makes room for another owner's. */
  readonly whenOwnerIsFull: 'forget-its-oldest' | 'refuse';
}

/** Everything throws SERVICE_UNAVAILABLE while Redis does not answer. */
export interface Shelf<Thing> {
  /** False when there is no room. */
  put(name: string, owner: string, thing: Thing): Promise<boolean>;
  get(name: string): Promise<Thing | null>;
  /** `step` null = leave it. Of changes that meet, each sees what the one before made. Null when there is no such thing. */
  change(name: string, step: (thing: Thing) => Thing | null): Promise<Thing | null>;
  remove(name: string): Promise<void>;
  size(): Promise<number>;
}

export function createShelf<Thing>(shared: Shared, rules: ShelfRules): Shelf<Thing> {
  return shared<Shelf<Thing>>({
    memory: () => new MemoryShelf(rules),
    redis: (redis) => redisShelf(redis, rules),
  });
}

interface Held<Thing> {
  readonly owner: string;
  readonly thing: Thing;
  readonly until: number;
}

class MemoryShelf<Thing> implements Shelf<Thing> {
  readonly #rules: ShelfRules;
  /** In order of their end, because all are kept equally long; of each owner too. */
  readonly #held = new Map<string, Held<Thing>>();
  readonly #owned = new Map<string, Set<string>>();

  constructor(rules: ShelfRules) {
    this.#rules = rules;
  }

  #drop(name: string): void {
    const owner = this.#held.get(name)?.owner ?? '';
    this.#held.delete(name);
    const names = this.#owned.get(owner);
    names?.delete(name);
    if (names?.size === 0) this.#owned.delete(owner);
  }

  #place(name: string, owner: string, thing: Thing): void {
    this.#drop(name);
    this.#held.set(name, { owner, thing, until: performance.now() + this.#rules.keptMs });
    const names = this.#owned.get(owner);
    if (names === undefined) this.#owned.set(owner, new Set([name]));
    else names.add(name);
  }

  #sweep(): void {
    for (const [name, { until }] of this.#held) {
      if (until > performance.now()) return;
      this.#drop(name);
    }
  }

  #find(name: string): Held<Thing> | null {
    this.#sweep();
    return this.#held.get(name) ?? null;
  }

  async put(name: string, owner: string, thing: Thing): Promise<boolean> {
    const { maxInAll, maxEach, whenOwnerIsFull } = this.#rules;
    this.#sweep();
    const names = this.#owned.get(owner);
    if (names !== undefined && names.size >= maxEach) {
      if (whenOwnerIsFull === 'refuse') return false;
      const [oldest] = names;
      if (oldest !== undefined) this.#drop(oldest);
    }
    if (this.#held.size >= maxInAll) return false;
    this.#place(name, owner, thing);
    return true;
  }

  async get(name: string): Promise<Thing | null> {
    const found = this.#find(name);
    if (found !== null && this.#rules.isRenewed) this.#place(name, found.owner, found.thing);
    return found?.thing ?? null;
  }

  async change(name: string, step: (thing: Thing) => Thing | null): Promise<Thing | null> {
    const found = this.#find(name);
    if (found === null) return null;
    const thing = step(found.thing);
    if (thing !== null) this.#held.set(name, { ...found, thing });
    return thing ?? found.thing;
  }

  async remove(name: string): Promise<void> {
    this.#drop(name);
  }

  async size(): Promise<number> {
    this.#sweep();
    return this.#held.size;
  }
}

const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;
/** Keys: the thing, all, the owner's. A thing is its owner's key, a line end, its text; both sets are in order of their ends. */
const PUT = `${NOW}local name, text, kept, forget, prefix = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
for set = 2, 3 do redis.call('ZREMRANGEBYSCORE', KEYS[set], '-inf', now) end
if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[7]) then
  if forget ~= '1' then return 0 end
  local oldest = redis.call('ZPOPMIN', KEYS[3])[1]
  redis.call('DEL', prefix .. oldest)
  redis.call('ZREM', KEYS[2], oldest)
end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then return 0 end
redis.call('SET', KEYS[1], KEYS[3] .. '\\n' .. text, 'PX', kept)
for set = 2, 3 do
  redis.call('ZADD', KEYS[set], now + kept, name)
  redis.call('PEXPIRE', KEYS[set], kept)
end
return 1`;
const RENEW = `${NOW}local value, name, kept = redis.call('GET', KEYS[1]), ARGV[1], ARGV[2]
if not value then return false end
redis.call('PEXPIRE', KEYS[1], kept)
local owned = string.sub(value, 1, string.find(value, '\\n', 1, true) - 1)
for _, set in ipairs({KEYS[2], owned}) do
  redis.call('ZADD', set, now + kept, name)
  redis.call('PEXPIRE', set, kept)
end
return value`;
const REPLACE = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1`;
const REMOVE = `local value = redis.call('GET', KEYS[1])
if not value then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('ZREM', string.sub(value, 1, string.find(value, '\\n', 1, true) - 1), ARGV[1])`;
const SIZE = `${NOW}redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])`;

function redisShelf<Thing>(redis: Redis, rules: ShelfRules): Shelf<Thing> {
  const { kind, keptMs, isRenewed, maxInAll, maxEach, whenOwnerIsFull } = rules;
  const prefix = `svc:mcp:${kind}:`;
  const all = `svc:mcp:${kind}s`;

  async function change(name: string, step: (thing: Thing) => Thing | null): Promise<Thing | null> {
    for (;;) {
      const value = await redis.get(prefix + name);
      if (value === null) return null;
      const thing = thingIn(value) as Thing;
      const next = step(thing);
      if (next === null) return thing;
      const changed = value.slice(0, value.indexOf('\n') + 1) + JSON.stringify(next);
      // Each lost race is a change that somebody else made, so this ends.
      if ((await redis.eval(REPLACE, 1, prefix + name, value, changed)) === 1) return next;
    }
  }

  async function put(name: string, owner: string, thing: Thing): Promise<boolean> {
    // Owners are named by callers, names of things are random.
    const owned = `${all}:of:${hash('sha256', owner, 'base64url')}`;
    const forget = whenOwnerIsFull === 'forget-its-oldest' ? '1' : '0';
    const args = [name, JSON.stringify(thing), keptMs, forget, prefix, maxInAll, maxEach];
    return (await redis.eval(PUT, 3, prefix + name, all, owned, ...args)) === 1;
  }

  async function get(name: string): Promise<Thing | null> {
    const value = isRenewed
      ? ((await redis.eval(RENEW, 2, prefix + name, all, name, keptMs)) as string | null)
      : await redis.get(prefix + name);
    return value === null ? null : (thingIn(value) as Thing);
  }

  return {
    put: (...asked) => available(put(...asked)),
    get: (name) => available(get(name)),
    change: (...asked) => available(change(...asked)),
    remove: (name) => available(redis.eval(REMOVE, 2, prefix + name, all, name).then(() => {})),
    size: () => available(redis.eval(SIZE, 1, all).then(Number)),
  };
}

/** What Redis answers; SERVICE_UNAVAILABLE when it does not. */
export function available<Value>(work: Promise<Value>): Promise<Value> {
  return work.catch((error: unknown) => {
    throw Object.assign(new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 1000 }), { cause: error });
  });
}

function thingIn(value: string): unknown {
  return JSON.parse(value.slice(value.indexOf('\n') + 1));
}
