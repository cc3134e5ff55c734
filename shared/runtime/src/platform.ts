/** Everything a service needs from the place it runs in. `deploy/` builds one; services only ask. */
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Bus } from './bus.ts';
import type { Clock, Ids, Random } from './clock.ts';
import type { Config } from './config.ts';
import type { Database } from './database.ts';
import type { Jobs } from './jobs.ts';
import type { Metrics } from './metrics.ts';

/** The platform without its stores: enough for a service that keeps nothing. */
export interface StatelessPlatform {
  readonly kind: 'embedded' | 'cluster';
  /** What an acknowledged write survives here. */
  readonly durability: Database['durability'];
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  readonly bus: Bus;
  /** Absent in embedded mode: whatever uses it must have a form for one process. */
  readonly redis: Redis | null;
  /** This process: `nodeId` is the name operators gave it, `instance` is new at every start. */
  readonly node: {
    readonly nodeId: string;
    readonly instance: string;
    readonly startedAt: number;
    readonly version: string;
  };
}

export interface Platform extends StatelessPlatform {
  readonly jobs: Jobs;
  readonly database: Database;
}
