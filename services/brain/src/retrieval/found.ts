/** What a search over the brains of a stack finds, and how it is shown. */
import { z } from 'zod';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { CommitId, Sha256Hex } from '@svc/contract/params.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { expandQuery, searchFiles, type SearchRow } from '../operations/search.ts';
import type { CompressedText } from '../search/compress.ts';
import { FEEDBACK_WORDS } from '../search/feedback.ts';
import { readQuery } from '../search/query-language.ts';
import type { Recency } from '../search/recency.ts';
import type { Correction, SearchRequest, Understood } from '../search/search-answer.ts';
import { nameOfRow } from '../search/shown-rows.ts';
import { splitPath, type Target } from '../tools/target.ts';
import { askAgreed } from './agreed-words.ts';
import type { Models } from './models.ts';

export const shownContext = z.strictObject({
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
  fused: z.number().describe('The score.'),
  addends: z
    .record(z.string(), z.number())
    .describe(
      'What adds up to the score; hyde: query, hypothetical; multiquery: queries[n]; the rest is of the first.',
    ),
  maxima: z
    .strictObject({ words: z.number(), semantic: z.number() })
    .optional()
    .describe('words of the addends is the sum of parts over this; semantic is the weighted cosine over this.'),
  parts: z.record(z.string(), z.number()).nullable(),
  semantic: z.number().optional().describe('The cosine, where meaning counted.'),
  phrases: z.number().describe('plain: what the phrases add to bm25.'),
  terms: z.array(
    z.strictObject({ term: z.string(), field: z.string(), tf: z.number(), idf: z.number(), part: z.number() }),
  ),
});

export const shownResult = z.strictObject({
  file: z.string(),
  category: z.string(),
  filename: z.string(),
  title: z.string(),
  headings: z.array(z.string()).describe('Markdown: above the passage, outermost first.'),
  content: z.string().describe('The passage.'),
  snippet: z.string(),
  score: z.number(),
  lines: z.tuple([z.int(), z.int()]).describe('First and last line of the passage.'),
  hash: Sha256Hex,
  commit: CommitId.nullable(),
  brain: z.string(),
  branch: z.string(),
  matched: z.array(z.int()).optional().describe('multiquery: which of the queries found it.'),
  explain: explanation.optional(),
});

/** `depth` = place of its brain on the stack. */
export type RankedRow = SearchRow & {
  readonly brain: string;
  readonly branch: string;
  readonly depth: number;
  readonly matched?: readonly number[];
};

export interface Found {
  /** Best first. */
  readonly rows: readonly RankedRow[];
  /** Files with a query term; in a search by meaning those that are near. */
  readonly total: number;
  /** Why meaning did not count in some brain although it was to. */
  readonly lacking: 'late' | 'unfit' | null;
  /** How the query was read. */
  readonly understood: Understood;
  /** Words that none of the brains has, each once. */
  readonly corrected: readonly Correction[];
}

export type StackRequest = Pick<SearchRequest, 'query' | 'mode' | 'limit' | 'group' | 'explain' | 'bare'> & {
  readonly pathPrefix: string | null;
  readonly recency?: Recency;
  /** A query whose operators narrow the results too. */
  readonly within?: string;
  readonly models: Models;
  /** Names of what earlier pages had. */
  readonly shown?: readonly string[];
};

/** As a cursor names it. */
export function nameOfShown({ brain, branch, file, lines, hash }: RankedRow, group: StackRequest['group']): string {
  return nameOfRow({ place: placeOf({ brain, branch }), file, passage: group === 'file' ? null : { lines, hash } });
}

function placeOf({ brain, branch }: Pick<Target, 'brain' | 'branch'>): string {
  return `${brain} ${branch}`;
}

/** What a search has to know of a brain. */
export type SearchTarget = Pick<Target, 'brain' | 'branch' | 'ask'>;

