/** The brain service: versioned files, branches, leases, search. */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CallError } from '@svc/contract/codes.ts';
import { deny } from '@svc/contract/decision.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import { DEFAULT_DEADLINE_MS, type IdempotencyScope } from '@svc/contract/tool.ts';
import { BRAIN_EVENTS } from '@svc/contract/events.brain.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { serveOperations } from '@svc/runtime/operations.ts';
import { diskTroubleOf } from '@svc/runtime/disk-errors.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRegistryClient, type RegistryClient } from '@svc/runtime/registry.ts';
import { createSettings } from '@svc/runtime/settings.ts';
import { reasonOf, StartProblem } from '@svc/runtime/start-problem.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { type OpenService, storeService } from '@svc/runtime/store-service.ts';
import { createBackupShelf } from './backup/backup-shelf.ts';
import { createRestoreNew } from './backup/restore-new.ts';
import { BrainHost } from './brain/brain-host.ts';
import { BrainRouter } from './brain/brain-router.ts';
import { readSyncSettings, type SyncSettings } from './brain/remotes.ts';
import type { BrainDeps } from './deps.ts';
import { createMeaning, type Meaning } from './embedding/meaning.ts';
import { createKeptContexts } from './context/kept-contexts.ts';
import { beatDue } from './context/heartbeat.ts';
import { createHeartbeatStore } from './context/heartbeat-store.ts';
import { createContextStore } from './context/context-store.ts';
import { createGit, type Git } from './git/run.ts';
import { brainJobs } from './jobs.ts';
import { LegacyLayout } from './legacy-layout.ts';
import { agreeOnPlace, startMembership } from './membership.ts';
import type { RowRules } from './ports.ts';
import { DenialLog } from './rules/denial-log.ts';
import { directoryOf, findHashKey, readHashKey } from './rules/hash-key.ts';
import { createClaimBoundary, createCopyBoundaries } from './rules/copy-boundaries.ts';
import { createHomeRoles, createWorkspacesOf } from './rules/home-roles.ts';
import { RegistryRules } from './rules/registry-rules.ts';
import { serviceContext } from './service-context.ts';
import { serviceOperations } from './service-operations.ts';
import { readCatalogueSize, readCatalogueSizes } from './store/catalogue.ts';
import { familyStores } from './store/family-stores.ts';
import { createTellDenials } from './store/island-denials.ts';
import { readHomesOfResource } from './store/file-homes.ts';
import { SessionStore } from './store/session-store.ts';
import { tellOfImport } from './succession.ts';
import { createStegoThreads } from './stego/stego-threads.ts';
import { createRemoteStore, type RemoteStore } from './sync/remote-store.ts';
import { createSyncStore } from './sync/sync-store.ts';
import { brainTools } from './tools/all.ts';
import { type Counters, createCounters } from './writer/counters.ts';
import type { BranchWriter } from './writer/branch-writer.ts';

const DIRECTORIES = ['brains', 'worktrees', 'journal', 'cache', 'backups'];

export const brainService = storeService({
  name: 'brain',
  tools: brainTools,
  serve: (platform, deps) => serveOperations(platform, { operations: BRAIN, handlers: serviceOperations, deps }),
  events: BRAIN_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
  open: openService,
});

interface Parts {
  readonly platform: Platform;
  readonly dataDir: string;
  readonly store: ServiceStore;
  readonly counters: Counters;
  readonly rules: RowRules;
  readonly registry: RegistryClient<'brain'>;
  readonly handleKey: Uint8Array;
  readonly denials: DenialLog;
  readonly git: Git;
  readonly sync: SyncSettings;
  readonly namedRemotes: RemoteStore;
}

