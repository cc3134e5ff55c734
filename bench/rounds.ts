/** Scenarios measured in rounds, each beside its baseline. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { measureDisk } from './disk.ts';
import { markdownTable, median, shown } from './figures.ts';
import { type RoundResult, runScenario, type Scenario } from './scenarios.ts';
import { temporaryDataDir } from './system.ts';

/** In the first idle seconds after its start a process stands still to give back what that took. */
const SETTLED_MS = 10_000;

interface DiskTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** All in turn, so that a busy moment meets each of them; resolves with a Markdown table. `withDisk`: what the disk does beside it. */
export async function measureRounds(
  scenarios: readonly Scenario[],
  { seconds, rounds, withDisk }: { readonly seconds: number; readonly rounds: number; readonly withDisk: boolean },
): Promise<string> {
  const results = new Map<string, RoundResult[]>(scenarios.map(({ title }) => [title, []]));
  const disk: DiskTimes[] = [];
  const folder = temporaryDataDir();
  await delay(SETTLED_MS);
  for (let round = 1; round <= rounds; round += 1) {
    for (const scenario of scenarios) {
      const result = await runScenario(scenario, seconds);
      results.get(scenario.title)?.push(result);
      process.stderr.write(`round ${round}: ${scenario.title}: ${shown(result.perSecond)}/s\n`);
    }
    if (withDisk) disk.push(await measureDisk(join(folder.path, 'disk'), 1));
  }
  folder.remove();
  const header = ['', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs', 'ratio', 'aim', 'failed'];
  const rows = [...rowsOf(scenarios, results), ...diskRows(disk)];
  return `medians of ${rounds} rounds of ${seconds} s\n\n${markdownTable(header, rows)}`;
}

function rowsOf(scenarios: readonly Scenario[], results: ReadonlyMap<string, readonly RoundResult[]>): string[][] {
  const of = (title: string | undefined, field: keyof RoundResult): number =>
    median((results.get(title ?? '') ?? []).map((result) => result[field]));
  return scenarios.map(({ title, connections, baseline, aim = '' }) => {
    const rate = (100 * of(title, 'perSecond')) / of(baseline, 'perSecond');
    const cpu = (100 * of(baseline, 'cpuMicros')) / of(title, 'cpuMicros');
    return [
      title,
      shown(connections),
      shown(of(title, 'perSecond')),
      shown(of(title, 'p50Ms'), 2),
      shown(of(title, 'p99Ms'), 2),
      shown(of(title, 'cpuMicros')),
      Number.isFinite(rate) ? `${shown(rate)} % of ${baseline} (by CPU ${shown(cpu)} %)` : '',
      aim,
      shown(of(title, 'failed')),
    ];
  });
}

function diskRows(disk: readonly DiskTimes[]): string[][] {
  if (disk.length === 0) return [];
  const [p50, p99] = [median(disk.map(({ p50Ms }) => p50Ms)), median(disk.map(({ p99Ms }) => p99Ms))];
  return [['the disk alone: one durable file', '1', shown(1000 / p50), shown(p50, 2), shown(p99, 2), '', '', '', '0']];
}
