import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Carrier } from '@svc/runtime/carrier.ts';
import type { InboxStore } from './inbox-store.ts';
import type { WorkStore } from './work-store.ts';

const REPORT_MS = 5000;
const EXPIRE_MS = 5000;
const SWEEP_MS = 600_000;

interface Kept {
  readonly work: Pick<WorkStore, 'expire' | 'sweep'>;
  readonly inboxes: Pick<InboxStore, 'sweep'>;
  readonly reporting: Pick<Carrier, 'flush'>;
}

export function streamJobs({ work, inboxes, reporting }: Kept): JobDeclaration[] {
  return [
    { id: 'universe.work-expiry', everyMs: EXPIRE_MS, scope: 'cluster', run: () => work.expire() },
    { id: 'universe.work-sweep', everyMs: SWEEP_MS, scope: 'cluster', run: () => work.sweep() },
    { id: 'universe.inbox-sweep', everyMs: SWEEP_MS, scope: 'cluster', run: () => inboxes.sweep() },
    { id: 'universe.task-reports', everyMs: REPORT_MS, scope: 'cluster', run: () => reporting.flush() },
  ];
}
