/** Opens the room in which programs of callers run. */
import type { JobDeclaration } from '@svc/runtime/jobs.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { createKeyedRuns } from '../keyed-runs.ts';
import { createRefusals, type SandboxDeps } from '../sandbox-deps.ts';
import type { UniverseStore } from '../universe-store.ts';
import { createFollowing } from './following.ts';
import { createJobStore } from './job-store.ts';
import { createShellSandbox } from './sandbox.ts';
import { createShell } from './shell.ts';

interface Shells {
  readonly deps: Pick<SandboxDeps, 'shell' | 'jobs' | 'following' | 'newJobId' | 'refusals' | 'keyedRuns'>;
  readonly jobs: readonly JobDeclaration[];
  close(): Promise<void>;
}

const SWEEP_MS = 600_000;

export function openShells(
  { clock, config, ids, log }: Pick<Platform, 'clock' | 'config' | 'ids' | 'log'>,
  store: UniverseStore,
): Shells {
  const jobs = createJobStore(store);
  const shell = createShell(clock, createShellSandbox(config.SVC_BUBBLEWRAP));
  const following = createFollowing(jobs, { clock, log });
  const keyedRuns = createKeyedRuns(store, { clock, ids });
  return {
    deps: { shell, jobs, following, newJobId: () => ids.next('job'), refusals: createRefusals(), keyedRuns },
    jobs: [
      { id: 'universe.shell-jobs', everyMs: SWEEP_MS, scope: 'cluster', run: () => jobs.sweep() },
      { id: 'universe.keyed-runs', everyMs: SWEEP_MS, scope: 'cluster', run: () => keyedRuns.sweep() },
    ],
    async close() {
      await shell.close();
      await following.close();
    },
  };
}
