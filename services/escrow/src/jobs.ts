/** Recurring work of the ledger. The truth is in the database; a run only looks. */
import type { Platform } from '@svc/runtime/platform.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import type { EscrowDeps } from './deps.ts';
import { sweepHolds } from './store/hold-sweep.ts';

const SWEEP_HOLDS_MS = 30_000;
const AUDIT_MS = 3_600_000;

export async function scheduleJobs(
  { jobs, clock }: Pick<Platform, 'jobs' | 'clock'>,
  { client }: Pick<ServiceStore, 'client'>,
  { ledger, audit }: Pick<EscrowDeps, 'ledger' | 'audit'>,
): Promise<void> {
  await jobs.schedule({
    id: 'escrow.hold-sweep',
    everyMs: SWEEP_HOLDS_MS,
    scope: 'cluster',
    run: () => sweepHolds(client, ledger, () => clock.now()),
  });
  await jobs.schedule({
    id: 'escrow.audit',
    everyMs: AUDIT_MS,
    scope: 'cluster',
    async run() {
      await audit.run();
    },
  });
}
