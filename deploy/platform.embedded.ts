/** Everything in one process, on stores below the data directory, which no other process may use meanwhile. */
import { join } from 'node:path';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import type { Database } from '@svc/runtime/database.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import { measuredJobs, measurePools } from '@svc/runtime/measures.ts';
import type { Platform, StatelessPlatform } from '@svc/runtime/platform.ts';
import { DATABASE, type DataDirectory } from './data-directory.ts';
import type { ProcessContext } from './process-context.ts';

/** The part that is there at once; the doors open on it while the database still wakes. */
export function createEmbeddedDoors(context: ProcessContext, lifecycle: Lifecycle): StatelessPlatform {
  const bus = createLocalBus({ clock: context.clock, log: context.log });
  lifecycle.onShutdown('bus', () => bus.close());
  return {
    ...context,
    kind: 'embedded',
    durability: 'process-crash',
    bus,
    links: [{ name: 'bus', isNeeded: true, isUp: () => bus.connected }],
    shared: ({ memory }) => memory(),
    servers: async () => ({}),
    drainWaitMs: 0,
  };
}

/** The database of a node that has its data directory for itself. */
export interface EmbeddedStore {
  /** Begins to open it; whoever asks for it hears what came of that. */
  wake(): void;
  /** Opened now, if it is not yet. Throws StartProblem. */
  database(): Promise<Database>;
}

export function openStore({ log }: ProcessContext, { path }: DataDirectory, lifecycle: Lifecycle): EmbeddedStore {
  let opening: Promise<Database> | null = null;
  lifecycle.onShutdown('database', async () => {
    const database = await opening?.catch(() => null); // said where it was asked for
    await database?.close();
  });
  const database = (): Promise<Database> =>
    (opening ??= openEmbeddedDatabase({ directory: join(path, DATABASE), log }));
  return {
    database,
    wake() {
      database().catch(() => {}); // said to whoever asks for it
    },
  };
}

export async function addStores(
  doors: StatelessPlatform,
  store: EmbeddedStore,
  lifecycle: Lifecycle,
): Promise<Platform> {
  const { log, clock, metrics } = doors;
  const database = await store.database();
  measurePools(metrics, [database.pool]);
  const jobs = measuredJobs(createLocalJobs({ clock, log }), metrics);
  lifecycle.onShutdown('jobs', () => jobs.close());
  return { ...doors, database, jobs };
}
