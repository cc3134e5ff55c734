/** Given documents put in order: svc_rerank. */
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import { compress } from '../../search/compress.ts';
import { rerank, type RerankDocument } from '../../search/rerank.ts';
import { showContext, shownContext } from '../found.ts';
import { budget, DEFAULT_RESULTS } from './search.ts';

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
    context: shownContext.optional(),
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
    return { query, results, context: showContext(await compress({ query, passages, budgetTokens: tokens })) };
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

export const rerankTools = [rerankTool];
