/**
 * What is measured in every process of every role, whatever it serves: the process itself, its connections, what waits
 * in it and what it has run. What only one role has, that role adds.
 */
import type { Pool } from 'pg';
import { collectDefaultMetrics } from 'prom-client';
import type { SqlClient } from './database.ts';
import type { JobDeclaration, Jobs } from './jobs.ts';
import type { Metrics } from './metrics.ts';
import type { StatelessPlatform } from './platform.ts';
import { shareRun } from './turns.ts';

/**
 * Delays of the event loop that the defaults tell in vain: their instrument wakes the process a hundred times a second, and
 * counts the time between its looks as delay. `svc_event_loop_delay_seconds` is what it is.
 */
const LOOP_DELAYS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (of) => `nodejs_eventloop_lag_${of}_seconds`,
);
const HARDLY_EVER_MS = 3_600_000;

/**
 * Processor, memory, handles and garbage under the names that dashboards know, and the servers it hangs on: one to which
 * any of its links is down counts as down.
 */
export function measureProcess(
  { metrics, node, links }: Pick<StatelessPlatform, 'metrics' | 'node' | 'links'>,
  roles: readonly string[],
): void {
  collectDefaultMetrics({ register: metrics.registry, eventLoopMonitoringPrecision: HARDLY_EVER_MS });
  for (const name of LOOP_DELAYS) metrics.registry.removeSingleMetric(name);
  const info = metrics.gauge('svc_process_info', 'This process: its roles and version.', ['role', 'version']);
  for (const role of roles) info.set({ role, version: node.version }, 1);
  metrics.gauge('svc_connected', 'Whether the connection to a server stands.', ['server'], (gauge) => {
    for (const [name, ways] of Map.groupBy(links, (link) => link.name)) {
      gauge.set({ server: name === 'nats' ? 'bus' : name }, Number(ways.every(({ isUp }) => isUp())));
    }
  });
}

/** Of all of them together. `waiting`: callers that have to wait for a connection. */
export function measurePools(metrics: Metrics, pools: readonly Pool[]): void {
  if (pools.length === 0) return;
  const sum = (count: (pool: Pool) => number): number => pools.reduce((total, pool) => total + count(pool), 0);
  metrics.gauge('svc_database_pool', 'Connections to the database, and who waits for one.', ['state'], (gauge) => {
    gauge.set(
      { state: 'idle' },
      sum(({ idleCount }) => idleCount),
    );
    gauge.set(
      { state: 'used' },
      sum(({ totalCount, idleCount }) => totalCount - idleCount),
    );
    gauge.set(
      { state: 'waiting' },
      sum(({ waitingCount }) => waitingCount),
    );
  });
}

interface Waiting {
  readonly events: number;
  readonly eventsAge: number;
  readonly audit: number;
  readonly auditAge: number;
}

/** A relay that is far behind need not be counted to the end. */
const MOST_COUNTED = 10_000;

/** What a service has written and not yet handed on: events to the gateways, entries to the audit. */
export function measureRelays(metrics: Metrics, client: SqlClient, service: string): void {
  const age = (rows: string) => `coalesce(extract(epoch FROM clock_timestamp() - min(${rows}.at)), 0)::float8`;
  const oldest = (from: string) => `(SELECT at FROM "${service}".${from} ORDER BY written LIMIT ${MOST_COUNTED})`;
  const read = async (): Promise<Waiting> => {
    const [waiting] = await client.$queryRawUnsafe<Waiting[]>(
      `SELECT * FROM (SELECT count(*)::int AS events, ${age('e')} AS "eventsAge"
         FROM ${oldest('event_batches WHERE last IS NULL')} e) events,
       (SELECT count(*)::int AS audit, ${age('a')} AS "auditAge" FROM ${oldest('audit_batches')} a) audit`,
    );
    return waiting ?? { events: 0, eventsAge: 0, audit: 0, auditAge: 0 };
  };
  // both gauges are read at the same time, from one question
  const waiting = shareRun(read);
  const labels = ['service', 'relay'] as const;
  metrics.gauge('svc_relay_lag_seconds', 'Age of the oldest change not handed on yet.', labels, async (gauge) => {
    const { eventsAge, auditAge } = await waiting();
    gauge.set({ service, relay: 'events' }, Math.max(0, eventsAge));
    gauge.set({ service, relay: 'audit' }, Math.max(0, auditAge));
  });
  metrics.gauge('svc_relay_waiting', 'Changes not handed on yet.', labels, async (gauge) => {
    const { events, audit } = await waiting();
    gauge.set({ service, relay: 'events' }, events);
    gauge.set({ service, relay: 'audit' }, audit);
  });
}

/** The same jobs, each run counted and timed. */
export function measuredJobs(jobs: Jobs, metrics: Metrics): Jobs {
  const runs = metrics.counter('svc_job_runs_total', 'Runs of recurring work in this process.', ['job', 'outcome']);
  const seconds = metrics.histogram('svc_job_seconds', 'Time a run took.', ['job']);
  const measured = (job: JobDeclaration): JobDeclaration => ({
    ...job,
    async run(context) {
      const end = seconds.startTimer({ job: job.id });
      let outcome = 'failed';
      try {
        await job.run(context);
        outcome = 'done';
      } finally {
        end();
        runs.inc({ job: job.id, outcome });
      }
    },
  });
  return {
    schedule: (job) => jobs.schedule(measured(job)),
    wake: (id, at) => jobs.wake(id, at),
    cancel: (id) => jobs.cancel(id),
    close: () => jobs.close(),
  };
}
