/** What is fetched for callers, and whether anything can be. */
import { createConnection } from 'node:net';
import type { Clock } from '@svc/runtime/clock.ts';
import { createSlots, type Tenant } from '../slots.ts';
import { targetOf } from './domain/target.ts';
import { createFetcher, type Fetcher, type ListedHosts } from './fetcher.ts';

interface Online {
  readonly online: boolean;
  /** Ms since the epoch. */
  readonly checkedAt: number;
}

interface NetworkCounters {
  readonly fetches: number;
}

export interface Network extends Pick<Fetcher, 'where'> {
  /** Throws RATE_LIMITED when the workspace, the family or the process fetches as much as it may at once. */
  fetch(tenant: Tenant, ...asked: Parameters<Fetcher['fetch']>): ReturnType<Fetcher['fetch']>;
  /** Whether a listed host takes a connection; not older than half a minute, and asked once for all who want to know. */
  online(listed: ListedHosts): Promise<Online>;
  counters(): NetworkCounters;
}

/** Each fetch holds up to all of its body in memory, for as long as its host lets it wait. */
export const NETWORK_SLOTS = { atOnce: 64, atOnceOfWorkspace: 16, atOnceOfFamily: 16 } as const;
const ONLINE_HOLDS_MS = 30_000;
const CONNECT_MS = 3000;

export function createNetwork(clock: Clock, fetcher: Fetcher = createFetcher()): Network {
  const inSlot = createSlots(NETWORK_SLOTS);
  let fetches = 0;
  let latest: Promise<Online> | null = null;
  let checkedAt = -Infinity;
  return {
    fetch: (tenant, ...asked) =>
      inSlot(tenant, () => {
        fetches += 1;
        return fetcher.fetch(...asked);
      }),
    where: fetcher.where,
    online(listed) {
      const now = clock.now();
      if (latest === null || now - checkedAt >= ONLINE_HOLDS_MS) {
        checkedAt = now;
        latest = takesConnection(fetcher, listed).then((online) => ({ online, checkedAt: now }));
      }
      return latest;
    },
    counters: () => ({ fetches }),
  };
}

/** The first of the listed hosts that is a name of its own, not a pattern. */
async function takesConnection(fetcher: Fetcher, listed: ListedHosts): Promise<boolean> {
  const entry = listed.allow.find((one) => !one.includes('*'));
  const target = entry === undefined ? null : targetOf(`https://${entry}/`);
  if (target === null) return false;
  const where = await fetcher.where(target, listed);
  const [host] = where.ok ? where.value : [];
  if (host === undefined) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = createConnection({ host, port: target.port, timeout: CONNECT_MS });
  socket
    .once('connect', () => resolve(true))
    .once('error', () => resolve(false))
    .once('timeout', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
