/** The market: what is traded. */
import { join } from 'node:path';
import { MARKET_EVENTS } from '@svc/contract/events.market.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import type { MarketDeps } from './deps.ts';
import { marketJobs } from './jobs.ts';
import { createPorts } from './ports.ts';
import { createRegistry } from './registry.ts';
import { createMarketAudit } from './store/market-audit.ts';
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
    const ports = createPorts(platform);
    const settling = createSettling({ store, ports, log });
    const reconciler = createReconciler({ store, settling, log });
    const deps = {
      offers: createOfferStore(store, ids),
      trades: createTradeStore(store, settling),
      registry: createRegistry(platform),
      ids,
      sweep: reconciler.closeDue,
    };
    const audit = createMarketAudit({ store, money: ports.money, platform });
    // What was cut off first: it is no contradiction.
    await reconciler.finish({ atStart: true });
    await audit.run();
    return {
      deps,
      jobs: marketJobs(reconciler, audit),
      checks: async () => [{ name: 'trades', status: audit.holds() ? 'ok' : 'degraded' }],
    };
  },
});
