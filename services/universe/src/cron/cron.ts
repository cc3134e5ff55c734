/** The room of jobs, opened. */
import type { Platform } from '@svc/runtime/platform.ts';
import type { InnerCalls } from '../inner-calls.ts';
import type { UniverseStore } from '../universe-store.ts';
import { createJobStore, type JobStore } from './job-store.ts';
import { createPresence } from './presence.ts';
import { createCronRunner, type CronRunner, type RunnerParts } from './runner.ts';
import { createRunStore, type RunStore } from './run-store.ts';

/** What the tools of jobs work with. */
export interface CronDeps {
  readonly jobs: JobStore;
  readonly runs: RunStore;
  readonly runner: CronRunner;
}

interface CronParts extends Pick<RunnerParts, 'registry'> {
  readonly store: UniverseStore;
  readonly calls: InnerCalls;
}

export async function openCron(platform: Platform, { store, calls, registry }: CronParts): Promise<CronDeps> {
  const { database, ids, node } = platform;
  const presence = database.exclusive ? null : createPresence(database, node.instance);
  const jobs = createJobStore(store, ids, registry);
  const runs = createRunStore(store, { ids, holder: presence?.holder ?? null });
  // Who ran them was the process before this one.
  if (presence === null) await runs.loseSilent(0);
  return { jobs, runs, runner: createCronRunner({ platform, runs, calls, registry, presence }) };
}
