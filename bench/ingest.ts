/**
 * `npm run demo:ingest [-- --data-dir folder] [--writers 16]`: real Markdown into a brain, while node and driver are
 * killed in the middle, twice; then every acknowledged write is looked for. Exit code 1 when one is missing.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { callTool } from './call.ts';
import { markdownTable, mebibytes, quantile, shown } from './figures.ts';
import { readCorpus } from './ingest/corpus.ts';
import { readJournal } from './ingest/journal.ts';
import { type Progress, startProgress } from './ingest/progress.ts';
import { findLosses, gitProblems } from './ingest/verify.ts';
import { startNode } from './process.ts';
import { AUTHORISED, startEmbedded, type System, temporaryDataDir } from './system.ts';

const { values } = parseArgs({
  options: { 'data-dir': { type: 'string' }, writers: { type: 'string', default: '16' } },
});

const LOOK_EVERY_MS = 25;
/** Where in the work the kills fall: somewhere in each of these shares. */
const KILLS: readonly (readonly [from: number, to: number])[] = [
  [0.15, 0.45],
  [0.55, 0.85],
];
const QUESTIONS = [
  'retry with exponential backoff',
  'parse command line arguments',
  'validate an object against a schema',
  'how to reconnect a websocket',
  'rate limit requests per second',
];
const SEARCH_ROUNDS = 20;
const SHOWN_LOSSES = 20;

const home = values['data-dir'] === undefined ? temporaryDataDir() : { path: resolve(values['data-dir']) };
const dataDir = join(home.path, 'data');
const journalFile = join(home.path, 'acknowledged.log');
mkdirSync(dataDir, { recursive: true });

const documents = readCorpus();
const bytes = documents.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
console.log(
  `${shown(documents.length)} Markdown files, ${mebibytes(bytes)} (documents of the installed packages, long ones by chapter)`,
);
process.exitCode = (await ingest()) ? 0 : 1;

async function ingest(): Promise<boolean> {
  const progress = startProgress(documents.length, 'acknowledged');
  const killAt = KILLS.map(([from, to]) => Math.round(documents.length * (from + (to - from) * Math.random())));
  let workMs = 0;
  let system = await startEmbedded(dataDir);
  for (const limit of [...killAt, Number.POSITIVE_INFINITY]) {
    const startedAt = performance.now();
    const survived = await drive(system, limit, progress);
    workMs += performance.now() - startedAt;
    if (survived) continue;
    progress.say(`node and driver killed with ${shown(readJournal(journalFile).size)} acknowledged`);
    system = await startEmbedded(dataDir);
    progress.say(`back after ${shown(system.readyAfterMs)} ms`);
  }
  progress.stop();
  const sound = await prove(system, workMs);
  await system.stop();
  return sound;
}

/** Runs the driver; kills it and the node once so many are acknowledged. True when it came to its end alive. */
async function drive({ urls: [url = ''], brains }: System, limit: number, progress: Progress): Promise<boolean> {
  const driver = startNode('bench/ingest/driver.ts', [url, journalFile, values.writers]);
  const ends: { readonly code: number | null; readonly output: string }[] = [];
  void driver.ended.then((end) => ends.push(end));
  for (;;) {
    const { size } = readJournal(journalFile);
    progress.update(size);
    if (size >= limit) {
      for (const one of [...brains, driver]) one.kill('SIGKILL');
      await Promise.all([...brains, driver].map((one) => one.ended));
      return false;
    }
    const [end] = ends;
    if (end?.code === 0) return true;
    if (end !== undefined) throw new Error(`the driver failed:\n${end.output}`);
    await delay(LOOK_EVERY_MS);
  }
}

async function prove({ urls: [url = ''], brains }: System, workMs: number): Promise<boolean> {
  const acknowledged = readJournal(journalFile);
  const repository = join(dataDir, 'brains', 'svc');
  await callTool(url, AUTHORISED, 'svc_commit', { message: 'Documentation of the installed packages' });
  const losses = await findLosses(url, repository, acknowledged, documents);
  const problems = gitProblems(repository);
  const took = await search(url);
  const health = await callTool(url, AUTHORISED, 'svc_health', {});
  const { index } = health.content as { index: { rows: number } };
  const rows = [
    ['acknowledged writes', shown(acknowledged.size)],
    ['lost', shown(losses.length)],
    ['documents not acknowledged', shown(documents.length - acknowledged.size)],
    ['git fsck --strict, git status', problems === '' ? 'clean' : problems.trim()],
    [`writes/s of ${values.writers} writers`, shown(acknowledged.size / (workMs / 1000))],
    ['search p50, p95', `${shown(quantile(took, 0.5), 1)} ms, ${shown(quantile(took, 0.95), 1)} ms`],
    ['passages in the index', shown(index.rows)],
    ['RSS of the node', mebibytes(brains[0]?.residentBytes() ?? Number.NaN)],
  ];
  console.log(`\n${markdownTable(['', ''], rows)}`);
  for (const loss of losses.slice(0, SHOWN_LOSSES)) console.log(`LOST ${loss}`);
  return losses.length === 0 && problems === '' && acknowledged.size === documents.length;
}

/** Milliseconds of each search; shows the first hits. */
async function search(url: string): Promise<number[]> {
  const took: number[] = [];
  for (let round = 0; round < SEARCH_ROUNDS; round += 1) {
    for (const query of QUESTIONS) {
      const startedAt = performance.now();
      const { content } = await callTool(url, AUTHORISED, 'svc_search', { query, limit: 3 });
      took.push(performance.now() - startedAt);
      const [hit] = (content as { results: { file: string; title: string }[] }).results;
      if (round === 0)
        console.log(`\n  ${query}?\n  -> ${hit === undefined ? 'nothing' : `${hit.file}: ${hit.title}`}`);
    }
  }
  return took;
}
