/** Search over 10,000 Markdown files, and what they cost in memory and at start. */
import { callBody, callTool } from './call.ts';
import { markdownFile, queries } from './corpus.ts';
import { markdownTable, mebibytes, shown } from './figures.ts';
import { offerLoad } from './offered-load.ts';
import { AUTHORISED, startEmbedded, type System, temporaryDataDir } from './system.ts';

const FILES = 10_000;
const WRITERS = 64;
const FOLDERS = 100;
const QUERIES = 500;

/** Resolves with a Markdown table. */
export async function measureSearch(seconds: number, profiling: Readonly<Record<string, string>>): Promise<string> {
  const dataDir = temporaryDataDir();
  const rows: string[][] = [];
  const empty = await startEmbedded(dataDir.path, profiling);
  const emptyBytes = empty.brains[0]?.residentBytes() ?? Number.NaN;
  const fillMs = await fill(empty);
  rows.push(['files written by 64 writers, and committed', `${shown(FILES / (fillMs / 1000))} files/s`, '']);
  for (const mode of ['hybrid', 'plain']) rows.push(await searchRow(empty, { title: mode, mode, seconds }));
  rows.push(...(await rowsUnderRules(empty, seconds)));
  rows.push(['RSS empty', mebibytes(emptyBytes), '']);
  rows.push(['RSS with all files', mebibytes(empty.brains[0]?.residentBytes() ?? Number.NaN), '']);
  await empty.stop();
  const full = await startEmbedded(dataDir.path);
  rows.push([
    'start with all files: /health, /ready',
    `${shown(full.healthyAfterMs)} ms, ${shown(full.readyAfterMs)} ms`,
    '',
  ]);
  rows.push(await firstSearchRow(full));
  rows.push(['RSS after that start', mebibytes(full.brains[0]?.residentBytes() ?? Number.NaN), '']);
  await full.stop();
  dataDir.remove();
  return markdownTable([`${shown(FILES)} Markdown files`, '', 'aim'], rows);
}

async function fill({ urls: [url = ''] }: System): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < FILES) {
      const index = next;
      next += 1;
      const file = { category: `notes/d${index % FOLDERS}`, filename: `n${index}`, content: markdownFile(index) };
      await callTool(url, AUTHORISED, 'svc_set_memory', file);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  await callTool(url, AUTHORISED, 'svc_commit', { message: 'all notes' });
  return performance.now() - startedAt;
}

/** Each folder has a boundary; who is `whole` may read all of them, who is `half` every other one. */
async function rowsUnderRules(system: System, seconds: number): Promise<string[][]> {
  const [url = ''] = system.urls;
  const ask = async (tool: string, args: Record<string, unknown>): Promise<Record<string, unknown>> =>
    (await callTool(url, AUTHORISED, tool, args)).content as Record<string, unknown>;
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const readableBy = folder % 2 === 0 ? ['team:whole', 'team:half'] : ['team:whole'];
    const policy = { container: 'public', readableBy, writableBy: ['role:admin'] };
    await ask('svc_habitat_setPolicy', { resource: `brain:svc/notes/d${folder}`, policy });
  }
  const rows: string[][] = [];
  for (const team of ['whole', 'half']) {
    const { agentId } = await ask('agent_spawn', { name: team, team });
    const { token } = await ask('svc_habitat_mintToken', { agentId });
    const headers = { 'x-habitat-token': String(token) };
    const { content } = await callTool(url, headers, 'svc_search', { query: queries(1)[0] ?? '', limit: 1 });
    const { total } = content as { total: number };
    const title = `hybrid under rules, caller who may read the ${team} (${shown(total)} found by the first query)`;
    rows.push(await searchRow(system, { title, mode: 'hybrid', seconds, headers, aim: 'p95 <= 10 ms' }));
  }
  return rows;
}

interface SearchLoad {
  readonly title: string;
  readonly mode: string;
  readonly seconds: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly aim?: string;
}

async function searchRow({ urls: [url = ''] }: System, load: SearchLoad): Promise<string[]> {
  const { title, mode, seconds, headers = AUTHORISED, aim = 'p95 <= 15 ms' } = load;
  const { p50Ms, p95Ms, failed } = await offerLoad({
    url: `${url}/call`,
    headers,
    connections: 1,
    seconds,
    warmupSeconds: 2,
    bodies: queries(QUERIES).map((query) => callBody('svc_search', { query, mode })),
    slots: 1,
    firstNumber: 0,
    unwanted: '"error"',
  });
  if (failed > 0) throw new Error(`${failed} searches failed`);
  return [`search, ${title}: p50, p95`, `${shown(p50Ms, 1)} ms, ${shown(p95Ms, 1)} ms`, aim];
}

async function firstSearchRow({ urls: [url = ''] }: System): Promise<string[]> {
  const startedAt = performance.now();
  await callTool(url, AUTHORISED, 'svc_search', { query: queries(1)[0] ?? '' });
  return ['first search after that start', `${shown(performance.now() - startedAt)} ms`, ''];
}
