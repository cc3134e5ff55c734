/** The ledger: what it costs. */
import { join } from 'node:path';
import { ESCROW_EVENTS } from '@svc/contract/events.escrow.ts';
import { ESCROW } from '@svc/contract/operations.escrow.ts';
import { serveOperations } from '@svc/runtime/operations.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import { holdsRole } from './access.ts';
import type { EscrowDeps } from './deps.ts';
import { ledgerJobs } from './jobs.ts';
import { createAccountOpening } from './account-opening.ts';
import { escrowOperations } from './operations/all.ts';
import { createRegistry } from './ports.ts';
import { createMemoryKeyStates } from './qos/key-states.memory.ts';
import { createRedisKeyStates } from './qos/key-states.redis.ts';
import { createQos } from './qos/qos.ts';
import { sweepHolds } from './store/hold-sweep.ts';
import { createReconciliation } from './store/reconciliation.ts';
import { LedgerReads } from './store/ledger-reads.ts';
import { LedgerStore } from './store/ledger-store.ts';
import { allTools } from './tools/all.ts';

export const escrowService = storeService({
  name: 'escrow',
  tools: allTools,
  serve: (platform, deps: EscrowDeps) =>
    serveOperations(platform, { operations: ESCROW, handlers: escrowOperations, deps }),
  events: ESCROW_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
  async open(platform, store) {
    const deps = createDeps(store, platform);
    const { ledger, audit, registry } = deps;
    // Holds first: those that ended while nothing ran are no contradiction.
    await sweepHolds(store.client, ledger, platform);
    await audit.begin();
    return {
      deps,
      holdsRole: (caller, workspace, role) => holdsRole(registry, caller, workspace, role),
      jobs: ledgerJobs(platform, store, deps),
      // A frozen account shows here until it is repaired; all others are served meanwhile.
      checks: async () => [{ name: 'ledger', status: (await audit.holds()) ? 'ok' : 'degraded' }],
      drain: () => ledger.drain(),
    };
  },
});

function createDeps(store: ServiceStore, platform: Platform): EscrowDeps {
  const { config, shared, clock } = platform;
  const keyStates = shared({ memory: () => createMemoryKeyStates(clock), redis: createRedisKeyStates });
  const registry = createRegistry(platform);
  return {
    ledger: new LedgerStore(store, platform),
    reads: new LedgerReads(store.client, store.pool),
    audit: createReconciliation(store, platform),
    registry,
    accountOpening: createAccountOpening(store.client, registry),
    qos: createQos(keyStates, config.SVC_BREAKER_OPEN_S * 1000),
  };
}
