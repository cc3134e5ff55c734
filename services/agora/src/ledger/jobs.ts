/** Recurring work of topics. The rows are the truth; a run only looks. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { LedgerStore } from './store/ledger-store.ts';

const CLOSE_MS = 1000;

const FREE_MS = 3_600_000;

type Swept = Pick<LedgerStore, 'closeOverdue' | 'sweepReplicas'>;

export function ledgerJobs({ closeOverdue, sweepReplicas }: Swept): JobDeclaration[] {
  return [
    { id: 'agora.topics', everyMs: CLOSE_MS, scope: 'cluster', run: closeOverdue },
    { id: 'agora.copies', everyMs: FREE_MS, scope: 'cluster', run: sweepReplicas },
  ];
}
