/** The ledger: what it costs. */
import { join } from 'node:path';
import { microsOf } from '@svc/contract/amount.ts';
import type { Check } from '@svc/contract/discovery.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceDefinition, ServiceHandle } from '@svc/runtime/service.ts';
import { openStore, type ServiceStore } from '@svc/runtime/store.ts';
import { holdsRole } from './access.ts';
import { answerOperations } from './bus.ts';
import type { EscrowDeps } from './deps.ts';
import { scheduleJobs } from './jobs.ts';
import { createAccountOpening } from './account-opening.ts';
import { createRegistry } from './ports.ts';
import { createMemoryKeyStates } from './qos/key-states.memory.ts';
import { createRedisKeyStates } from './qos/key-states.redis.ts';
import { createQos } from './qos/qos.ts';
import { sweepHolds } from './store/hold-sweep.ts';
import { createReconciliation } from './store/reconciliation.ts';
import { LedgerReads } from './store/ledger-reads.ts';
import { LedgerStore } from './store/ledger-store.ts';
import { allTools } from './tools/all.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');

export const escrowService: ServiceDefinition<EscrowDeps> = {
  name: 'escrow',
  tools: allTools,
  start: startEscrow,
};

async function startEscrow(platform: Platform): Promise<ServiceHandle<EscrowDeps>> {
  const store = await openStore(platform, { service: 'escrow', migrations: MIGRATIONS });
  const deps = createDeps(store, platform);
  const { ledger, audit, registry } = deps;
  await store.start();
  // Holds first: those that ended while nothing ran are no contradiction.
  await sweepHolds(store.client, ledger, () => platform.clock.now());
  await audit.run();
  await scheduleJobs(platform, store, deps);
  const operations = await answerOperations(deps, platform);
  return {
    deps,
    holdsRole: (caller, workspace, role) => holdsRole(registry, caller, workspace, role),
    checks: () => checksOf(store, deps),
    async drain() {
      await operations.drain();
      await ledger.drain();
    },
    close: () => store.close(),
  };
}

function createDeps(store: ServiceStore, platform: Platform): EscrowDeps {
  const { config, redis, clock } = platform;
  const registry = createRegistry(platform);
  const defaultBudget = microsOf(config.SVC_ESCROW_DEFAULT_BUDGET);
  return {
    ledger: new LedgerStore(store, platform),
    reads: new LedgerReads(store.client, store.pool),
    audit: createReconciliation(store, platform),
    registry,
    accountOpening: createAccountOpening(store.client, registry, defaultBudget),
    qos: createQos(redis === null ? createMemoryKeyStates(clock) : createRedisKeyStates(redis)),
    defaultBudget,
    drawsPerMinute: config.SVC_ESCROW_DRAWS_PER_MINUTE,
  };
}

/** A frozen account shows here until it is repaired; all others are served meanwhile. */
async function checksOf(store: ServiceStore, { audit }: EscrowDeps): Promise<Check[]> {
  const checks = await store.checks();
  if (checks.some(({ status }) => status === 'fail')) return checks;
  return [...checks, { name: 'ledger', status: (await audit.holds()) ? 'ok' : 'degraded' }];
}
