/** Recurring work of the ledger. The truth is in the database; a run only looks. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import type { EscrowDeps } from './deps.ts';
import { sweepHolds } from './store/hold-sweep.ts';

const SWEEP_HOLDS_MS = 30_000;
const AUDIT_MS = 3_600_000;
/** What came since is read by the next start too, which waits for it. */
const CATCH_UP_MS = 300_000;

export function ledgerJobs(
  parts: Pick<Platform, 'clock' | 'log'>,
  { client }: Pick<ServiceStore, 'client'>,
  { ledger, audit }: Pick<EscrowDeps, 'ledger' | 'audit'>,
): JobDeclaration[] {
  return [
    {
      id: 'escrow.hold-sweep',
      everyMs: SWEEP_HOLDS_MS,
      scope: 'cluster',
      run: () => sweepHolds(client, ledger, parts),
    },
    { id: 'escrow.catch-up', everyMs: CATCH_UP_MS, scope: 'cluster', run: ({ signal }) => audit.run(signal) },
    { id: 'escrow.audit', everyMs: AUDIT_MS, scope: 'cluster', run: ({ signal }) => audit.readWhole(signal) },
  ];
}
