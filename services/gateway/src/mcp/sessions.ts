/** Sessions of the revisions of 2025: names of 128 random bits, each bound to who opened it, forgotten after an idle hour. */
import { randomBytes } from 'node:crypto';
import type { Shared } from '@svc/runtime/platform.ts';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';

export interface McpSession {
  readonly principal: string;
  /** The revision that was agreed on. */
  readonly revision: string;
}

export interface McpSessions {
  /** Resolves with its name. */
  open(session: McpSession): Promise<string>;
  /** Null for a name that is none, or another principal's. Who asks keeps the session for another hour. */
  find(name: string, principal: string): Promise<McpSession | null>;
  /** False when there was none of that principal. */
  end(name: string, principal: string): Promise<boolean>;
}

const IDLE_MS = 3_600_000;
const NAME = /^[0-9a-f]{32}$/;

interface Shelf {
  set(name: string, session: McpSession): Promise<void>;
  /** Keeps it for another hour. */
  get(name: string): Promise<McpSession | null>;
  remove(name: string): Promise<void>;
}

export function createMcpSessions(shared: Shared): McpSessions {
  const shelf = shared({ memory: memoryShelf, redis: redisShelf });

  async function find(name: string, principal: string): Promise<McpSession | null> {
    if (!NAME.test(name)) return null;
    const session = await shelf.get(name);
    return session?.principal === principal ? session : null;
  }

  return {
    async open(session) {
      const name = randomBytes(16).toString('hex');
      await shelf.set(name, session);
      return name;
    },
    find,
    async end(name, principal) {
      if ((await find(name, principal)) === null) return false;
      await shelf.remove(name);
      return true;
    },
  };
}

/** Beyond that, those that were not used for the longest time are forgotten. */
const MAX_SESSIONS = 100_000;

function memoryShelf(): Shelf {
  const sessions = new LRUCache<string, McpSession>({ max: MAX_SESSIONS, ttl: IDLE_MS, updateAgeOnGet: true });
  return {
    async set(name, session) {
      sessions.set(name, session);
    },
    get: async (name) => sessions.get(name) ?? null,
    async remove(name) {
      sessions.delete(name);
    },
  };
}

function redisShelf(redis: Redis): Shelf {
  const keyOf = (name: string): string => `svc:mcp:${name}`;
  return {
    async set(name, session) {
      await redis.set(keyOf(name), JSON.stringify(session), 'PX', IDLE_MS);
    },
    async get(name) {
      const text = await redis.getex(keyOf(name), 'PX', IDLE_MS);
      return text === null ? null : (JSON.parse(text) as McpSession);
    },
    async remove(name) {
      await redis.del(keyOf(name));
    },
  };
}
