/** svc_search and svc_rerank. */
import { z } from 'zod';
import { brainAndBranch, CommitId, PathText, Sha256Hex } from '@svc/contract/params.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import { checkedPath } from '../blocked-path.ts';
import { defineTool } from '../deps.ts';
import { searchFiles, type SearchRow } from '../operations/files.ts';
import { compress, type CompressedText } from '../search/compress.ts';
import { rerank, type RerankDocument } from '../search/rerank.ts';
import { READ_RAISES, READ_REFUSES, resolveReads, splitPath } from './target.ts';

const DEFAULT_RESULTS = 10;
const RAG_BUDGET = 2000;
const budget = z
  .int()
  .min(64)
  .max(100_000)
  .optional()
  .describe('Tokens of a compressed context made from the results.');

const context = z.strictObject({
  text: z.string(),
  tokens: z.int(),
  citations: z.array(
    z.strictObject({
      file: z.string().optional(),
      index: z.int().optional(),
      lines: z.tuple([z.int(), z.int()]).optional(),
      commit: z.string().nullable().optional(),
      hash: z.string().optional(),
    }),
  ),
});

const explanation = z.strictObject({
  bm25: z.number(),
  fused: z.number(),
  parts: z.record(z.string(), z.number()).nullable(),
  terms: z.array(
    z.strictObject({ term: z.string(), field: z.string(), tf: z.number(), idf: z.number(), part: z.number() }),
  ),
});

const result = z.strictObject({
  file: z.string(),
  category: z.string(),
  filename: z.string(),
  title: z.string(),
  content: z.string().describe('The passage.'),
  snippet: z.string(),
  score: z.number(),
  lines: z.tuple([z.int(), z.int()]).describe('First and last line of the passage.'),
  hash: Sha256Hex,
  commit: CommitId.nullable(),
  brain: z.string(),
  branch: z.string(),
  explain: explanation.optional(),
});

const MODES = ['plain', 'hybrid', 'basic', 'keyword', 'rag'] as const;
/** Told apart from what nobody has heard of, but not offered: the schema shows only what can be had. */
const UNAVAILABLE_MODES = ['semantic', 'hyde', 'multiquery'] as const;

