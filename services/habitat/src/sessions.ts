/** The workspace that each session has set: never a row, gone after a day without use or when its keeper restarts. */
import type { Platform } from '@svc/runtime/platform.ts';
import type { Redis } from '@svc/runtime/redis.ts';
import { LRUCache } from 'lru-cache';

export interface Sessions {
  /** Workspaces of those sessions that have set one. */
  currentOf(sessions: readonly string[]): Promise<Record<string, string>>;
  /** Throws when it cannot be kept. */
  set(session: string, workspace: string): Promise<void>;
}

const IDLE_S = 86_400;
const MAX_IN_MEMORY = 100_000;

export function createSessions({ shared, log }: Pick<Platform, 'shared' | 'log'>): Sessions {
  return shared({ memory: inMemory, redis: (redis) => inRedis(redis, log) });
}

function inMemory(): Sessions {
  const kept = new LRUCache<string, string>({ max: MAX_IN_MEMORY, ttl: IDLE_S * 1000, updateAgeOnGet: true });
  return {
    async currentOf(sessions) {
      const current: Record<string, string> = {};
      for (const session of sessions) {
        const workspace = kept.get(session);
        if (workspace !== undefined) current[session] = workspace;
      }
      return current;
    },
    async set(session, workspace) {
      kept.set(session, workspace);
    },
  };
}

function inRedis(redis: Redis, log: Platform['log']): Sessions {
  const runOf = runsOf(redis);
  const keyIn = (run: string, session: string) => `habitat:current:${run}:${session}`;
  async function readAll(sessions: readonly string[]) {
    const run = await runOf();
    const pipeline = redis.pipeline();
    for (const session of sessions) pipeline.getex(keyIn(run, session), 'EX', IDLE_S);
    return pipeline.exec();
  }

  return {
    /** A Redis that is away has forgotten, as after its restart: callers then act in their homes. */
    async currentOf(sessions) {
      if (sessions.length === 0 || redis.status !== 'ready') return {};
      const replies = await readAll(sessions).catch((error: unknown) => {
        log.debug({ err: error }, 'no current workspaces: Redis is away');
        return null;
      });
      const current: Record<string, string> = {};
      for (const [index, session] of sessions.entries()) {
        const workspace = replies?.[index]?.[1];
        if (typeof workspace === 'string') current[session] = workspace;
      }
      return current;
    },
    async set(session, workspace) {
      await redis.set(keyIn(await runOf(), session), workspace, 'EX', IDLE_S);
    },
  };
}

const RUN_ID = /^run_id:(\w+)/m;

/** Names the run of the server: what a run was told to keep is not for the next one, also when a disk has kept it. */
function runsOf(redis: Redis): () => Promise<string> {
  let known: Promise<string> | null = null;
  redis.on('close', () => {
    known = null;
  });
  return () => {
    known ??= redis.info('server').then(
      (info) => RUN_ID.exec(info)?.[1] ?? '',
      (error: unknown) => {
        known = null;
        throw error;
      },
    );
    return known;
  };
}
