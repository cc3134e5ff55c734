/** What is measured under load: each scenario is a server, a body and a number of connections. */
import { callBody } from './call.ts';
import { type LoadResult, offerLoad } from './offered-load.ts';
import type { NodeProcess } from './process.ts';
import { AUTHORISED } from './system.ts';

export type Group = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 't' | 'draws' | 'peers' | 'mcp';

export interface Scenario {
  readonly group: Group;
  readonly title: string;
  readonly urls: readonly string[];
  /** Everything that works for the reply, but for the servers that it stands on. */
  readonly processes: readonly NodeProcess[];
  readonly connections: number;
  readonly bodies: readonly string[];
  /** Where the bodies go; /call by default. */
  readonly path?: string;
  /** Who calls; the operator by default. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The scenario that this one is compared with. */
  readonly baseline?: string;
  readonly aim?: string;
}

export const CONNECTIONS = 64;
/** Files that the writers go round; no two requests in flight name the same one. */
const WRITE_SLOTS = 2000;
/** Seconds of load before each measured time. */
const WARMUP_SECONDS = 1;

export const READ_TOOL = 'brain_migration_status';
export const READ_BODY = callBody(READ_TOOL, {});
export const WRITE_BODY = callBody('svc_set_memory', {
  category: 'bench',
  filename: 'w{slot}',
  content: `# Note {slot}\n\n${'Some words that a writer would keep. '.repeat(12)}\n\nWritten by request {number}.\n`,
});

const lastNumbers = new Map<string, number>();

export interface RoundResult extends Omit<LoadResult, 'replies' | 'lastNumber'> {
  /** Processor time of the scenario's processes for each reply, microseconds. */
  readonly cpuMicros: number;
}

/** One round; the connections are shared out when there are several gateways. */
export async function runScenario(scenario: Scenario, seconds: number): Promise<RoundResult> {
  const { title, urls, processes, connections, bodies, path = '/call', headers = AUTHORISED } = scenario;
  const cpuMs = (): number => processes.reduce((sum, one) => sum + one.cpuMs(), 0);
  const cpuBeforeMs = cpuMs();
  const results = await Promise.all(
    urls.map((url) =>
      offerLoad({
        url: `${url}${path}`,
        headers,
        connections: connections / urls.length,
        seconds,
        warmupSeconds: WARMUP_SECONDS,
        bodies,
        slots: WRITE_SLOTS,
        firstNumber: lastNumbers.get(title) ?? 0,
        unwanted: '"error"',
      }),
    ),
  );
  lastNumbers.set(title, Math.max(...results.map(({ lastNumber }) => lastNumber)));
  const spentMs = cpuMs() - cpuBeforeMs;
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p50Ms: mean(results.map(({ p50Ms }) => p50Ms)),
    p95Ms: Math.max(...results.map(({ p95Ms }) => p95Ms)),
    p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
    cpuMicros: (1000 * spentMs) / results.reduce((sum, { replies }) => sum + replies, 0),
  };
}
