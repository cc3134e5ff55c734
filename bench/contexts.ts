/** What a context and a search by meaning cost where there are many files. */
import { callTool } from './call.ts';
import { markdownFile, queries } from './corpus.ts';
import { markdownTable, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, temporaryDataDir } from './system.ts';

const FILES = 10_000;
const WRITERS = 64;
const BUILDS = 200;

/** Resolves with a Markdown table. */
export async function measureContexts(profiling: Readonly<Record<string, string>>): Promise<string> {
  const dataDir = temporaryDataDir();
  const system = await startEmbedded(dataDir.path, profiling);
  const [url = ''] = system.urls;
  const ask = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<number> => {
    const startedAt = performance.now();
    await callTool(url, AUTHORISED, tool, args);
    return performance.now() - startedAt;
  };
  const cpuMs = (): number => system.processes.reduce((sum, one) => sum + one.cpuMs(), 0);
  /** Of each call the time it took; and the processor time of all of them together, which does not depend on who else is at work. */
  const measure = async (tool: string, calls: readonly Readonly<Record<string, unknown>>[]): Promise<Measured> => {
    const before = cpuMs();
    const times: number[] = [];
    for (const args of calls) times.push(await ask(tool, args));
    return { times, cpuMs: (cpuMs() - before) / calls.length };
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
  const built = await measure('context_build', asked(words));
  const known = await measure('context_build', asked(words.slice(-50)));
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
  const near = await measure('svc_search_semantic', asked(words.slice(0, 50)));
  await system.stop();
  dataDir.remove();
  return markdownTable(
    [`${shown(FILES)} Markdown files, embedded`, 'p50', 'p95', 'processor time of one', 'aim'],
    [
      ['context_build', ...figuresOf(built), 'p95 <= 50 ms'],
      ['context_build, asked before', ...figuresOf(known), '<= 5 ms'],
      ['svc_search_semantic, built-in, the first', `${shown(first)} ms`, '', '', ''],
      ['svc_search_semantic, built-in', ...figuresOf(near), ''],
    ],
  );
}

interface Measured {
  readonly times: readonly number[];
  /** Of one call. */
  readonly cpuMs: number;
}

const asked = (words: readonly string[]) => words.map((query) => ({ query }));

function figuresOf({ times, cpuMs }: Measured): [string, string, string] {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => `${shown(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN, 1)} ms`;
  return [at(0.5), at(0.95), `${shown(cpuMs, 1)} ms`];
}
