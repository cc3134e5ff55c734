/** The market: what is traded. */
import { join } from 'node:path';
import { MARKET_EVENTS } from '@svc/contract/events.market.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import type { MarketDeps } from './deps.ts';
import { marketJobs } from './jobs.ts';
import { createPorts } from './ports.ts';
import { createRegistry } from './registry.ts';
import { createOfferStore } from './store/offer-store.ts';
import { createReconciler } from './store/reconciler.ts';
import { createSettling } from './store/settling.ts';
import { createTradeStore } from './store/trade-store.ts';
import { allTools } from './tools/all.ts';

export const marketService = storeService<MarketDeps, typeof MARKET_EVENTS>({
  name: 'market',
  tools: allTools,
  events: MARKET_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
  async open(platform, store) {
    const { log, ids } = platform;
    const settling = createSettling({ store, ports: createPorts(platform), log });
    const reconciler = createReconciler({ store, settling, log });
    const deps = {
      offers: createOfferStore(store, ids),
      trades: createTradeStore(store, settling),
      registry: createRegistry(platform),
      ids,
      sweep: reconciler.closeDue,
    };
    return { deps, jobs: marketJobs(reconciler) };
  },
});
