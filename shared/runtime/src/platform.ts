/** Everything a service needs from the place it runs in. `deploy/` builds one; services only ask. */
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Bus } from './bus.ts';
import type { Clock, Ids, Random } from './clock.ts';
import type { Config } from './config.ts';
import type { Database } from './database.ts';
import type { Jobs } from './jobs.ts';
import type { Metrics } from './metrics.ts';

/** A way to others that may be cut. */
export interface Link {
  readonly name: 'bus' | 'nats' | 'redis';
  /** Nothing is served without it; else limits and schedules are less exact meanwhile. */
  readonly isNeeded: boolean;
  isUp(): boolean;
  /** False while it is up and does not carry all that it should; absent = it always does. */
  isWhole?(): boolean;
}

/**
 * The form in which processes share what they keep for a while: this one alone, or over a server. Whatever is shared has
 * both forms, which pass one suite.
 */
export type Shared = <Thing>(forms: { memory(): Thing; redis(redis: Redis): Thing }) => Thing;

/** The platform without its stores: enough for a service that keeps nothing. */
export interface StatelessPlatform {
  /** Told to whoever asks for the status; nothing hangs on it. */
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
  readonly links: readonly Link[];
  readonly shared: Shared;
  /**
   * By their variables, what tells the servers that processes share from any other, whatever their addresses; one that does
   * not answer is left out. Does not throw.
   */
  servers(): Promise<Readonly<Record<string, string>>>;
  /** How long balancers go on sending to a process that says that it is not ready. */
  readonly drainWaitMs: number;
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
