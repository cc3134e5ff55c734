/** The brain service: versioned files, branches, leases, search. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DEFAULT_DEADLINE_MS } from '@svc/contract/tool.ts';
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
  const { database, log, config } = platform;
  const dataDir = resolve(config.SVC_DATA_DIR);
  for (const name of ['brains', 'worktrees', 'journal', 'cache', 'backups'])
    await mkdir(join(dataDir, name), { recursive: true });
  await migrate({ pool: database.pool, schema: SCHEMA, directory: MIGRATIONS, log });
  const transact = <Value>(work: Parameters<typeof withPgTransaction<Value>>[1]) =>
    withPgTransaction(database.pool, work);
  const outbox = createOutbox({
    service: 'brain',
    schema: SCHEMA,
    client: poolClient(database.pool),
    transact,
    platform,
  });
  const models = createModels(database, SCHEMA);
  const parts = {
    platform,
    dataDir,
    models,
    outbox,
    idempotency: createIdempotency(SCHEMA),
    counters: createCounters(),
  };
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
  await scheduleJobs({ platform, host, outbox, idempotency: parts.idempotency, sessions: deps.sessions });

  return {
    deps,
    checks: async () => [
      {
        name: 'database',
        status: await database.ping(1000).then(
          () => 'ok' as const,
          () => 'fail' as const,
        ),
      },
      { name: 'bus', status: platform.bus.connected ? 'ok' : 'fail' },
      { name: 'migrations', status: 'ok' },
    ],
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
  const transact = <Value>(work: Parameters<typeof withPgTransaction<Value>>[1]) =>
    withPgTransaction(database.pool, work);
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
