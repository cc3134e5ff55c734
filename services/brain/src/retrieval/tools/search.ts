/** svc_search, and its modes as tools of their own. */
import { z } from 'zod';
import type { Decision } from '@svc/contract/decision.ts';
import { brainAndBranch, page as listPage, PathText } from '@svc/contract/params.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import { checkedPath } from '../../blocked-path.ts';
import { defineTool } from '../../deps.ts';
import { compress } from '../../search/compress.ts';
import { nextCursor } from '../../tools/results.ts';
import {
  type CallContext,
  PATH_RAISES,
  present,
  PRESENT_REFUSES,
  READ_RAISES,
  resolveReads,
} from '../../tools/target.ts';
import { RECENCIES, type Recency } from '../../search/recency.ts';
import { type Found, passageOfRow, showContext, shownContext, shownResult, shownRow } from '../found.ts';
import { VARIANT_SOURCES } from '../domain/variants.ts';
import { DEGRADED, type Degraded, modelsFor } from '../models.ts';
import { NO_PAGES, pageOf, type ResultPage } from '../result-page.ts';
import { HYBRID, HYDE, MULTIQUERY, PLAIN, SEMANTIC, unlessUnavailable, type Way } from '../ways.ts';

export const DEFAULT_RESULTS = 10;
const RAG_BUDGET = 2000;
const AREA = 'search';

export const budget = z.int().min(64).max(100_000).optional().describe('Tokens of a context of the results.');

const query = z.string().max(2000);
const limit = (count: number) => z.int().min(1).max(100).default(count).describe('Results.');
const explain = z.boolean().default(false).describe('Parts of each score.');
const who = { ...brainAndBranch, userCtx: UserCtx.optional() };

const shownReading = z
  .strictObject({
    words: z.array(z.string()),
    phrases: z.array(z.string()).optional(),
    any: z.array(z.array(z.string())).optional(),
    prefixes: z.array(z.string()).optional(),
    not: z.array(z.string()).optional(),
    paths: z.array(z.string()).optional(),
    since: z.string().optional(),
    until: z.string().optional(),
  })
  .describe('How the query was read: "phrase", one OR other, prefix*, -word, path:, category:, since:, until:.');

const answer = {
  query: z.string(),
  mode: z.string(),
  results: z.array(shownResult),
  total: z.int().describe('Files with a query term.'),
  context: shownContext.optional(),
  understood: shownReading.optional(),
  corrected: z
    .array(z.strictObject({ word: z.string(), as: z.string() }))
    .optional()
    .describe('Words that no file has, and the stem that was looked for instead.'),
  reason: z.string().optional(),
  degraded: z
    .array(z.enum(DEGRADED))
    .optional()
    .describe('What is set up and does not answer: semantic = the embedder, model = the one that writes.'),
};
const embedder = z.string().optional().describe('semantic: the model that the vectors are of.');
const hypothesis = {
  hypothetical: z.string().optional().describe('hyde: the passage that was searched for beside the query.'),
  source: z
    .enum(['feedback', 'model'])
    .optional()
    .describe('hyde: that passage is made of what the query finds first, or written by a model.'),
};
const variants = {
  queries: z
    .array(z.strictObject({ query: z.string(), source: z.enum(VARIANT_SOURCES) }))
    .optional()
    .describe('multiquery: what was asked.'),
};

interface Wish {
  readonly query: string;
  readonly limit: number;
  readonly explain: boolean;
  readonly recency?: Recency;
  readonly group?: 'file' | 'passage';
  readonly category?: string | undefined;
  readonly budget?: number | undefined;
  readonly brain?: string | undefined;
  readonly branch?: string | undefined;
}

/** By the names that svc_search knows them by. */
const WAYS = {
  plain: PLAIN,
  hybrid: HYBRID,
  hyde: HYDE,
  multiquery: MULTIQUERY,
  semantic: SEMANTIC,
  basic: PLAIN,
  keyword: PLAIN,
  rag: HYBRID,
};
const MODES = Object.keys(WAYS) as (keyof typeof WAYS)[];

interface Shown {
  query: string;
  mode: string;
  results: z.output<typeof shownResult>[];
  total: number;
  understood?: z.output<typeof shownReading>;
  corrected?: { word: string; as: string }[];
  context?: z.output<typeof shownContext>;
  reason?: string;
  degraded?: Degraded[];
}

type SearchContext = CallContext & { take<Value>(decision: Decision<Value, 'E_BRANCH_ABSENT'>): Value };

async function answerSearch<Told>(context: SearchContext, way: Way<Told>, wish: Wish): Promise<Shown & Partial<Told>> {
  return (await answerPage(context, way, wish, NO_PAGES)).shown;
}

interface PageAnswer<Told> {
  readonly shown: Shown & Partial<Told>;
  readonly next: { nextCursor?: string };
}

async function answerPage<Told>(
  context: SearchContext,
  way: Way<Told>,
  wish: Wish,
  page: ResultPage,
): Promise<PageAnswer<Told>> {
  const { query: asked, limit: most, explain: explained, group = 'file', category = '', budget: tokens } = wish;
  const { recency = 'off' } = wish;
  const { mode } = way;
  const nothing: Partial<Told> = {};
  if (asked.trim() === '')
    return { shown: { query: '', mode, results: [], total: 0, reason: 'empty query', ...nothing }, next: {} };
  const pathPrefix = category === '' ? null : checkedPath(category);
  const targets = await resolveReads(context, wish);
  const models = modelsFor(context, way.need);
  const request = {
    query: asked,
    limit: most + page.probe,
    explain: explained,
    group,
    pathPrefix,
    recency,
    models,
    mode: 'hybrid',
    ...(page.names.length === 0 ? {} : { shown: page.names }),
  } as const;
  const found = context.take(present(await unlessUnavailable(way.search(targets, request))));
  const { total, told } = found;
  const rows = found.rows.slice(0, most);
  const degraded = models.degraded();
  const results = rows.map(shownRow);
  const shown = {
    query: asked,
    mode,
    results,
    total,
    ...readingOf(found),
    ...told,
    ...(degraded.length === 0 ? {} : { degraded }),
  };
  const next = page.next(found, rows);
  if (tokens === undefined) return { shown, next };
  const compressed = await compress({ query: wordsOf(found), passages: rows.map(passageOfRow), budgetTokens: tokens });
  return { shown: { ...shown, context: showContext(compressed) }, next };
}

