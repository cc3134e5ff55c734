import { bodyTokens } from './analysis-cache.ts';
import { analyseQuery } from './analysis.ts';
import { inverseFrequency, roundScore } from './bm25.ts';
import { CANDIDATES, rerankCandidates, sumOfParts } from './hybrid.ts';
import type { Candidate, HybridParts } from './hybrid.ts';
import { fuseNearness, nearRows } from './nearness.ts';
import { presentRow, rowText } from './results.ts';
import type { RowStore } from './row-store.ts';
import { prepareQuery, scoreFiles, scoreRows } from './scoring.ts';
import type { PreparedQuery, RowScores } from './scoring.ts';
import type { SearchAnswer, SearchRequest } from './search-answer.ts';
import { topRows } from './top-rows.ts';
import type { Before } from './top-rows.ts';

/** Working memory of one index, all zeros between queries; by row id and by file slot. */
export interface Workspace {
  readonly scores: Float64Array;
  readonly rows: Uint32Array;
  readonly fileScores: Float64Array;
  readonly fileFrequencies: Float64Array;
  /** A file's best row + 1. */
  readonly bestRows: Uint32Array;
  /** By term id. */
  readonly termNumbers: Uint32Array;
}

function rowOrder(store: RowStore, scores: Float64Array): Before {
  const { slotOf, ordinalOf, fileAt } = store;
  const scoreOf = (row: number): number => scores[row] ?? 0;
  const ordinal = (row: number): number => ordinalOf[row] ?? 0;
  const fileOf = (row: number): string => fileAt[slotOf[row] ?? 0]?.file ?? '';
  return (left, right) => {
    const difference = scoreOf(left) - scoreOf(right);
    if (difference !== 0) return difference > 0;
    if (slotOf[left] === slotOf[right]) return ordinal(left) < ordinal(right);
    return fileOf(left) < fileOf(right);
  };
}

/** Whether it is that file, or below that directory; empty = any. */
export function isBelow(file: string, prefix: string): boolean {
  if (prefix === '') return true;
  const directory = prefix.endsWith('/') ? prefix : `${prefix}/`;
  return file === prefix || file.startsWith(directory);
}

/** The rows of files below the prefix. */
function narrow(store: RowStore, rows: Uint32Array, prefix: string): Uint32Array {
  if (prefix === '') return rows;
  const isWanted = new Map<number, boolean>();
  return rows.filter((row) => {
    const slot = store.slotOf[row] ?? 0;
    const wanted = isWanted.get(slot) ?? isBelow(store.fileAt[slot]?.file ?? '', prefix);
    isWanted.set(slot, wanted);
    return wanted;
  });
}

/** Each file's first row in the order. */
function bestPerFile(store: RowStore, rows: Uint32Array, before: Before, bestRows: Uint32Array): number[] {
  const slots: number[] = [];
  for (const row of rows) {
    const slot = store.slotOf[row] ?? 0;
    const known = bestRows[slot] ?? 0;
    if (known === 0) slots.push(slot);
    if (known === 0 || before(row, known - 1)) bestRows[slot] = row + 1;
  }
  return slots.map((slot) => {
    const row = (bestRows[slot] ?? 0) - 1;
    bestRows[slot] = 0;
    return row;
  });
}

function candidateOf(store: RowStore, row: number, { scores, fileScores }: Workspace): Candidate {
  const slot = store.slotOf[row] ?? 0;
  const ordinal = store.ordinalOf[row] ?? 0;
  const entry = store.fileAt[slot];
  const scoreAt = (other: number): number => scores[entry?.rows[other] ?? -1] ?? 0;
  return {
    text: entry === undefined ? '' : rowText(entry, ordinal),
    tokens: entry === undefined ? new Uint32Array(0) : bodyTokens(entry.analysed, ordinal),
    bm25: scores[row] ?? 0,
    file: fileScores[slot] ?? 0,
    adjacent: scoreAt(ordinal - 1) + scoreAt(ordinal + 1),
    secondAdjacent: scoreAt(ordinal - 2) + scoreAt(ordinal + 2),
  };
}

/** Query terms in query order and query words with their idf; a word no row has counts as the rarest. */
function rerankQuery({ view, words, terms }: PreparedQuery) {
  const byTerm = new Map(terms.map((term) => [term.term, term]));
  const known = words.flatMap(({ term }) => byTerm.get(term) ?? []);
  const unseen = inverseFrequency(view.totals.rows, 0);
  return {
    terms: known.filter(({ postings }) => postings !== undefined),
    words: words.map(({ word, term }) => ({ word, idf: byTerm.get(term)?.idf ?? unseen })),
  };
}

