/** The two places a service can run in. Only this folder knows how many processes there are. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { type Config, ConfigProblem, readConfig, secretVariables } from '@svc/runtime/config.ts';
import { takeLock } from '@svc/runtime/data-lock.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createBullmqJobs } from '@svc/runtime/jobs.bullmq.ts';
import { createLocalJobs } from '@svc/runtime/jobs.local.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { connectRedis } from '@svc/runtime/redis.ts';

const POSTGRES_CONNECTIONS = 16;

export interface Environment {
  readonly config: Config;
  readonly warnings: readonly string[];
}

/** Reads the environment once and removes secrets from it, so that no child process inherits them. */
export function takeEnvironment(): Environment {
  const environment = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
  for (const name of secretVariables()) delete process.env[name];
  return environment;
}

type Grounds = Pick<Platform, 'config' | 'log' | 'metrics' | 'clock' | 'ids' | 'random' | 'node'>;

/** What both places have in common. `role` names the process in logs. */
export function createGrounds({ config, warnings }: Environment, role: string): Grounds {
  const nodeId = config.SVC_NODE_ID ?? hostname();
  const log = createLog(config.SVC_LOG_LEVEL, { node: nodeId, role });
  for (const warning of warnings) log.warn(warning);
  const instance = `${role}-${randomBytes(8).toString('hex')}`;
  return {
    config,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    random: systemRandom,
    node: { nodeId, instance, startedAt: systemClock.now(), version: readVersion() },
  };
}

/** Everything in this process, on stores below the data directory, which no other process may use meanwhile. */
export async function createEmbeddedPlatform(grounds: Grounds, lifecycle: Lifecycle): Promise<Platform> {
  const { config, log, clock } = grounds;
  const dataDir = resolve(config.SVC_DATA_DIR);
  mkdirSync(dataDir, { recursive: true });
  const lock = takeLock(join(dataDir, 'service.lock'));
  lifecycle.onShutdown('data lock', async () => lock.release());
  const database = await openEmbeddedDatabase({ directory: join(dataDir, 'database'), log });
  lifecycle.onShutdown('database', () => database.close());
  const bus = createLocalBus({ clock, log });
  lifecycle.onShutdown('bus', () => bus.close());
  const jobs = createLocalJobs({ clock, log });
  lifecycle.onShutdown('jobs', () => jobs.close());
  return { ...grounds, kind: 'embedded', database, bus, jobs, redis: null };
}

/** One service of a cluster. The database is opened only for services that keep something. */
export async function createClusterPlatform(
  grounds: Grounds,
  lifecycle: Lifecycle,
  { service, keepsData }: { service: string; keepsData: boolean },
): Promise<Platform> {
  const { config, log, clock } = grounds;
  const redis = await connectRedis({ url: required(config, 'REDIS_URL'), name: service, log });
  lifecycle.onShutdown('redis', async () => redis.disconnect());
  const url = keepsData ? required(config, 'DATABASE_URL') : null;
  const database = url === null ? noDatabase : await openPostgresDatabase({ url, log, poolSize: POSTGRES_CONNECTIONS });
  lifecycle.onShutdown('database', () => database.close());
  const bus = await connectNatsBus({
    urls: [required(config, 'NATS_URL')],
    name: grounds.node.instance,
    inboxPrefix: `_INBOX_${service}`,
    clock,
    log,
  });
  lifecycle.onShutdown('bus', () => bus.close());
  const jobs = createBullmqJobs({ redis, log });
  lifecycle.onShutdown('jobs', () => jobs.close());
  return { ...grounds, kind: 'cluster', database, bus, jobs, redis };
}

function required(config: Config, name: 'DATABASE_URL' | 'NATS_URL' | 'REDIS_URL'): string {
  const value = config[name];
  if (value === undefined) throw new ConfigProblem(`${name} is needed to run a service of the cluster`);
  return value;
}

function absent(): never {
  throw new Error('this process keeps nothing and has no database');
}

/** For the gateway: doors only. It says what the cluster's database promises. */
const noDatabase: Database = {
  durability: 'full',
  exclusive: false,
  get pool() {
    return absent();
  },
  adapter: absent,
  ping: async () => absent(),
  close: async () => {},
};

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'));
  return manifest !== null && typeof manifest === 'object' && 'version' in manifest
    ? String(manifest.version)
    : '0.0.0';
}
