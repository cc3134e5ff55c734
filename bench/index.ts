/** What the search index costs: soon after an ingest, after a kill, and in memory beside many brains. */
import { setTimeout as delay } from 'node:timers/promises';
import { callTool } from './call.ts';
import { markdownFile, queries } from './corpus.ts';
import { markdownTable, mebibytes, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, type System, temporaryDataDir } from './system.ts';

const FILES = 20_000;
const WRITERS = 64;
const BRAINS = 255;
const BRAINS_IN_USE = 5;
const FILES_OF_A_SMALL_BRAIN = 20;
/** After this long without a change the snapshot is as the index. */
const SNAPSHOT_AFTER_MS = 6_000;

type Ask = (tool: string, args: Readonly<Record<string, unknown>>) => Promise<Record<string, unknown>>;

/** Resolves with a Markdown table. */
export async function measureIndex(): Promise<string> {
  const dataDir = temporaryDataDir();
  const rows: string[][] = [];
  let system = await startEmbedded(dataDir.path);
  const emptyBytes = system.brains[0]?.residentBytes() ?? Number.NaN;
  const cpuBefore = cpuOf(system);
  const ingestMs = await timed(() => ingest(asked(system)));
  rows.push(['ingest by 64 writers', `${shown(FILES / (ingestMs / 1000))} files/s`, '>= 1,000 files/s']);
  rows.push(['first search after the last write', `${shown(await searchMs(asked(system)))} ms`, '']);
  rows.push(['processor time of ingest and first search', `${shown((cpuOf(system) - cpuBefore) / 1000, 1)} s`, '']);
  rows.push(['RSS empty', mebibytes(emptyBytes), '']);
  rows.push(['RSS with all files', mebibytes(system.brains[0]?.residentBytes() ?? Number.NaN), '']);
  await delay(SNAPSHOT_AFTER_MS);
  system = await killed(system, dataDir.path);
  rows.push(['start after kill -9: /ready', `${shown(system.readyAfterMs)} ms`, '']);
  const opened = await timed(() => asked(system)('svc_list_branches', {}));
  rows.push(['first call after that: the brain is opened', `${shown(opened)} ms`, '']);
  const cpuAtStart = cpuOf(system);
  const firstMs = await searchMs(asked(system));
  const firstCpuMs = cpuOf(system) - cpuAtStart;
  rows.push(['first search after that', `${shown(firstMs)} ms (CPU ${shown(firstCpuMs)} ms)`, '<= 1,000 ms']);
  rows.push(['second search', `${shown(await searchMs(asked(system), 1))} ms`, '']);
  rows.push(...(await withManyBrains(system)));
  await system.stop();
  dataDir.remove();
  return markdownTable([`${shown(FILES)} Markdown files, embedded`, '', 'aim'], rows);
}

async function withManyBrains(system: System): Promise<string[][]> {
  const ask = asked(system);
  const names = Array.from({ length: BRAINS - 1 }, (_, index) => `small-${index}`);
  for (const [index, brain] of names.entries()) {
    await ask('brain_load', { brains: [brain], create: true });
    for (let file = 0; file < FILES_OF_A_SMALL_BRAIN; file += 1) {
      const content = markdownFile(FILES + index * FILES_OF_A_SMALL_BRAIN + file);
      await ask('svc_set_memory', { category: 'notes', filename: `n${file}`, content, brain });
    }
  }
  for (const brain of ['svc', ...names.slice(0, BRAINS_IN_USE - 1)]) {
    await ask('svc_search', { query: queries(1)[0] ?? '', brain });
  }
  const residentBytes = system.brains[0]?.residentBytes() ?? Number.NaN;
  const healthMs = await timed(() => ask('svc_health', {}));
  return [
    [`RSS with ${BRAINS} brains, ${BRAINS_IN_USE} of them in use`, mebibytes(residentBytes), '<= 450 MiB'],
    ['svc_health with them', `${shown(healthMs)} ms`, ''],
  ];
}

function asked({ urls: [url = ''] }: System): Ask {
  return async (tool, args) => (await callTool(url, AUTHORISED, tool, args)).content as Record<string, unknown>;
}

async function ingest(ask: Ask): Promise<void> {
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < FILES) {
      const index = next;
      next += 1;
      const file = { category: `notes/d${index % 100}`, filename: `n${index}`, content: markdownFile(index) };
      await ask('svc_set_memory', file);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

async function searchMs(ask: Ask, query = 0): Promise<number> {
  return timed(async () => {
    const { total } = await ask('svc_search', { query: queries(query + 1)[query] ?? '' });
    if (typeof total !== 'number' || total === 0) throw new Error('nothing was found');
  });
}

/** The same data directory after the process was killed. */
async function killed(system: System, dataDir: string): Promise<System> {
  for (const one of system.brains) one.kill('SIGKILL');
  await Promise.all(system.brains.map((one) => one.ended));
  return startEmbedded(dataDir);
}

function cpuOf({ brains }: System): number {
  return brains.reduce((sum, one) => sum + one.cpuMs(), 0);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