async function openService(platform: Platform, store: ServiceStore): Promise<OpenService<BrainDeps>> {
  const parts = await openParts(platform, store);
  const { denials, dataDir } = parts;
  const { config } = platform;
  const layout = new LegacyLayout({ dataDir, legacyDirs: config.SVC_LEGACY_DIR ?? [], platform });
  await layout.open();
  const settings = createSettings({ config, registry: parts.registry });
  const meaning: Meaning = createMeaning({ ...parts, settings, openBrains: () => host.openBrains() });
  const host: BrainHost = createHost(parts, meaning);
  measureBrains(platform, host, meaning);
  const membership = await startMembership(host, platform, directoryOf(parts.handleKey));
  const router = new BrainRouter(host, platform);
  await router.start();
  await host.finishMoves();
  await host.create(config.SVC_BRAIN, { by: 'service', workspace: DEFAULT_WORKSPACE, family: null });
  await openIfSound(host, config.SVC_BRAIN);
  const deps = await createDeps({ ...parts, settings, meaning }, host, router, layout);
  const now = platform.clock.now();
  await layout.migrate(router.brain(config.SVC_BRAIN, serviceContext(now, now + 20 * DEFAULT_DEADLINE_MS)));
  const succession = tellOfImport(layout, parts.registry, platform.log);
  return {
    deps,
    jobs: brainJobs({
      ...parts,
      host,
      sessions: deps.sessions,
      meaning,
      beat: () => beatDue(deps, platform.clock),
    }),
    async drain() {
      await succession.stop();
      await router.drain();
      await host.handOver();
      await membership.leave();
    },
    async close() {
      await deps.stego[Symbol.asyncDispose]();
      await denials.close();
    },
  };
}

function measureBrains({ metrics }: Platform, host: BrainHost, meaning: Meaning): void {
  const overTrees = async (figure: (writer: BranchWriter) => number): Promise<number> => {
    const trees = await Promise.all(host.openBrains().map((brain) => brain.trees.all()));
    return trees.flatMap((open) => [...open.values()]).reduce((sum, writer) => sum + figure(writer), 0);
  };
  metrics.gauge('svc_brains_open', 'Brains that this process works on.', [], (gauge) => {
    gauge.set(host.openBrains().length);
  });
  metrics.gauge('svc_writes_waiting', 'Writes in the queues of branches.', [], async (gauge) => {
    gauge.set(await overTrees(({ depth }) => depth));
  });
  metrics.gauge('svc_index_bytes', 'Memory of the search indexes that are loaded, estimated.', [], (gauge) => {
    gauge.set(host.indexes.bytes);
  });
  metrics.gauge('svc_vectors_pending', 'Passages whose vectors are still to be made.', [], (gauge) => {
    gauge.set(host.openBrains().reduce((sum, brain) => sum + meaning.filler.pendingOf(brain, () => true), 0));
  });
  metrics.gauge('svc_vectors_bytes', 'Memory of the vectors of passages.', [], (gauge) => {
    gauge.set(meaning.vectors.bytes);
  });
  metrics.gauge('svc_index_pending', 'Changed files that the next searches take in.', [], async (gauge) => {
    gauge.set(await overTrees(({ tree }) => tree.index.pending()));
  });
}

/** With the directories that this version needs. */
async function openParts(platform: Platform, store: ServiceStore): Promise<Parts> {
  const { log, config, ids } = platform;
  const dataDir = resolve(config.SVC_DATA_DIR);
  await agreeOnPlace(platform, async () => {
    const key = await findHashKey(dataDir);
    return key === null ? null : directoryOf(key);
  });
  await makeDirectories(dataDir);
  const { client, schema, audit } = store;
  const namedRemotes = createRemoteStore(store);
  return {
    platform,
    dataDir,
    store,
    counters: createCounters(),
    git: createGit(),
    sync: readSyncSettings(config, namedRemotes, () => performance.now()),
    namedRemotes,
    ...(await createRules(platform, dataDir)),
    denials: new DenialLog({ client, schema, audit, ids, log }),
  };
}

async function makeDirectories(dataDir: string): Promise<void> {
  try {
    for (const name of DIRECTORIES) await mkdir(join(dataDir, name), { recursive: true });
  } catch (error) {
    if (diskTroubleOf(error) !== null) throw error;
    throw new StartProblem(`SVC_DATA_DIR: nothing can be kept in ${dataDir} (${reasonOf(error)})`);
  }
}

/** Where it went wrong, without the message, which may quote what is hidden. */
function framesOf(error: unknown): readonly string[] {
  const { name, stack = '' } = error instanceof Error ? error : new Error();
  return [name, ...stack.split('\n').filter((line) => /^\s+at /.test(line))];
}

