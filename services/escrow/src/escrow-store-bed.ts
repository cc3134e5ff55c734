/** The ledger's store on a database of its own, for tests; more than one may work on the same database. */
import { join } from 'node:path';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { readConfig } from '@svc/runtime/config.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { openStore, type ServiceStore } from '@svc/runtime/store.ts';
import { LedgerStore } from './store/ledger-store.ts';
import type { MoveCall } from './store/move.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');

export interface StoreBed {
  readonly platform: Platform;
  readonly base: ServiceStore;
  readonly ledger: LedgerStore;
}

let instances = 0;

export function platformOn(database: Database, over: Partial<Platform> = {}): Platform {
  const log = createLog('silent', {});
  instances += 1;
  return {
    kind: 'embedded',
    durability: database.durability,
    config: readConfig({}, () => '').config,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    random: systemRandom,
    bus: createLocalBus(),
    jobs: createLocalJobs({ log }),
    database,
    redis: null,
    node: { nodeId: 'test', instance: `test-${instances}`, startedAt: Date.now(), version: '0' },
    ...over,
  };
}

export async function openStoreBed(database: Database, over: Partial<Platform> = {}): Promise<StoreBed> {
  const platform = platformOn(database, over);
  const base = await openStore(platform, { service: 'escrow', migrations: MIGRATIONS });
  return { platform, base, ledger: new LedgerStore(base, platform) };
}

const PATIENCE_MS = 30_000;

/** A call of nobody in particular, without a key unless one is given. */
export function callWith(over: Partial<MoveCall> = {}): MoveCall {
  return {
    deadlineAt: Date.now() + PATIENCE_MS,
    idempotency: null,
    subject: { agentId: 'tester', verified: false },
    ...over,
  };
}
