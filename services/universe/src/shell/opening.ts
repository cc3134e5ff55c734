/** Opens the room in which programs of callers run. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createRefusals, type SandboxDeps } from '../sandbox-deps.ts';
import type { UniverseStore } from '../universe-store.ts';
import { createJobStore } from './job-store.ts';
import { createShellSandbox } from './sandbox.ts';
import { createShell } from './shell.ts';

interface Shells {
  readonly deps: Pick<SandboxDeps, 'shell' | 'jobs' | 'newJobId' | 'refusals'>;
  readonly jobs: readonly JobDeclaration[];
}

const SWEEP_MS = 600_000;

export function openShells(
  { clock, config, ids }: Pick<Platform, 'clock' | 'config' | 'ids'>,
  store: UniverseStore,
): Shells {
  const jobs = createJobStore(store);
  const shell = createShell(clock, createShellSandbox(config.SVC_BUBBLEWRAP));
  return {
    deps: { shell, jobs, newJobId: () => ids.next('job'), refusals: createRefusals() },
    jobs: [{ id: 'universe.shell-jobs', everyMs: SWEEP_MS, scope: 'cluster', run: () => jobs.sweep() }],
  };
}
