/** The brain service: versioned files, branches, leases, search. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Check } from '@svc/contract/discovery.ts';
import { DEFAULT_DEADLINE_MS } from '@svc/contract/tool.ts';
import type { Database, SqlClient } from '@svc/runtime/database.ts';
import { type AuditRelay, createAuditRelay } from '@svc/runtime/audit-relay.ts';
import { createIdempotency, type Idempotency } from '@svc/runtime/idempotency.ts';
import { migrate } from '@svc/runtime/migrations.ts';
import { createOutbox, type Outbox } from '@svc/runtime/outbox.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRegistryClient } from '@svc/runtime/registry.ts';
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
import type { RowRules } from './ports.ts';
import { answerForPrototypes } from './prototype-files.ts';
import { DenialLog } from './rules/denial-log.ts';
import { readHashKey } from './rules/hash-key.ts';
import { RegistryRules } from './rules/registry-rules.ts';
import { readCatalogueSize, readCatalogueSizes } from './store/catalogue.ts';
import { createTellDenials } from './store/island-denials.ts';
import { createModels, type Models } from './store/models.ts';
import { SessionStore } from './store/session-store.ts';
import { startSuccession } from './succession.ts';
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
  readonly audit: AuditRelay;
  readonly idempotency: Idempotency;
  readonly counters: Counters;
  readonly rules: RowRules;
  readonly denials: DenialLog;
}

async function startBrain(platform: Platform): Promise<ServiceHandle<BrainDeps>> {
  const parts = await openParts(platform);
  const { outbox, audit, denials, models, idempotency, dataDir } = parts;
  const { config } = platform;
  const layout = new LegacyLayout({ dataDir, legacyDirs: config.SVC_LEGACY_DIR ?? [], platform });
  await layout.open();
  await outbox.start();
  audit.start();
  const host = createHost(parts);
  const membership = await startMembership(host, platform);
  const router = new BrainRouter(host, platform);
  await router.start();
  await host.create(config.SVC_BRAIN, 'service');
  await host.serve(config.SVC_BRAIN);
  const deps = await createDeps(parts, host, router, layout);
  await layout.migrate(router.brain(config.SVC_BRAIN), serviceContext(platform));
  const succession = await startSuccession(layout, platform);
  const prototypes = await answerForPrototypes(router, platform);
  await scheduleJobs({ platform, host, outbox, idempotency, sessions: deps.sessions });
  return {
    deps,
    checks: () => checksOf(platform),
    async drain() {
      await succession.stop();
      await prototypes.drain();
      await router.drain();
      await host.handOver();
      await membership.leave();
    },
    async close() {
      await denials.close();
      await audit.close();
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
  const tables = {
    schema: SCHEMA,
    client: poolClient(database.pool),
    exclusive: database.exclusive,
    transact,
    platform,
  };
  return {
    platform,
    dataDir,
    models: createModels(database, SCHEMA),
    outbox: createOutbox({ service: 'brain', ...tables }),
    audit: createAuditRelay(tables),
    idempotency: createIdempotency(SCHEMA),
    counters: createCounters(),
    rules: await createRules(platform, dataDir),
    denials: new DenialLog({ ...tables, ids: platform.ids, log }),
  };
}

async function createRules(platform: Platform, dataDir: string): Promise<RowRules> {
  const { random, node } = platform;
  const key = await readHashKey(dataDir, { randomBytes: (count) => random.bytes(count), unique: node.instance });
  return new RegistryRules(createRegistryClient(platform), key);
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

function createHost({ platform, dataDir, outbox, idempotency, rules, denials, counters }: Parts): BrainHost {
  return new BrainHost({
    platform,
    git: createGit(),
    idempotency,
    outbox,
    rules,
    denials,
    counters,
    sync: readSyncSettings(platform.config, () => performance.now()),
    dataDir,
  });
}

async function createDeps(
  { platform, models, idempotency, outbox, rules, counters }: Parts,
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
    rules,
    tellDenials: createTellDenials({ schema: SCHEMA, outbox, ids: platform.ids, transact }),
    counters,
    catalogueSizes: async (brains) => readCatalogueSizes(await models.client(), brains),
    catalogueSizeOf: (brain, counted) => readCatalogueSize(client, brain, counted),
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
    registry: null,
    operator: false,
    isService: true,
  };
}
