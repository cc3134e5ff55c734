/** What services of a cluster have beside their connections, and a gateway neither needs nor loads: PostgreSQL and jobs. */
import type { Config } from '@svc/runtime/config.ts';
import { meetDatabase } from '@svc/runtime/database.patience.ts';
import { agreeOnName, readDatabaseId } from '@svc/runtime/database.place.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { createBullmqJobs } from '@svc/runtime/jobs.bullmq.ts';
import type { Lifecycle } from '@svc/runtime/lifecycle.ts';
import { measuredJobs } from '@svc/runtime/measures.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { type Connected, ofServer, required } from './platform.cluster.ts';

/** NAMEDATALEN less one. */
const LONGEST_APPLICATION_NAME = 63;

export async function addStores(connected: Connected, lifecycle: Lifecycle): Promise<Platform> {
  const { config, log, metrics, node, redis, giveUpAt, role } = connected;
  const url = required(config, 'DATABASE_URL');
  const application = applicationName(config, role, node.nodeId);
  const database = await openPostgresDatabase({
    url,
    log,
    poolSize: config.SVC_DATABASE_POOL,
    applicationName: application,
    statementTimeoutMs: config.SVC_DATABASE_STATEMENT_MS,
  });
  lifecycle.onShutdown('database', () => database.close());
  await meetDatabase(database, { url, log, giveUpAt });
  await agreeOnName(database, { application, role, deployment: config.SVC_NODE_NAME ?? null });
  const bullmq = createBullmqJobs({ redis, log });
  const jobs = measuredJobs(bullmq, metrics);
  lifecycle.onShutdown('jobs', () => jobs.close());
  const isWhole = (): boolean => !bullmq.isRefused;
  const links = connected.links.map((link) => (link.name === 'redis' ? { ...link, isWhole } : link));
  const servers = async () => ({
    ...(await connected.servers()),
    ...ofServer('DATABASE_URL', await readDatabaseId(database)),
  });
  return { ...connected, links, servers, database, jobs };
}

/**
 * As much of it as PostgreSQL keeps. The role is always in it: a backup and a restore ask by it who is still connected; so is
 * the name of the deployment, by which others find out that they would not be heard.
 */
function applicationName(config: Config, role: string, nodeId: string): string {
  const begin = `${config.SVC_DATABASE_APPLICATION}-${role}/`;
  const end = `@${config.SVC_NODE_NAME ?? ''}`;
  const room = Math.max(0, LONGEST_APPLICATION_NAME - begin.length - end.length);
  return `${begin}${nodeId.slice(0, room)}${end}`.slice(0, LONGEST_APPLICATION_NAME);
}
