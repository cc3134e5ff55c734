/** The ways to search that ask more than once. */
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { compress } from '../search/compress.ts';
import { plainWords } from '../search/query-language.ts';
import { fuseByRank, fuseByScore, type Fused } from './domain/fusion.ts';
import { type Variant, variantsOf } from './domain/variants.ts';
import {
  expandOnStack,
  type Found,
  type RankedRow,
  searchStack,
  type SearchTarget,
  type StackRequest,
} from './found.ts';

/** Rows that are wanted of each list, so that one which is only middling in all of them can win. */
const LIST_DEPTH = 50;
const MOST_ROWS = 100;
/** Tokens of the sentences of a hypothetical passage: about two. */
const SENTENCE_TOKENS = 64;
const MAX_QUERY_LENGTH = 2000;
/** Found on nine open collections on 2026-11-22, where recall@100 rises by 1 to 3 % with it. */
const QUERY_WEIGHT = 0.65;
/** Of what a model writes. */
const MOST_LINES = 20;

type Searched<Extra> = Promise<Decision<Found & Extra, ReadRefusal>>;

const PASSAGE_INSTRUCTION =
  'Write one short passage, as it might stand in a note, that answers the question. Answer with the passage alone.';
const QUERIES_INSTRUCTION =
  'Write three other ways to ask for the same in a search engine, each on a line of its own, without numbers or comments.';

/**
 * A passage as an answer might read, written by a model or made of what the query finds first, is searched for beside
 * the query. Finds what says the same in other words.
 */
export async function searchByHypothesis(
  targets: readonly SearchTarget[],
  request: StackRequest,
): Searched<{ readonly hypothetical: string; readonly source: 'feedback' | 'model' }> {
  const written = await request.models.write(PASSAGE_INSTRUCTION, request.query);
  const supposed = written === null ? await supposeFrom(targets, request) : allow(written.slice(0, MAX_QUERY_LENGTH));
  if (!supposed.ok) return supposed;
  const hypothetical = supposed.value;
  const deep = { ...request, limit: depthFor(request) };
  const asked = await searchStack(targets, deep);
  if (!asked.ok) return asked;
  const more = hypothetical === '' ? asked : await searchStack(targets, besideOf(deep, hypothetical));
  if (!more.ok) return more;
  const fused = fuseByScore([asked.value.rows, more.value.rows], [QUERY_WEIGHT, 1 - QUERY_WEIGHT], keyFor(request));
  const source = written === null ? 'feedback' : 'model';
  const best = bestOf(fused, request, (place) => (place === 0 ? 'query' : 'hypothetical'));
  const rows = best.map(({ lists: _lists, ...row }) => row);
  return allow({ ...asked.value, rows, hypothetical, source });
}

async function supposeFrom(
  targets: readonly SearchTarget[],
  request: StackRequest,
): Promise<Decision<string, ReadRefusal>> {
  const expansion = await expandOnStack(targets, request);
  if (!expansion.ok) return expansion;
  const { words, passages } = expansion.value;
  const texts = passages.map(({ file, content, lines }) => ({ file, text: content, lines }));
  const { text } = await compress({ query: request.query, passages: texts, budgetTokens: SENTENCE_TOKENS });
  const parts = [text, words.join(' ')].filter((part) => part !== '');
  return allow(parts.join('\n').slice(0, MAX_QUERY_LENGTH));
}

/** The query and other ways to ask it; what several of them find comes first. */
export async function searchByVariants(
  targets: readonly SearchTarget[],
  request: StackRequest,
): Searched<{ readonly queries: readonly Variant[] }> {
  const expansion = await expandOnStack(targets, request);
  if (!expansion.ok) return expansion;
  const written = await request.models.write(QUERIES_INSTRUCTION, request.query);
  const lines = written?.split('\n', MOST_LINES).map((line) => line.trim().slice(0, MAX_QUERY_LENGTH)) ?? null;
  const queries = variantsOf(request.query, expansion.value.words, lines);
  const lists: (readonly RankedRow[])[] = [];
  let first: Found | null = null;
  let lacking: Found['lacking'] = null;
  for (const [place, { query }] of queries.entries()) {
    const deep = { ...request, limit: depthFor(request) };
    const found = await searchStack(targets, place === 0 ? deep : besideOf(deep, query));
    if (!found.ok) return found;
    first ??= found.value;
    lists.push(found.value.rows);
    lacking ??= found.value.lacking;
  }
  const { total, understood, corrected } = first ?? NOTHING;
  const best = bestOf(fuseByRank(lists, keyFor(request)), request, (place) => `queries[${place}]`);
  const rows = best.map(({ lists: matched, ...row }) => ({ ...row, matched }));
  return allow({ rows, total, understood, corrected, lacking, queries });
}

const NOTHING = { total: 0, understood: { words: [] }, corrected: [] };

/** Other words beside the query's, under the query's own conditions. */
function besideOf(request: StackRequest, text: string): StackRequest {
  return { ...request, query: plainWords(text), within: request.query };
}

function depthFor({ limit }: StackRequest): number {
  return Math.min(Math.max(limit, LIST_DEPTH), MOST_ROWS);
}

/** What is one thing in several lists: a file, or a passage of it. */
function keyFor({ group }: StackRequest): (row: RankedRow) => string {
  return ({ depth, file, lines }) => (group === 'file' ? `${depth} ${file}` : `${depth} ${lines[0]} ${file}`);
}

/** What is explained of words is that of the first list that has the row; `nameOf` = what a list is called there. */
function bestOf(
  fused: readonly Fused<RankedRow>[],
  { limit }: StackRequest,
  nameOf: (place: number) => string,
): (RankedRow & Pick<Fused<RankedRow>, 'lists'>)[] {
  return fused.slice(0, limit).map(({ row, score, lists, shares }) => {
    const { explain, ...rest } = row;
    const addends = Object.fromEntries(lists.map((place, at) => [nameOf(place), shares[at] ?? 0]));
    return {
      ...rest,
      score,
      lists,
      ...(explain === undefined ? {} : { explain: { ...explain, fused: score, addends } }),
    };
  });
}