/** Asks every brain of the stack. */
export async function searchStack(
  targets: readonly SearchTarget[],
  { models, shown: names, ...request }: StackRequest,
): Promise<Decision<Found, ReadRefusal>> {
  const meaning = request.mode === 'plain' ? null : await models.meaningOf(request.query);
  const rows: RankedRow[] = [];
  let total = 0;
  let lacking: Found['lacking'] = null;
  const asked = await askAgreed(targets, ({ ask, brain, branch }, meant) => {
    const shown = names === undefined ? {} : { shown: { place: placeOf({ brain, branch }), names } };
    return ask(searchFiles, { ...request, ...shown, ...meant, meaning, branch });
  });
  if (!asked.ok) return asked;
  const { answers, corrected } = asked.value;
  for (const [depth, { brain, branch }] of targets.entries()) {
    const answer = answers[depth];
    if (answer === undefined) continue;
    lacking ??= answer.lacking;
    total += answer.total;
    rows.push(...answer.rows.map((row) => ({ ...row, brain, branch, depth })));
  }
  if (lacking !== null) models.noteLacking(lacking);
  const { understood } = readQuery(request.query);
  return allow({ rows: rows.sort(byRank).slice(0, request.limit), total, lacking, understood, corrected });
}

interface Expansion {
  /** Heaviest first. */
  readonly words: readonly string[];
  /** What was found first, best first. */
  readonly passages: readonly SearchRow[];
}

/** Words that stand out in what a query finds first in each brain of the stack. */
export async function expandOnStack(
  targets: readonly SearchTarget[],
  { query, pathPrefix }: Pick<StackRequest, 'query' | 'pathPrefix'>,
): Promise<Decision<Expansion, ReadRefusal>> {
  const weights = new Map<string, number>();
  const passages: SearchRow[] = [];
  const asked = await askAgreed(targets, ({ ask, branch }, meant) =>
    ask(expandQuery, { query, pathPrefix, ...meant, branch }),
  );
  if (!asked.ok) return asked;
  for (const answer of asked.value.answers) {
    for (const { word, weight } of answer.words) weights.set(word, (weights.get(word) ?? 0) + weight);
    passages.push(...answer.passages);
  }
  const words = [...weights].sort(([a, weightA], [b, weightB]) => weightB - weightA || (a < b ? -1 : 1));
  return allow({
    words: words.slice(0, FEEDBACK_WORDS).map(([word]) => word),
    passages: passages.sort((a, b) => b.score - a.score),
  });
}

/** Score down, then the order of the stack, file, first line. */
function byRank(a: RankedRow, b: RankedRow): number {
  const byFile = a.file < b.file ? -1 : a.file > b.file ? 1 : a.lines[0] - b.lines[0];
  return b.score - a.score || a.depth - b.depth || byFile;
}

export function shownRow({ depth: _depth, lines, matched, explain, ...row }: RankedRow): z.output<typeof shownResult> {
  const shown = {
    ...row,
    ...splitPath(row.file),
    headings: [...row.headings],
    lines: [...lines] as [number, number],
    ...(matched === undefined ? {} : { matched: [...matched] }),
  };
  if (explain === undefined) return shown;
  const parts = explain.parts === null ? null : { ...explain.parts };
  const { maxima, ...rest } = explain;
  const explained = { ...rest, addends: { ...explain.addends }, parts, terms: [...explain.terms] };
  return { ...shown, explain: maxima === undefined ? explained : { ...explained, maxima: { ...maxima } } };
}

export function passageOfRow({ file, content, lines, commit, hash }: RankedRow) {
  return { file, text: content, lines, commit, hash };
}

export function showContext({ text, tokens, citations }: CompressedText): z.output<typeof shownContext> {
  return {
    text,
    tokens,
    citations: citations.map(({ lines, ...citation }) => ({
      ...citation,
      ...(lines === undefined ? {} : { lines: [...lines] as [number, number] }),
    })),
  };
}