/** Replaces the BM25F scores of `rows` by hybrid ones; returns the parts of the reranked rows. */
function rerank(query: PreparedQuery, rows: Uint32Array, work: Workspace, before: Before): Map<number, HybridParts> {
  const { store } = query;
  scoreFiles(query, work.fileScores, work.fileFrequencies);
  const best = topRows(rows, CANDIDATES, before);
  const candidates = best.map((row) => candidateOf(store, row, work));
  const { terms, words } = rerankQuery(query);
  const parts = rerankCandidates(candidates, terms, words, work.termNumbers);
  const top = candidates[0]?.bm25 ?? 1;
  for (const row of rows) work.scores[row] = roundScore((work.scores[row] ?? 0) / top);
  const reranked = new Map<number, HybridParts>();
  parts.forEach((part, index) => {
    const row = best[index] ?? 0;
    work.scores[row] = roundScore(sumOfParts(part));
    reranked.set(row, part);
  });
  work.fileScores.fill(0);
  return reranked;
}

/** What a request found: rows with their scores in the workspace. */
interface Scored {
  readonly rows: Uint32Array;
  /** Those whose scores are not 0. */
  readonly touched: Uint32Array;
  readonly parts: ReadonlyMap<number, HybridParts> | null;
  /** Files that are counted. */
  readonly files: number;
}

function scoreByWords(query: PreparedQuery, request: SearchRequest, work: Workspace, before: Before): Scored {
  const found: RowScores = { scores: work.scores, rows: work.rows, count: 0 };
  scoreRows(query, found);
  const touched = found.rows.subarray(0, found.count);
  for (const row of touched) work.scores[row] = roundScore(work.scores[row] ?? 0);
  const rows = narrow(query.store, touched, request.pathPrefix ?? '');
  const parts = request.mode === 'hybrid' ? rerank(query, rows, work, before) : null;
  return { rows, touched, parts, files: bestPerFile(query.store, rows, before, work.bestRows).length };
}

/** Rows that are near, below the prefix. */
function nearBelow(query: PreparedQuery, { nearness, pathPrefix = '' }: SearchRequest): Map<number, number> | null {
  if (nearness === undefined) return null;
  const near = nearRows(query, nearness);
  if (pathPrefix === '') return near;
  const below = narrow(query.store, Uint32Array.from(near.keys()), pathPrefix);
  return new Map(Array.from(below, (row) => [row, near.get(row) ?? 0]));
}

function scoreByMeaning(
  { store }: PreparedQuery,
  near: ReadonlyMap<number, number>,
  work: Workspace,
  before: Before,
): Scored {
  const rows = Uint32Array.from(near.keys());
  for (const [row, cosine] of near) work.scores[row] = cosine;
  return { rows, touched: rows, parts: null, files: bestPerFile(store, rows, before, work.bestRows).length };
}

function score(
  query: PreparedQuery,
  request: SearchRequest,
  near: ReadonlyMap<number, number> | null,
  work: Workspace,
): Scored {
  const before = rowOrder(query.store, work.scores);
  if (request.mode === 'semantic') return scoreByMeaning(query, near ?? new Map(), work, before);
  const scored = scoreByWords(query, request, work, before);
  if (near === null || request.mode === 'plain') return scored;
  const rows = fuseNearness(work.scores, scored.rows, near, request.nearness?.weight ?? 0);
  return { ...scored, rows, touched: Uint32Array.from([...scored.touched, ...rows]) };
}

/** Answers one request; `work` has room for every row and slot of the store. */
export function runQuery(store: RowStore, request: SearchRequest, work: Workspace): SearchAnswer {
  const query = prepareQuery(store, request.admitted, analyseQuery(request.query));
  const near = nearBelow(query, request);
  const { rows, touched, parts, files: total } = score(query, request, near, work);
  const before = rowOrder(store, work.scores);
  const pool = request.group === 'file' ? bestPerFile(store, rows, before, work.bestRows) : rows;
  const shown = { reranked: parts, near, explain: request.explain };
  const results = topRows(pool, request.limit, before).map((row) =>
    presentRow(query, row, work.scores[row] ?? 0, shown),
  );
  for (const row of touched) work.scores[row] = 0;
  return { results, total };
}