async function createRules(
  platform: Platform,
  dataDir: string,
): Promise<Pick<Parts, 'rules' | 'registry' | 'handleKey'>> {
  const { random, node, log } = platform;
  const key = await readHashKey(dataDir, { randomBytes: (count) => random.bytes(count), unique: node.instance });
  const registry = createRegistryClient(platform, 'brain');
  return {
    rules: new RegistryRules(registry, key, (path, error) =>
      log.error(
        { file: path, bug: framesOf(error) },
        'the hidden fields of a file could not be told apart; it is hidden',
      ),
    ),
    registry,
    handleKey: key,
  };
}

function createHost({ store: { outbox, audit, idempotency }, ...parts }: Parts, meaning: Meaning): BrainHost {
  const { platform, rules, registry, handleKey, denials, counters, git, sync, dataDir } = parts;
  return new BrainHost({
    platform,
    git,
    idempotency,
    outbox,
    audit,
    rules,
    claimBoundary: createClaimBoundary(registry),
    denials,
    counters,
    meaning,
    contexts: createKeptContexts(),
    handleKey,
    defaultBrain: platform.config.SVC_BRAIN,
    sync,
    dataDir,
  });
}

async function createDeps(
  parts: Parts & Pick<BrainDeps, 'settings' | 'meaning'>,
  host: BrainHost,
  router: BrainRouter,
  layout: LegacyLayout,
): Promise<BrainDeps> {
  const { platform, store, rules, registry, counters, dataDir, settings, meaning, git, sync, namedRemotes } = parts;
  const { node, ids, database, log, clock } = platform;
  const { client, schema, outbox, audit, idempotency, transact } = store;
  const defaultBrain = platform.config.SVC_BRAIN;
  const { stdout } = await git.run({ args: ['version'] });
  return {
    defaultBrain,
    sessions: new SessionStore({ client, transact, idempotency, defaultBrain, exclusive: database.exclusive }),
    router,
    host,
    layout,
    rules,
    homeRoles: createHomeRoles(registry),
    workspacesOf: createWorkspacesOf(registry),
    rolesOf: async (userId, workspaceId) => (await registry.roles({ userId, workspaceId })).roles,
    boundaries: createCopyBoundaries(registry),
    settings,
    meaning,
    changeSetting: registry.changeSetting,
    agents: registry.agents,
    revision: registry.revision,
    homesOf: (resource) => readHomesOfResource(client, resource),
    backups: createBackupShelf(dataDir),
    restoreNew: createRestoreNew({ platform, host, git, dataDir, knowsWorkspace: knowsWorkspaceOf(registry) }),
    stego: createStegoThreads(),
    syncs: createSyncStore(store, platform.clock),
    namedRemotes,
    remotes: sync,
    git,
    ...familyStores(store, platform),
    tellDenials: createTellDenials({ schema, outbox, audit, ids, transact }),
    contexts: contextParts(store),
    log,
    clock,
    forgo: createForgo(store),
    counters,
    catalogueSizes: (brains) => readCatalogueSizes(store.client, brains),
    catalogueSizeOf: (brain, counted) => readCatalogueSize(client, brain, counted),
    version: node.version,
    gitVersion: stdout.toString('utf8').trim(),
  };
}

function knowsWorkspaceOf({ roles }: RegistryClient<'brain'>) {
  return async (workspaceId: string): Promise<boolean> => (await roles({ userId: 'service', workspaceId })).known;
}

function contextParts(store: ServiceStore): BrainDeps['contexts'] {
  return {
    store: createContextStore(store),
    heartbeats: createHeartbeatStore(store),
    tools: brainTools.map(({ name, description }) => ({ name, description })),
  };
}

function createForgo({ transact, idempotency }: Pick<ServiceStore, 'transact' | 'idempotency'>): BrainDeps['forgo'] {
  return async <Value>(scope: IdempotencyScope) => {
    const giveUp = async () => deny('E_FENCED');
    const { decision } = await transact((tx) => idempotency.once<Value, 'E_FENCED'>(tx, scope, giveUp));
    return decision.ok ? decision.value : null;
  };
}

/** The others are served also while this one is damaged: whoever asks for it hears why, and health tells of it. */
async function openIfSound(host: BrainHost, brain: string): Promise<void> {
  try {
    await host.open(brain);
  } catch (error) {
    if (!(error instanceof CallError) || error.code !== 'BRAIN_LOAD_FAIL') throw error;
  }
}
