/** How long a start takes, on a new data directory and on one that is there. */
import { markdownTable, median, mebibytes, shown } from './figures.ts';
import { startEmbedded, type System, temporaryDataDir } from './system.ts';

/** Resolves with a Markdown table of medians over the rounds. */
export async function measureStarts(rounds: number): Promise<string> {
  const first: Figures[] = [];
  const second: Figures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const dataDir = temporaryDataDir();
    for (const figures of [first, second]) {
      const system = await startEmbedded(dataDir.path);
      figures.push(figuresOf(system));
      await system.stop();
    }
    dataDir.remove();
  }
  const row = (title: string, figures: readonly Figures[]): string[] => [
    title,
    shown(median(figures.map(({ healthyAfterMs }) => healthyAfterMs))),
    shown(median(figures.map(({ readyAfterMs }) => readyAfterMs))),
    mebibytes(median(figures.map(({ residentBytes }) => residentBytes))),
  ];
  return markdownTable(
    ['embedded start', 'ms to /health', 'ms to /ready', 'RSS when ready'],
    [row('new data directory', first), row('existing data directory', second)],
  );
}

interface Figures extends Pick<System, 'healthyAfterMs' | 'readyAfterMs'> {
  readonly residentBytes: number;
}

function figuresOf({ healthyAfterMs, readyAfterMs, brains }: System): Figures {
  return { healthyAfterMs, readyAfterMs, residentBytes: brains[0]?.residentBytes() ?? Number.NaN };
}
