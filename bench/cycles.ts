/** Work of many clients in cycles, each kind beside a first one that is the measure of the others. */
import { callTool } from './call.ts';
import { markdownTable, median, quantile, shown } from './figures.ts';
import { AUTHORISED, startCluster, startEmbedded, startServers, type System, temporaryDataDir } from './system.ts';

export const CLIENTS = 64;
const WARMUP_MS = 1000;

/** `key`: of a call that takes effect once, however often it is sent. */
export type Ask = (
  tool: string,
  args: Readonly<Record<string, unknown>>,
  key?: string,
) => Promise<Readonly<Record<string, unknown>>>;
/** One cycle of that client; `turn` counts the cycles of all, also over the rounds. */
export type Cycle = (client: number, turn: number) => Promise<void>;

interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of all processes of the system for each cycle. */
  readonly cpuMs: number;
}

export interface Case {
  readonly title: string;
  readonly cycle: Cycle;
  readonly aim: string;
}

export interface Cycles {
  /** What the first case is called as a measure. */
  readonly unit: string;
  casesOf(ask: Ask): Promise<readonly Case[]>;
}

/** Resolves with Markdown tables: embedded, and on a cluster where there are servers. */
export async function measureCycles(
  measured: Cycles,
  { seconds, rounds, profiling }: { seconds: number; rounds: number; profiling: Readonly<Record<string, string>> },
): Promise<string> {
  const tables: string[] = [];
  const dataDir = temporaryDataDir();
  tables.push(await measureOn('embedded', await startEmbedded(dataDir.path, profiling), measured, { seconds, rounds }));
  dataDir.remove();
  const servers = await startServers();
  if (servers !== null) {
    const cluster = await startCluster(servers, { gateways: 1, brains: 1 }, profiling);
    tables.push(await measureOn('cluster 1+1', cluster, measured, { seconds, rounds }));
    await servers.stop();
  }
  return tables.join('\n\n');
}

async function measureOn(
  place: string,
  system: System,
  { unit, casesOf }: Cycles,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<string> {
  const [url = ''] = system.urls;
  const ask: Ask = async (tool, args, key) => {
    const headers = key === undefined ? AUTHORISED : { ...AUTHORISED, 'idempotency-key': key };
    return (await callTool(url, headers, tool, args)).content as Record<string, unknown>;
  };
  try {
    const cases = await casesOf(ask);
    const rates = new Map<string, Rate[]>(cases.map(({ title }) => [title, []]));
    const turns = new Map<string, number>();
    for (let round = 0; round < rounds; round += 1) {
      for (const one of cases) {
        const { rate, cycles } = await rateOf(system, one.cycle, seconds, turns.get(one.title) ?? 0);
        turns.set(one.title, cycles);
        rates.get(one.title)?.push(rate);
      }
    }
    const of = (title: string, field: keyof Rate): number =>
      median((rates.get(title) ?? []).map((rate) => rate[field]));
    const base = cases[0]?.title ?? '';
    const rows = cases.map(({ title, aim }) => [
      title,
      shown(of(title, 'perSecond')),
      shown(of(title, 'p50Ms'), 1),
      shown(of(title, 'p99Ms'), 1),
      shown(of(title, 'cpuMs'), 2),
      `${shown(of(base, 'perSecond') / of(title, 'perSecond'), 1)} (by CPU ${shown(of(title, 'cpuMs') / of(base, 'cpuMs'), 1)})`,
      aim,
    ]);
    return markdownTable([`${place}, ${CLIENTS} clients`, 'a second', 'p50 ms', 'p99 ms', 'CPU ms', unit, 'aim'], rows);
  } finally {
    await system.stop();
  }
}

async function rateOf(
  { processes }: System,
  cycle: Cycle,
  seconds: number,
  from: number,
): Promise<{ readonly rate: Rate; readonly cycles: number }> {
  const beginsAt = performance.now() + WARMUP_MS;
  const endsAt = beginsAt + seconds * 1000;
  const times: number[] = [];
  let cycles = from;
  const cpu = (): number => processes.reduce((sum, one) => sum + one.cpuMs(), 0);
  const before = cpu();
  const client = async (number: number): Promise<void> => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      await cycle(number, cycles++);
      if (startedAt >= beginsAt && performance.now() <= endsAt) times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  const rate = {
    perSecond: times.length / seconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    cpuMs: (cpu() - before) / (cycles - from),
  };
  return { rate, cycles };
}
