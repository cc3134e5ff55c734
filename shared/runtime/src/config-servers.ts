/** Variables that say where the servers of a cluster are, and how a process uses them. */
import { z } from 'zod';
import { count, text } from './config-values.ts';
import { secret, variable } from './config-variable.ts';

export const SERVER_VARIABLES = {
  DATABASE_URL: secret(
    z.url({ protocol: /^postgres(ql)?$/ }).optional(),
    'PostgreSQL of the cluster; a node in one process keeps a database of its own in SVC_DATA_DIR.',
  ),
  SVC_DATABASE_POOL: variable(
    count(2, 200).default(8),
    '8',
    'Connections that this process holds to PostgreSQL at most.',
  ),
  SVC_DATABASE_APPLICATION: variable(
    text.max(32).default('svc'),
    'svc',
    'What application_name of those connections begins with in PostgreSQL, before `-<role>/<SVC_NODE_ID>@<SVC_NODE_NAME>`.',
  ),
  SVC_DATABASE_STATEMENT_MS: variable(
    count(1000, 600_000).default(30_000),
    '30000',
    'How long one statement may run before PostgreSQL ends it; migrations have no such limit.',
  ),
  NATS_URL: secret(z.url({ protocol: /^(nats|tls)$/ }).optional(), 'NATS of the cluster.'),
  REDIS_URL: secret(z.url({ protocol: /^rediss?$/ }).optional(), 'Redis of the cluster.'),
  SVC_LOGINS_DIR: variable(
    text.optional(),
    'none',
    'Directory with the addresses of each role of a process that is several: files nats_url_<role>, redis_url_<role> and database_url_<role>, which take the place of NATS_URL, REDIS_URL and DATABASE_URL.',
  ),
} as const;