/** What sentences are to be about. */
function wordsOf({ understood, corrected }: Pick<Found, 'understood' | 'corrected'>): string {
  const { words, any = [], prefixes = [] } = understood;
  return [...words, ...any.flat(), ...prefixes, ...corrected.map((one) => one.as)].join(' ');
}

function readingOf({ understood, corrected }: Pick<Found, 'understood' | 'corrected'>) {
  return {
    understood: structuredClone(understood) as z.output<typeof shownReading>,
    ...(corrected.length === 0 ? {} : { corrected: corrected.map((one) => ({ ...one })) }),
  };
}

const declared = {
  access: 'public',
  effect: 'read',
} as const;

const search = defineTool({
  ...declared,
  name: 'svc_search',
  area: 'core',
  description: 'Searches files of a brain, or of all on the stack; the next search finds a write.',
  input: z.strictObject({
    query: query.describe('Words, "phrase", one OR other, prefix*, -word, path:dir, since:2026-01, until:2026-02.'),
    limit: limit(DEFAULT_RESULTS),
    mode: z
      .enum(MODES, { error: `must be one of ${MODES.join(', ')}` })
      .default('hybrid')
      .describe('hyde, multiquery: hybrid in other words too; basic, keyword: plain; rag: hybrid, budget 2000.'),
    category: PathText.optional().describe('Below this directory.'),
    recency: z.enum(RECENCIES).default('off').describe('hybrid: gain of newer files.'),
    budget,
    explain,
    cursor: listPage.cursor,
    group: z.enum(['file', 'passage']).default('file').describe('One result for each.'),
    ...who,
  }),
  output: z.strictObject({ ...answer, ...nextCursor, ...hypothesis, ...variants, embedder }),
  refuses: [...PRESENT_REFUSES, 'E_EMBEDDER_UNAVAILABLE'],
  raises: PATH_RAISES,
  aliases: { topK: 'limit' },
  example: { query: 'write things down' },
  async handler({ mode, budget: wanted, ...wish }, call) {
    const way = WAYS[mode];
    const asked = { ...wish, budget: wanted ?? (mode === 'rag' ? RAG_BUDGET : undefined) };
    const { shown, next } = await answerPage(call, way, asked, pageOf(way, asked));
    return { ...shown, ...next };
  },
});

const input = (results: number) =>
  z.strictObject({
    query: query.default('').describe('Words to look for.'),
    topK: limit(results),
    budget,
    explain,
    ...who,
  });

const hybrid = defineTool({
  ...declared,
  name: 'svc_search_hybrid',
  area: AREA,
  description: 'Searches by words and reranks what they find: svc_search in the mode hybrid.',
  input: input(DEFAULT_RESULTS),
  output: z.strictObject({ ...answer, fused: z.array(shownResult).describe('As results.') }),
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  aliases: { limit: 'topK' },
  example: { query: 'write things down' },
  async handler({ topK, ...wish }, call) {
    const found = await answerSearch(call, HYBRID, { ...wish, limit: topK });
    return { ...found, fused: found.results };
  },
});

const hyde = defineTool({
  ...declared,
  name: 'svc_search_hyde',
  area: AREA,
  description: 'Searches with a passage as an answer might read, made of what the query finds first, beside the query.',
  input: input(DEFAULT_RESULTS),
  output: z.strictObject({ ...answer, ...hypothesis }),
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  aliases: { limit: 'topK' },
  example: { query: 'write things down' },
  handler: ({ topK, ...wish }, call) => answerSearch(call, HYDE, { ...wish, limit: topK }),
});

const MULTIQUERY_RESULTS = 5;

const multiquery = defineTool({
  ...declared,
  name: 'svc_search_multiquery',
  area: AREA,
  description: 'Asks a query in up to four ways; what several of them find comes first.',
  input: input(MULTIQUERY_RESULTS),
  output: z.strictObject({ ...answer, ...variants }),
  refuses: PRESENT_REFUSES,
  raises: READ_RAISES,
  aliases: { limit: 'topK' },
  example: { query: 'write things down' },
  handler: ({ topK, ...wish }, call) => answerSearch(call, MULTIQUERY, { ...wish, limit: topK }),
});

const semantic = defineTool({
  ...declared,
  name: 'svc_search_semantic',
  area: AREA,
  description: 'Searches by meaning alone: passages whose vectors are near that of the query, the nearest first.',
  input: z.strictObject({
    query: query.describe('What is looked for, in any words.'),
    limit: limit(DEFAULT_RESULTS),
    explain,
    ...who,
  }),
  output: z.strictObject({ ...answer, total: z.int().describe('Files with a cosine above 0.'), embedder }),
  refuses: [...PRESENT_REFUSES, 'E_EMBEDDER_UNAVAILABLE'],
  raises: READ_RAISES,
  aliases: { topK: 'limit' },
  example: { query: 'write things down' },
  handler: (wish, call) => answerSearch(call, SEMANTIC, wish),
});

export const searchTools = [search, hybrid, hyde, multiquery, semantic];
