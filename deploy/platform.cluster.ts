/** One service of a cluster: NATS, Redis, and PostgreSQL for those that keep something. */
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { type Config, ConfigProblem } from '@svc/runtime/config.ts';
import { meetDatabase } from '@svc/runtime/database.patience.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { createBullmqJobs } from '@svc/runtime/jobs.bullmq.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import { measuredJobs } from '@svc/runtime/measures.ts';
import type { Platform, StatelessPlatform } from '@svc/runtime/platform.ts';
import { connectRedis } from '@svc/runtime/redis.ts';
import type { Redis } from 'ioredis';
import type { ProcessContext } from './process-context.ts';

/** NAMEDATALEN less one. */
const LONGEST_APPLICATION_NAME = 63;

/** Long enough for balancers to notice that a process is not ready any more. */
const DRAIN_WAIT_MS = 8000;

type Connected = StatelessPlatform & { readonly redis: Redis; readonly giveUpAt: number; readonly role: string };

/** For services that keep nothing: they get no credential for the database. */
export async function connectCluster(
  context: ProcessContext,
  lifecycle: Lifecycle,
  service: string,
): Promise<Connected> {
  const { config, log, clock } = context;
  const natsUrl = required(config, 'NATS_URL');
  const giveUpAt = clock.now() + config.SVC_START_WAIT_MS;
  const redis = await connectRedis({ url: required(config, 'REDIS_URL'), name: service, log, giveUpAt });
  lifecycle.onShutdown('redis', async () => redis.disconnect());
  const bus = await connectNatsBus({
    urls: [natsUrl],
    name: context.node.instance,
    inboxPrefix: `_INBOX_${service}`,
    member: { group: service, process: context.node.instance },
    deployment: config.SVC_NODE_NAME,
    clock,
    log,
    giveUpAt,
  });
  lifecycle.onShutdown('bus', () => bus.close());
  return {
    ...context,
    kind: 'cluster',
    durability: 'full',
    bus,
    links: [
      { name: 'nats', isNeeded: true, isUp: () => bus.connected },
      { name: 'redis', isNeeded: false, isUp: () => redis.status === 'ready' },
    ],
    shared: (forms) => forms.redis(redis),
    drainWaitMs: DRAIN_WAIT_MS,
    redis,
    giveUpAt,
    role: service,
  };
}

export async function addStores(connected: Connected, lifecycle: Lifecycle): Promise<Platform> {
  const { config, log, metrics, node, redis, giveUpAt, role } = connected;
  const url = required(config, 'DATABASE_URL');
  const database = await openPostgresDatabase({
    url,
    log,
    poolSize: config.SVC_DATABASE_POOL,
    applicationName: config.SVC_DATABASE_APPLICATION ?? applicationName(role, node.nodeId),
    statementTimeoutMs: config.SVC_DATABASE_STATEMENT_MS,
  });
  lifecycle.onShutdown('database', () => database.close());
  await meetDatabase(database, { url, log, giveUpAt });
  const jobs = measuredJobs(createBullmqJobs({ redis, log }), metrics);
  lifecycle.onShutdown('jobs', () => jobs.close());
  return { ...connected, database, jobs };
}

/** As much of it as PostgreSQL keeps. */
function applicationName(role: string, nodeId: string): string {
  return `svc-${role}/${nodeId}`.slice(0, LONGEST_APPLICATION_NAME);
}

function required(config: Config, name: 'DATABASE_URL' | 'NATS_URL' | 'REDIS_URL'): string {
  const value = config[name];
  if (value === undefined) throw new ConfigProblem(`${name} is needed to run a service of the cluster`);
  return value;
}