const search = defineTool({
  name: 'svc_search',
  area: 'core',
  description:
    'Searches the files of a brain, or of every brain on the stack; a write is found by the very next search.',
  input: z.strictObject({
    query: z.string().max(2000).describe('Words to look for.'),
    limit: z.int().min(1).max(100).default(DEFAULT_RESULTS).describe('Results.'),
    mode: z
      .enum([...MODES, ...UNAVAILABLE_MODES], { error: `must be one of ${MODES.join(', ')}` })
      .meta({ enum: MODES })
      .default('hybrid')
      .describe('hybrid reranks plain; basic and keyword = plain; rag = hybrid with a budget of 2000.'),
    category: PathText.optional().describe('Only below this directory.'),
    budget,
    explain: z.boolean().default(false).describe('With the parts of each score.'),
    group: z.enum(['file', 'passage']).default('file').describe('One result per file or per passage.'),
    ...brainAndBranch,
    userCtx: UserCtx.optional(),
  }),
  output: z.strictObject({
    query: z.string(),
    mode: z.string(),
    results: z.array(result),
    total: z.int().describe('Files with a query term.'),
    context: context.optional(),
    reason: z.string().optional(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [...READ_REFUSES, 'E_EMBEDDER_UNAVAILABLE', 'E_MODE_UNAVAILABLE'],
  raises: READ_RAISES,
  aliases: { topK: 'limit' },
  example: { query: 'write things down' },
  async handler({ query, mode: asked, budget: wanted, ...wish }, call) {
    if (asked === 'semantic') throw call.refuse('E_EMBEDDER_UNAVAILABLE', { mode: asked, modes: MODES });
    if (asked === 'hyde' || asked === 'multiquery')
      throw call.refuse('E_MODE_UNAVAILABLE', { mode: asked, modes: MODES });
    const mode = asked === 'hybrid' || asked === 'rag' ? ('hybrid' as const) : ('plain' as const);
    if (query.trim() === '') return { query: '', mode, results: [], total: 0, reason: 'empty query' };
    const { limit, group, explain } = wish;
    const request = { query, mode, limit, group, pathPrefix: prefixOf(wish.category), explain };
    const rows: RankedRow[] = [];
    let total = 0;
    for (const [depth, { ask, brain, branch }] of (await resolveReads(call, wish)).entries()) {
      const answer = call.take(await ask(searchFiles, { ...request, branch }));
      total += answer.total;
      rows.push(...answer.rows.map((row) => ({ ...row, brain, branch, depth })));
    }
    const best = rows.sort(byRank).slice(0, limit);
    const shown = { query, mode, results: best.map(shownRow), total };
    const budgetTokens = wanted ?? (asked === 'rag' ? RAG_BUDGET : null);
    if (budgetTokens === null) return shown;
    return {
      ...shown,
      context: shownContext(await compress({ query, passages: best.map(passageOfRow), budgetTokens })),
    };
  },
});

function prefixOf(category: string | undefined): string | null {
  return category === undefined || category === '' ? null : checkedPath(category);
}

/** `depth` = place of its brain on the stack. */
type RankedRow = SearchRow & { readonly brain: string; readonly branch: string; readonly depth: number };

function shownRow({ depth: _depth, lines, explain, ...row }: RankedRow) {
  const shown = { ...row, ...splitPath(row.file), lines: [...lines] as [number, number] };
  if (explain === undefined) return shown;
  const parts = explain.parts === null ? null : { ...explain.parts };
  return { ...shown, explain: { ...explain, parts, terms: [...explain.terms] } };
}

function passageOfRow({ file, content, lines, commit, hash }: RankedRow) {
  return { file, text: content, lines, commit, hash };
}

/** Score down, then the order of the stack, file, first line. */
function byRank(a: RankedRow, b: RankedRow): number {
  const byFile = a.file < b.file ? -1 : a.file > b.file ? 1 : a.lines[0] - b.lines[0];
  return b.score - a.score || a.depth - b.depth || byFile;
}

function shownContext({ text, tokens, citations }: CompressedText) {
  return {
    text,
    tokens,
    citations: citations.map(({ lines, ...citation }) => ({
      ...citation,
      ...(lines === undefined ? {} : { lines: [...lines] as [number, number] }),
    })),
  };
}

const document = z.union([
  z.string(),
  z.looseObject({
    content: z.string().optional(),
    text: z.string().optional(),
    title: z.string().optional(),
    id: z.union([z.string(), z.number()]).optional(),
    file: z.string().optional(),
    lines: z.tuple([z.int(), z.int()]).optional(),
    commit: z.string().optional(),
    date: z.union([z.string(), z.number()]).optional(),
  }),
]);

const rerankTool = defineTool({
  name: 'svc_rerank',
  area: 'core',
  description: 'Orders given documents by how well they answer a query, and can compress them into a context.',
  input: z.strictObject({
    query: z.string().min(1).max(2000),
    docs: z.array(document).min(1).max(1000).describe('Texts, or objects with content or text.'),
    topK: z.int().min(1).max(1000).optional().describe('Results, default 10.'),
    budget,
  }),
  output: z.strictObject({
    query: z.string(),
    results: z.array(z.looseObject({ index: z.int(), score: z.number() })),
    context: context.optional(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  aliases: { limit: 'topK', documents: 'docs' },
  example: { query: 'cats', docs: ['a cat sat', 'dogs bark'] },
  async handler({ query, docs, topK = DEFAULT_RESULTS, budget: tokens }) {
    const ranked = await rerank(query, docs.map(rankable), topK);
    const results = ranked.map(({ index, score }) => ({ ...asObject(docs[index]), index, score }));
    if (tokens === undefined) return { query, results };
    const passages = ranked.map(({ index }) => passageOf(docs[index], index));
    return { query, results, context: shownContext(await compress({ query, passages, budgetTokens: tokens })) };
  },
});

type Document = z.output<typeof document>;

function rankable(doc: Document): RerankDocument {
  if (typeof doc === 'string') return doc;
  const { title, content, text = '' } = doc;
  return { content: content ?? text, ...(title === undefined ? {} : { title }) };
}

function asObject(doc: Document | undefined): Record<string, unknown> {
  return typeof doc === 'string' ? { content: doc } : (doc ?? {});
}

function passageOf(doc: Document | undefined, index: number) {
  if (typeof doc === 'string' || doc === undefined) return { index, text: doc ?? '' };
  const { content, text, file, lines, commit } = doc;
  return {
    index,
    text: content ?? text ?? '',
    ...(file === undefined ? {} : { file }),
    ...(lines === undefined ? {} : { lines }),
    ...(commit === undefined ? {} : { commit }),
  };
}

export const searchTools = [search, rerankTool];
