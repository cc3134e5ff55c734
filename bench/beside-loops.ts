/** What code of callers that never ends costs the others: reads of a node whose sandbox is kept busy, beside those of one at rest. */
import { callTool, postCall } from './call.ts';
import { markdownTable, median, shown } from './figures.ts';
import { type LoadResult, offerLoad } from './offered-load.ts';
import { READ_BODY } from './scenarios.ts';
import { AUTHORISED, startEmbedded, temporaryDataDir } from './system.ts';

/** So many of one workspace run at once. */
const LOOPS = 2;
const CONNECTIONS = 8;
const LOOP_MS = 1000;

/** Resolves with a Markdown table. */
export async function measureBesideLoops(seconds: number, rounds: number): Promise<string> {
  const dataDir = temporaryDataDir();
  const system = await startEmbedded(dataDir.path);
  const [url = ''] = system.urls;
  const at: Record<'rest' | 'loops', LoadResult[]> = { rest: [], loops: [] };
  try {
    await callTool(url, AUTHORISED, 'svc_config_set', { key: 'compute.enabled', value: true });
    for (let round = 0; round < rounds; round += 1) {
      at.rest.push(await readsOf(url, seconds));
      const loops = startLoops(url);
      at.loops.push(await readsOf(url, seconds));
      await loops.stop();
    }
  } finally {
    await system.stop();
    dataDir.remove();
  }
  return table(at);
}

function table({ rest, loops }: Record<'rest' | 'loops', readonly LoadResult[]>): string {
  const of = (results: readonly LoadResult[], field: keyof LoadResult): number =>
    median(results.map((result) => result[field]));
  const rowOf = (title: string, results: readonly LoadResult[], ...more: readonly string[]): string[] => [
    title,
    shown(of(results, 'perSecond')),
    shown(of(results, 'p50Ms'), 1),
    shown(of(results, 'p99Ms'), 1),
    ...more,
  ];
  const ratio = of(loops, 'p99Ms') / of(rest, 'p99Ms');
  return markdownTable(
    [`reads of ${CONNECTIONS} connections, embedded`, 'a second', 'p50 ms', 'p99 ms', 'p99', 'aim'],
    [rowOf('nothing runs', rest, '', ''), rowOf(`${LOOPS} endless loops run`, loops, `${shown(ratio, 2)} x`, '<= 2 x')],
  );
}

async function readsOf(url: string, seconds: number): Promise<LoadResult> {
  const result = await offerLoad({
    url: `${url}/call`,
    headers: AUTHORISED,
    connections: CONNECTIONS,
    seconds,
    warmupSeconds: 1,
    bodies: [READ_BODY],
    slots: 1,
    firstNumber: 0,
    unwanted: '"error"',
  });
  if (result.failed > 0) throw new Error(`${result.failed} reads failed`);
  return result;
}

/** Each is ended at its limit, and another one begins. */
function startLoops(url: string): { stop(): Promise<void> } {
  let isOver = false;
  const loop = async (): Promise<void> => {
    while (!isOver) {
      const text = await postCall(url, AUTHORISED, 'compute_eval', { code: 'while(true){}', timeout: LOOP_MS });
      if (!text.includes('"E_COMPUTE_TIMEOUT"')) throw new Error(`a loop ended with ${text}`);
    }
  };
  const all = Promise.all(Array.from({ length: LOOPS }, loop));
  return {
    async stop() {
      isOver = true;
      await all;
    },
  };
}
