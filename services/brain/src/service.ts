/** The brain service: versioned files, branches, leases, search. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Check } from '@svc/contract/discovery.ts';
import { DEFAULT_DEADLINE_MS } from '@svc/contract/tool.ts';
import type { Database, SqlClient } from '@svc/runtime/database.ts';
import { createIdempotency, type Idempotency } from '@svc/runtime/idempotency.ts';
import { migrate } from '@svc/runtime/migrations.ts';
import { createOutbox, type Outbox } from '@svc/runtime/outbox.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceDefinition, ServiceHandle } from '@svc/runtime/service.ts';
import { poolClient, withPgTransaction } from '@svc/runtime/transaction.ts';
import { BrainHost } from './brain/brain-host.ts';
import { BrainRouter } from './brain/brain-router.ts';
import { readSyncSettings } from './brain/remotes.ts';
import type { BrainDeps } from './deps.ts';
import { createGit } from './git/run.ts';
import { scheduleJobs } from './jobs.ts';
import { LegacyLayout } from './legacy-layout.ts';
import { startMembership } from './membership.ts';
import { noPolicies } from './ports.ts';
import { readCatalogueSizes } from './store/catalogue.ts';
import { createModels, type Models } from './store/models.ts';
import { SessionStore } from './store/session-store.ts';
import { brainTools } from './tools/all.ts';
import { type Counters, createCounters } from './writer/counters.ts';
import type { OpContext } from './writer/context.ts';

const SCHEMA = 'brain';
const DIRECTORIES = ['brains', 'worktrees', 'journal', 'cache', 'backups'];
const CHECK_MS = 1000;
const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');

export const brainService: ServiceDefinition<BrainDeps> = {
  name: 'brain',
  tools: brainTools,
  start: startBrain,
};

interface Parts {
  readonly platform: Platform;
  readonly dataDir: string;
  readonly models: Models;
  readonly outbox: Outbox;
  readonly idempotency: Idempotency;
  readonly counters: Counters;
}

async function startBrain(platform: Platform): Promise<ServiceHandle<BrainDeps>> {
  const parts = await openParts(platform);
  const { outbox, models, idempotency, dataDir } = parts;
  const { config } = platform;
  const layout = new LegacyLayout({ dataDir, legacyDirs: config.SVC_LEGACY_DIR ?? [], platform });
  await layout.open();
  await outbox.start();
  const host = createHost(parts);
  const membership = await startMembership(host, platform);
  const router = new BrainRouter(host, platform);
  await router.start();
  await host.create(config.SVC_BRAIN, 'service');
  await host.serve(config.SVC_BRAIN);
  const deps = await createDeps(parts, host, router, layout);
  await layout.migrate(router.brain(config.SVC_BRAIN), serviceContext(platform));
  await scheduleJobs({ platform, host, outbox, idempotency, sessions: deps.sessions });
  return {
    deps,
    checks: () => checksOf(platform),
    async drain() {
      await router.drain();
      await host.handOver();
      await membership.leave();
    },
    async close() {
      await outbox.close();
      await models.close();
    },
  };
}

/** Directories and tables as this version needs them. */
async function openParts(platform: Platform): Promise<Parts> {
  const { database, log, config } = platform;
  const dataDir = resolve(config.SVC_DATA_DIR);
  for (const name of DIRECTORIES) await mkdir(join(dataDir, name), { recursive: true });
  await migrate({ pool: database.pool, schema: SCHEMA, directory: MIGRATIONS, log });
  const transact = transactor(database);
  const outbox = createOutbox({
    service: 'brain',
    schema: SCHEMA,
    client: poolClient(database.pool),
    exclusive: database.exclusive,
    transact,
    platform,
  });
  const models = createModels(database, SCHEMA);
  return { platform, dataDir, models, outbox, idempotency: createIdempotency(SCHEMA), counters: createCounters() };
}

async function checksOf({ database, bus }: Platform): Promise<Check[]> {
  const answers = await database.ping(CHECK_MS).then(
    () => true,
    () => false,
  );
  const check = (name: string, ok: boolean): Check => ({ name, status: ok ? 'ok' : 'fail' });
  return [check('database', answers), check('bus', bus.connected), check('migrations', true)];
}

type Work<Value> = (transaction: SqlClient) => Promise<Value>;

function transactor({ pool }: Pick<Database, 'pool'>): <Value>(work: Work<Value>) => Promise<Value> {
  return (work) => withPgTransaction(pool, work);
}

function createHost({ platform, dataDir, outbox, idempotency, counters }: Parts): BrainHost {
  return new BrainHost({
    platform,
    git: createGit(),
    idempotency,
    outbox,
    rules: noPolicies,
    counters,
    sync: readSyncSettings(platform.config, () => performance.now()),
    dataDir,
  });
}

async function createDeps(
  { platform, models, idempotency, counters }: Parts,
  host: BrainHost,
  router: BrainRouter,
  layout: LegacyLayout,
): Promise<BrainDeps> {
  const { database, config, node } = platform;
  const client = poolClient(database.pool);
  const transact = transactor(database);
  const { stdout } = await createGit().run({ args: ['version'] });
  return {
    defaultBrain: config.SVC_BRAIN,
    sessions: new SessionStore({
      client,
      transact,
      idempotency,
      defaultBrain: config.SVC_BRAIN,
      exclusive: database.exclusive,
    }),
    router,
    host,
    layout,
    counters,
    catalogueSizes: async (brains) => readCatalogueSizes(await models.client(), brains),
    version: node.version,
    gitVersion: stdout.toString('utf8').trim(),
    startedAt: node.startedAt,
  };
}

/** As whom the service itself acts. */
function serviceContext(platform: Platform): OpContext {
  return {
    actor: 'service',
    subject: {},
    caller: { session: '0'.repeat(64), verifiedAgent: null, declaredAgent: null },
    fence: null,
    deadlineAt: platform.clock.now() + 20 * DEFAULT_DEADLINE_MS,
    idempotency: null,
  };
}
