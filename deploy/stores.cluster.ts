/** What services of a cluster have beside their connections, and a gateway neither needs nor loads: PostgreSQL and jobs. */
import { meetDatabase } from '@svc/runtime/database.patience.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { createBullmqJobs } from '@svc/runtime/jobs.bullmq.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import { measuredJobs } from '@svc/runtime/measures.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { type Connected, required } from './platform.cluster.ts';

/** NAMEDATALEN less one. */
const LONGEST_APPLICATION_NAME = 63;

export async function addStores(connected: Connected, lifecycle: Lifecycle): Promise<Platform> {
  const { config, log, metrics, node, redis, giveUpAt, role } = connected;
  const url = required(config, 'DATABASE_URL');
  const database = await openPostgresDatabase({
    url,
    log,
    poolSize: config.SVC_DATABASE_POOL,
    applicationName: applicationName(config.SVC_DATABASE_APPLICATION, role, node.nodeId),
    statementTimeoutMs: config.SVC_DATABASE_STATEMENT_MS,
  });
  lifecycle.onShutdown('database', () => database.close());
  await meetDatabase(database, { url, log, giveUpAt });
  const bullmq = createBullmqJobs({ redis, log });
  const jobs = measuredJobs(bullmq, metrics);
  lifecycle.onShutdown('jobs', () => jobs.close());
  const isWhole = (): boolean => !bullmq.isRefused;
  const links = connected.links.map((link) => (link.name === 'redis' ? { ...link, isWhole } : link));
  return { ...connected, links, database, jobs };
}

/** As much of it as PostgreSQL keeps. The role is always in it: a backup and a restore ask by it who is still connected. */
function applicationName(cluster: string, role: string, nodeId: string): string {
  return `${cluster}-${role}/${nodeId}`.slice(0, LONGEST_APPLICATION_NAME);
}
