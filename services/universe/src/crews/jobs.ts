import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { CrewReconciler } from './reconciler.ts';

const RECONCILE_MS = 3000;
const HOUR_MS = 3_600_000;

export function crewJobs({ finish, sweep }: CrewReconciler): JobDeclaration[] {
  return [
    { id: 'universe.crews', everyMs: RECONCILE_MS, scope: 'cluster', run: () => finish() },
    { id: 'universe.crew-sweep', everyMs: HOUR_MS, scope: 'cluster', run: () => sweep() },
  ];
}
