/** Recurring work of topics. The rows are the truth; a run only looks. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { LedgerStore } from './store/ledger-store.ts';

const CLOSE_MS = 1000;

export function ledgerJobs({ closeOverdue }: Pick<LedgerStore, 'closeOverdue'>): JobDeclaration[] {
  return [{ id: 'agora.topics', everyMs: CLOSE_MS, scope: 'cluster', run: closeOverdue }];
}
