/** The market: what is traded. */
import { join } from 'node:path';
import { MARKET_EVENTS } from '@svc/contract/events.market.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import type { MarketDeps } from './deps.ts';
import { marketJobs } from './jobs.ts';
import { createLapsing } from './store/lapsing.ts';
import { createPorts } from './ports.ts';
import { createRegistry } from './registry.ts';
import { createMarketAudit } from './store/market-audit.ts';
import { createOfferStore } from './store/offer-store.ts';
import { sweepOffers } from './store/offer-retention.ts';
import { createReconciler } from './store/reconciler.ts';
import { createSettling } from './store/settling.ts';
import { sweepTrades } from './store/trade-retention.ts';
import { createTradeMoves } from './store/trade-moves.ts';
import { createTradeReports } from './store/trade-reports.ts';
import { createTradeSteps } from './store/trade-steps.ts';
import { createTradeStore } from './store/trade-store.ts';
import { allTools } from './tools/all.ts';

/** A caller waits for no more than this of a sweep. */
const SWEPT_WITHIN_MS = 2000;

export const marketService = storeService<MarketDeps, typeof MARKET_EVENTS>({
  name: 'market',
  tools: allTools,
  events: MARKET_EVENTS,
  migrations: join(import.meta.dirname, '..', 'prisma', 'migrations'),
  async open(platform, store) {
    const { log, ids, config, clock, metrics } = platform;
    const ports = createPorts(platform);
    const move = createTradeMoves(store, clock);
    const steps = createTradeSteps(store, clock);
    const registry = createRegistry(platform);
    const isLapsed = createLapsing({ store, trust: ports.trust, registry, clock });
    const reports = createTradeReports({ store, trust: ports.trust, clock, log });
    const unpaid = metrics.counter('svc_market_unpaid_total', 'Closed trades that their buyer could not pay any more.');
    const settling = createSettling({ store, ports, move, steps, reports, log, unpaid });
    const reconciler = createReconciler({ store, isLapsed, move, settling, clock, log });
    const deps: MarketDeps = {
      offers: createOfferStore(store, platform),
      trades: createTradeStore({ store, isLapsed, move, steps, settling, clock }),
      registry,
      ids,
      sweep: (kind) => reconciler.closeDue(kind, SWEPT_WITHIN_MS),
    };
    const audit = createMarketAudit({ store, money: ports.money, platform });
    // Beside the start, which does not wait for the ledger. What was cut off first: it is no contradiction.
    const looked = reconciler
      .finish({ atStart: true })
      .then(() => audit.run())
      .catch((error: unknown) => log.error({ err: error }, 'trades could not be looked at'));
    return {
      deps,
      jobs: marketJobs({
        ...reconciler,
        audit,
        sweepTrades: () => sweepTrades(store.client, config.SVC_KEEP_PAYLOADS_DAYS),
        sweepOffers: () => sweepOffers(store.client, config.SVC_KEEP_OFFERS_DAYS),
      }),
      drain: async () => void (await looked),
      checks: async () => [{ name: 'trades', status: (await audit.holds()) ? 'ok' : 'degraded' }],
    };
  },
});
