/** Everything in one process, on stores below the data directory, which no other process may use meanwhile. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { takeLock } from '@svc/runtime/data-lock.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import type { Platform, StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Grounds } from './grounds.ts';

/** The part that is there at once; the doors open on it while the database still wakes. */
export function createEmbeddedDoors(grounds: Grounds, lifecycle: Lifecycle): StatelessPlatform {
  const bus = createLocalBus({ clock: grounds.clock, log: grounds.log });
  lifecycle.onShutdown('bus', () => bus.close());
  return { ...grounds, kind: 'embedded', durability: 'process-crash', bus, redis: null };
}

/** Throws DataLocked when another process has the data directory. */
export async function addStores(doors: StatelessPlatform, lifecycle: Lifecycle): Promise<Platform> {
  const { config, log, clock } = doors;
  const dataDir = resolve(config.SVC_DATA_DIR);
  mkdirSync(dataDir, { recursive: true });
  const lock = takeLock(join(dataDir, 'service.lock'));
  lifecycle.onShutdown('data lock', async () => lock.release());
  const database = await openEmbeddedDatabase({ directory: join(dataDir, 'database'), log });
  lifecycle.onShutdown('database', () => database.close());
  const jobs = createLocalJobs({ clock, log });
  lifecycle.onShutdown('jobs', () => jobs.close());
  return { ...doors, database, jobs };
}
