/** What a context and a search by meaning cost where there are many files. */
import { callTool } from './call.ts';
import { markdownFile, queries } from './corpus.ts';
import { markdownTable, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, temporaryDataDir } from './system.ts';

const FILES = 10_000;
const WRITERS = 64;
const BUILDS = 200;

/** Resolves with a Markdown table. */
export async function measureContexts(): Promise<string> {
  const dataDir = temporaryDataDir();
  const system = await startEmbedded(dataDir.path);
  const [url = ''] = system.urls;
  const ask = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<number> => {
    const startedAt = performance.now();
    await callTool(url, AUTHORISED, tool, args);
    return performance.now() - startedAt;
  };
  let next = 0;
  const write = async (): Promise<void> => {
    for (let file = next++; file < FILES; file = next++)
      await ask('svc_set_memory', { category: `d${file % 100}`, filename: `n${file}`, content: markdownFile(file) });
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  await ask('svc_commit', { message: 'all' });
  const words = queries(BUILDS);
  await ask('context_build', { query: 'warm' });
  const built: number[] = [];
  for (const query of words) built.push(await ask('context_build', { query }));
  const known: number[] = [];
  for (const query of words.slice(-50)) known.push(await ask('context_build', { query }));
  // A call ends before all vectors are made, and the next one goes on from there.
  const began = performance.now();
  for (let isDone = false; !isDone; ) {
    const wish = ask('svc_search_semantic', { query: words[0] ?? '' });
    isDone = await wish.then(
      () => true,
      () => false,
    );
  }
  const first = performance.now() - began;
  const near: number[] = [];
  for (const query of words.slice(0, 50)) near.push(await ask('svc_search_semantic', { query }));
  await system.stop();
  dataDir.remove();
  return markdownTable(
    [`${shown(FILES)} Markdown files, embedded`, 'p50', 'p95', 'aim'],
    [
      ['context_build', ...percentiles(built), 'p95 <= 50 ms'],
      ['context_build, asked before', ...percentiles(known), '<= 5 ms'],
      ['svc_search_semantic, built-in, the first', `${shown(first)} ms`, '', ''],
      ['svc_search_semantic, built-in', ...percentiles(near), ''],
    ],
  );
}

function percentiles(times: readonly number[]): [string, string] {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => `${shown(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN, 1)} ms`;
  return [at(0.5), at(0.95)];
}
