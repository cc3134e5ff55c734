/** How long a start takes, on a new data directory and on one that is there, and what a node takes that nobody calls. */
import { setTimeout as sleep } from 'node:timers/promises';
import { markdownTable, median, mebibytes, shown } from './figures.ts';
import { startEmbedded, type System, temporaryDataDir } from './system.ts';

/** Afterwards what belongs to the start is over. */
const SETTLED_MS = 30_000;
const IDLE_MS = 10_000;

/** Resolves with a Markdown table of medians over the rounds. */
export async function measureStarts(rounds: number): Promise<string> {
  const first: Figures[] = [];
  const second: Figures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const dataDir = temporaryDataDir();
    for (const figures of [first, second]) {
      const system = await startEmbedded(dataDir.path);
      figures.push(await figuresOf(system));
      await system.stop();
    }
    dataDir.remove();
  }
  const row = (title: string, figures: readonly Figures[]): string[] => [
    title,
    shown(median(figures.map(({ healthyAfterMs }) => healthyAfterMs))),
    shown(median(figures.map(({ readyAfterMs }) => readyAfterMs))),
    mebibytes(median(figures.map(({ residentBytes }) => residentBytes))),
    median(figures.map(({ idlePercent }) => idlePercent)).toFixed(1),
  ];
  return markdownTable(
    ['embedded start', 'ms to /health', 'ms to /ready', 'RSS when ready', 'idle: % of a core'],
    [row('new data directory', first), row('existing data directory', second)],
  );
}

interface Figures extends Pick<System, 'healthyAfterMs' | 'readyAfterMs'> {
  readonly residentBytes: number;
  readonly idlePercent: number;
}

async function figuresOf({ healthyAfterMs, readyAfterMs, brains: [node] }: System): Promise<Figures> {
  const residentBytes = node?.residentBytes() ?? Number.NaN;
  await sleep(SETTLED_MS);
  const before = node?.cpuMs() ?? Number.NaN;
  await sleep(IDLE_MS);
  const idlePercent = (100 * ((node?.cpuMs() ?? Number.NaN) - before)) / IDLE_MS;
  return { healthyAfterMs, readyAfterMs, residentBytes, idlePercent };
}
