/** Recurring work of the market. The rows are the truth; a run only looks. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { MarketAudit } from './store/market-audit.ts';
import type { Reconciler } from './store/reconciler.ts';

const SKILLS_MS = 60_000;
const PLAIN_MS = 5000;
const RECONCILE_MS = 5000;
const HOUR_MS = 3_600_000;

interface Work extends Pick<Reconciler, 'finish' | 'closeDue'> {
  readonly audit: Pick<MarketAudit, 'run'>;
  /** Deletes offers that were over long ago. */
  sweepOffers(): Promise<void>;
  /** Takes from closed trades what is not kept for good. */
  sweepTrades(): Promise<void>;
}

export function marketJobs({ finish, closeDue, audit, sweepOffers, sweepTrades }: Work): JobDeclaration[] {
  return [
    {
      id: 'market.skill-sweep',
      everyMs: SKILLS_MS,
      scope: 'cluster',
      run: async () => void (await closeDue('skill')),
    },
    {
      id: 'market.trade-timer',
      everyMs: PLAIN_MS,
      scope: 'cluster',
      run: async () => void (await closeDue('plain')),
    },
    { id: 'market.reconcile', everyMs: RECONCILE_MS, scope: 'cluster', run: () => finish() },
    { id: 'market.audit', everyMs: HOUR_MS, scope: 'cluster', run: async () => void (await audit.run()) },
    { id: 'market.trades', everyMs: HOUR_MS, scope: 'cluster', run: sweepTrades },
    { id: 'market.offers', everyMs: HOUR_MS, scope: 'cluster', run: sweepOffers },
  ];
}
