/** A process that runs jobs on a database that others use too; what their tools do is for the test to say. */
import { join } from 'node:path';
import { UNIVERSE_EVENTS } from '@svc/contract/events.universe.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { openStore } from '@svc/runtime/store.ts';
import { platformOn } from '@svc/testing/service-bed.ts';
import { openCron } from '../src/cron/cron.ts';
import type { RunRow } from '../src/cron/run-rows.ts';
import type { InnerCall, InnerCalls, Outcome } from '../src/inner-calls.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations');
const WORKSPACE = 'default';

export interface CronBed {
  /** Each second, as the operator. */
  schedule(id: string): Promise<void>;
  /** From now on due ticks are run here. */
  start(): Promise<void>;
  /** Newest first. */
  history(id: string): Promise<RunRow[]>;
  close(): Promise<void>;
}

/** `instance` as other processes on the database know it. */
export async function openCronBed(
  database: Database,
  instance: string,
  task: (call: InnerCall) => Promise<Outcome>,
): Promise<CronBed> {
  const base = platformOn(database);
  const platform = { ...base, node: { ...base.node, instance } };
  const store = await openStore(platform, { service: 'universe', events: UNIVERSE_EVENTS, migrations: MIGRATIONS });
  await store.start();
  const calls: InnerCalls = {
    effectOf: async () => 'write',
    isReady: async () => true,
    assertFits: async () => {},
    make: task,
  };
  const registry = createOperationClient(platform, HABITAT, 'universe');
  const { jobs, runner } = await openCron(platform, { store, calls, registry });
  const call = () => ({
    caller: { subject: {}, operator: true, deadlineAt: Date.now() + 30_000 },
    idempotency: null,
  });
  const everything = { agentId: null, own: [], whole: null };
  return {
    async schedule(id) {
      const who = { identity: 'operator', agentId: null, bound: null, profile: null, family: null };
      const job = { workspace: WORKSPACE, id, intervalMs: 1000, enabled: true, task: { tool: 'pay', args: {} } };
      const { decision } = await jobs.schedule(call(), { ...job, ...who });
      if (!decision.ok) throw new Error(decision.code);
    },
    async start() {
      for (const job of runner.jobs) await platform.jobs.schedule(job);
    },
    async history(id) {
      const [job] = await jobs.list(everything, { workspace: WORKSPACE, id, after: null, limit: 1 });
      return job === undefined ? [] : jobs.history(job.jobKey);
    },
    async close() {
      await platform.jobs.close();
      await runner.drain();
      await store.close();
      await platform.bus.close();
    },
  };
}
