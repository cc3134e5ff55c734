/** The search engine alone over 100,000 passages: queries, changes, memory, snapshot. */
import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AnalysisCache } from '../services/brain/src/search/analysis-cache.ts';
import { BlockFiles, blockRuns, encodeFiles } from '../services/brain/src/search/snapshot.ts';
import { type FileSource, SearchIndex } from '../services/brain/src/search/search-index.ts';
import { Block, TermNumbers } from '../services/brain/src/search/snapshot-block.ts';
import { type Brain, readCollections } from './collections.ts';
import { markdownFile, queries, seeded } from './corpus.ts';
import { OPERATOR_QUERIES } from './operator-queries.ts';
import { markdownTable, quantile, shown } from './figures.ts';

const PASSAGES = 100_000;
const QUESTIONS = 1_000;
const CHANGES = 1_000;
const BRANCH_CHANGES = 500;
const WARM_UP = 200;
const ROUNDS = 5;
/** Questions that are named on the way. */
const SLOWEST = 10;

interface Texts {
  content(number: number): string;
  readonly questions: readonly string[];
}

/** Of collections: their documents, then made ones, the first half of one before the second half of another. */
function textsOf(brains: readonly Brain[]): Texts {
  const docs = brains.flatMap((brain) => brain.docs);
  const random = seeded(17);
  const any = () => docs[Math.floor(random() * docs.length)] ?? { title: '', text: '' };
  const half = (text: string, isFirst: boolean): string => {
    const middle = text.indexOf(' ', text.length / 2);
    return middle < 0 ? text : isFirst ? text.slice(0, middle) : text.slice(middle);
  };
  const asked = brains.flatMap((brain) => brain.queries.map(({ text }) => text));
  const step = asked.length / Math.min(QUESTIONS, asked.length);
  return {
    content(number) {
      const [one, other] = [docs[number] ?? any(), any()];
      const text = number < docs.length ? one.text : half(one.text, true) + half(other.text, false);
      return one.title === '' ? `${text}\n` : `# ${one.title}\n\n${text}\n`;
    },
    questions: asked.filter((_, place) => Math.floor(place % step) === 0),
  };
}

const MADE: Texts = { content: markdownFile, questions: queries(QUESTIONS) };

function sourceOf(number: number, content: string): FileSource {
  const hash = createHash('sha256').update(content).digest('hex');
  return { file: `d${number % 97}/n${number}.md`, content, hash, chain: 0 };
}

function timed<Value>(work: () => Value): { readonly value: Value; readonly ms: number } {
  const startedAt = performance.now();
  const value = work();
  return { value, ms: performance.now() - startedAt };
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function quantiles(times: readonly number[]): string {
  const at = (share: number): string => shown(quantile(times, share), 2);
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} ms`;
}

/** Each question several times: the least that it took is what it costs, the rest is what else the process and the machine do. */
function queryRows(
  index: SearchIndex,
  questions: readonly string[],
  mode: 'plain' | 'hybrid',
  aim: string,
): string[][] {
  const times: number[] = [];
  const least = new Map<string, number>();
  const ask = (query: string): number => {
    const request = { query, mode, limit: 10, group: 'file', admitted: null, explain: false } as const;
    return timed(() => index.search(request)).ms;
  };
  for (const query of questions.slice(0, WARM_UP)) ask(query);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const query of questions) {
      const took = ask(query);
      times.push(took);
      least.set(query, Math.min(least.get(query) ?? Infinity, took));
    }
  }
  const slowest = [...least].sort(([, one], [, other]) => other - one).slice(0, SLOWEST);
  for (const [query, took] of slowest) process.stderr.write(`${mode} ${shown(took, 2)} ms: ${query.slice(0, 120)}\n`);
  return [
    [`${mode}, each question's best of ${ROUNDS}`, quantiles([...least.values()]), aim],
    [`${mode}, all`, quantiles(times), ''],
  ];
}

