/** Recurring work of the market. The rows are the truth; a run only looks. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { MarketAudit } from './store/market-audit.ts';
import type { Reconciler } from './store/reconciler.ts';

const SKILLS_MS = 60_000;
const PLAIN_MS = 5000;
const RECONCILE_MS = 5000;
const AUDIT_MS = 3_600_000;

export function marketJobs({ finish, closeDue }: Reconciler, audit: Pick<MarketAudit, 'run'>): JobDeclaration[] {
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
    { id: 'market.audit', everyMs: AUDIT_MS, scope: 'cluster', run: async () => void (await audit.run()) },
  ];
}