/** The dearest queries there are over the made texts, whose most frequent words they name. */
function operatorRows(index: SearchIndex): string[][] {
  return Array.from(OPERATOR_QUERIES, ([name, query]) => {
    const request = { query, mode: 'hybrid', limit: 10, group: 'file', admitted: null, explain: false } as const;
    const changedAt = (): number => Date.UTC(2026, 0);
    const times = Array.from({ length: ROUNDS }, () => timed(() => index.search({ ...request, changedAt })).ms);
    return [name, `${shown(Math.min(...times), 1)} ms`, ''];
  });
}

function changeRow(index: SearchIndex, { content }: Texts, files: number): string[] {
  const random = seeded(5);
  const times: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    const source = sourceOf(Math.floor(random() * files), `${content(files + change)}\nChange ${change}.\n`);
    times.push(timed(() => index.set(source)).ms);
  }
  return ['a file changed', quantiles(times), 'p99 <= 3 ms'];
}

/** Another branch of which so many files differ; both are in memory then. */
function branchRow(index: SearchIndex, { content }: Texts, files: number): string[] {
  const changes = Array.from({ length: BRANCH_CHANGES }, (_, change) =>
    sourceOf(change * 7, `${content(files + change)}\nOf the branch ${change}.\n`),
  );
  const copy = timed(() => {
    const steps = SearchIndex.copyOf(index);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value ?? never();
    }
  });
  const changed = timed(() => {
    for (const change of changes) copy.value.set(change);
  });
  for (const _step of copy.value.dissolve());
  const title = `a branch of ${BRANCH_CHANGES} changes: copied, changed`;
  return [title, `${shown(copy.ms)} + ${shown(changed.ms)} ms`, '<= 300 ms'];
}

function memoryRow(before: NodeJS.MemoryUsage, index: SearchIndex): string[] {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  const grown = heapUsed + external - before.heapUsed - before.external;
  const told = index.stats().estimatedBytes;
  return ['heap and external', `${shown(grown / 1e6)} MB (told ${shown(told / 1e6)} MB)`, '<= 220 MB'];
}

function encoded(index: SearchIndex): Uint8Array[] {
  const numbers = new TermNumbers(index.cache.dictionary);
  return Array.from(blockRuns(index.files()), (run) => encodeFiles(numbers, run));
}

function snapshotRows(index: SearchIndex): string[][] {
  const blocks = encoded(index);
  const bytes = blocks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const cache = new AnalysisCache();
  const decoded = timed(() => {
    const files = new BlockFiles();
    for (const block of blocks) files.add(Block.read(block) ?? never());
    return Array.from(files.restore(cache, () => true)).flat();
  });
  const restored = new SearchIndex(cache);
  const made = timed(() => {
    for (const _step of restored.setAll(decoded.value));
  });
  if (restored.stats().rows !== index.stats().rows) throw new Error('the snapshot has not all');
  return [
    ['snapshot', `${shown(bytes / 1e6, 1)} MB`, '<= 60 MB'],
    ['snapshot decoded', `${shown(decoded.ms)} ms`, '<= 1,500 ms'],
    ['index made of it', `${shown(made.ms)} ms`, ''],
  ];
}

function never(): never {
  throw new Error('what was just made is damaged');
}

/** Resolves with a Markdown table. `folder` = collections whose texts and questions are used. */
export function measurePassages(folder: string | undefined): string {
  const texts = folder === undefined ? MADE : textsOf(readCollections(folder).flatMap(({ brains }) => brains));
  collectGarbage();
  const before = process.memoryUsage();
  const index = new SearchIndex();
  let files = 0;
  for (let rows = 0; rows < PASSAGES; files += 1) {
    const source = sourceOf(files, texts.content(files));
    index.set(source);
    rows += index.fileOf(source.file)?.rows.length ?? 0;
  }
  const rows = [
    ...queryRows(index, texts.questions, 'plain', 'p99 <= 4 ms'),
    ...queryRows(index, texts.questions, 'hybrid', 'p50 <= 6, p99 <= 18 ms'),
    ...(folder === undefined ? operatorRows(index) : []),
    changeRow(index, texts, files),
    memoryRow(before, index),
    branchRow(index, texts, files),
    ...snapshotRows(index),
  ];
  const { terms } = index.stats();
  return markdownTable(
    [`${shown(PASSAGES)} passages in ${shown(files)} files, ${shown(terms)} terms`, '', 'aim'],
    rows,
  );
}
