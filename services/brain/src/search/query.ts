import { bodyTokens } from './analysed-file.ts';
import type { QueryWord } from './analysis.ts';
import { inverseFrequency, roundScore } from './bm25.ts';
import { narrowed, phraseCounts } from './conditions.ts';
import { CANDIDATES, PHRASE_SCORE, rerankCandidates, sumOfParts, unrerankedParts } from './hybrid.ts';
import type { Candidate, HybridParts } from './hybrid.ts';
import { fileScores } from './file-scores.ts';
import { HeadingPaths } from './heading-paths.ts';
import { fuseNearness, type Fusion, nearRows } from './nearness.ts';
import { type ReadQuery, readQuery } from './query-language.ts';
import { presentRow, type Shown as ShownWith, soughtTerms } from './results.ts';
import type { PostingList } from './posting-list.ts';
import { firstOfFiles, rowOrder } from './row-order.ts';
import { type IndexedFile, type RowStore, titleTokens } from './row-store.ts';
import { type Enough, type RowScores, scoreRows } from './row-scores.ts';
import { type PreparedQuery, prepareQuery } from './scoring.ts';
import type { SearchAnswer, SearchRequest } from './search-answer.ts';
import { type RowOrder, topRows } from './top-rows.ts';
import type { Workspace } from './workspace.ts';

/** The terms of a passage with those of its file's title before them. */
function tokensOf(entry: IndexedFile, ordinal: number): Uint32Array {
  const title = titleTokens(entry);
  const body = bodyTokens(entry.analysed, ordinal);
  const tokens = new Uint32Array(title.length + body.length);
  tokens.set(title);
  tokens.set(body, title.length);
  return tokens;
}

/** What is asked beside the words. */
interface Wish {
  readonly request: SearchRequest;
  /** null = every row is. */
  readonly isWanted: ((row: number) => boolean) | null;
  /** How many of the phrases each row holds. */
  readonly phrased: ReadonlyMap<number, number>;
  /** All words of the query. */
  readonly written: readonly QueryWord[];
}

function candidatesOf(
  query: PreparedQuery,
  rows: readonly number[],
  { request, phrased }: Wish,
  { scores, fileNumbers }: Workspace,
): Candidate[] {
  const { slotOf, ordinalOf, fileAt } = query.store;
  const files = [...new Set(rows.map((row) => slotOf[row] ?? 0))].flatMap((slot) => fileAt[slot] ?? []);
  const ofFile = fileScores(query, files, fileNumbers);
  const byFile = new Map(
    files.map((file, number) => {
      const changedAt = request.changedAt?.(file.file) ?? null;
      return [file.slot, { file, score: ofFile[number] ?? 0, changedAt }];
    }),
  );
  return rows.flatMap((row) => {
    const found = byFile.get(slotOf[row] ?? 0);
    if (found === undefined) return [];
    const { file, score, changedAt } = found;
    const tokens = tokensOf(file, ordinalOf[row] ?? 0);
    const phrases = phrased.get(row) ?? 0;
    const titleLength = titleTokens(file).length;
    return [{ tokens, titleLength, bm25: scores[row] ?? 0, file: score, slot: file.slot, phrases, changedAt }];
  });
}

/** Query terms in query order, and all of them with their idf; one that no row has counts as the rarest. */
function rerankQuery({ store, view, words, terms, corrected }: PreparedQuery, written: readonly QueryWord[]) {
  const byTerm = new Map(terms.map((term) => [term.term, term]));
  const known = words.flatMap(({ term }) => byTerm.get(term) ?? []);
  const asRead = new Map(corrected.map(({ word, as }) => [word, as]));
  const unseen = inverseFrequency(view.totals.rows, 0);
  return {
    terms: known.filter(({ postings }) => postings !== undefined),
    written: written.map(({ word, term }) => {
      const meant = asRead.get(word) ?? term;
      return { id: store.cache.dictionary.find(meant) ?? -1, idf: byTerm.get(meant)?.idf ?? null };
    }),
    weighted: words.map(({ term }) => ({ term, idf: byTerm.get(term)?.idf ?? unseen })),
  };
}

/** The best passages of the first pass, with their parts. */
interface Reranked {
  readonly rows: Uint32Array;
  readonly parts: ReadonlyMap<number, HybridParts>;
  /** The highest score of the first pass. */
  readonly top: number;
}

function rerank(query: PreparedQuery, rows: Uint32Array, wish: Wish, work: Workspace): Reranked {
  const { dictionary } = query.store.cache;
  const best = topRows(rows, CANDIDATES, rowOrder(query.store, work.scores, wish.phrased));
  const candidates = candidatesOf(query, best, wish, work);
  const unitsOf = (id: number): Uint16Array => dictionary.unitsOf(id);
  const asked = { ...rerankQuery(query, wish.written), unitsOf, recency: wish.request.recency ?? 'off' };
  const parts = rerankCandidates(candidates, asked, work.termNumbers);
  const top = candidates.reduce((highest, { bm25 }) => Math.max(highest, bm25), 0);
  const partsOf = new Map(parts.map((part, index) => [best[index] ?? 0, part]));
  return { rows: Uint32Array.from(best), parts: partsOf, top };
}

/** What a request found: rows with their scores in the workspace. */
interface Scored {
  /** Those that can be among the first. */
  readonly rows: Uint32Array;
  /** Those whose scores are not 0. */
  readonly touched: Uint32Array;
  readonly parts: ReadonlyMap<number, HybridParts> | null;
  /** What a phrase adds to a score in plain mode: more than any words can. */
  readonly phraseScore: number;
  /** Files that are counted. */
  readonly files: number;
  /** How meaning came to the words; absent where it did not. */
  readonly fusion?: Fusion;
}

/** Rows with a word of the query, their scores rounded. */
interface Touched {
  readonly rows: Uint32Array;
  /** Lists of words whose other rows are not among them. */
  readonly skipped: readonly PostingList[];
}

function touchedRows(query: PreparedQuery, work: Workspace, enough: Enough | null): Touched {
  const { scores, rows } = work;
  const found: RowScores = { scores, rows, count: 0, norms: work.bodyNorms(query.view) };
  const skipped = scoreRows(query, found, enough);
  const touched = rows.subarray(0, found.count);
  for (let index = 0; index < touched.length; index += 1) {
    const row = touched[index] ?? 0;
    scores[row] = roundScore(scores[row] ?? 0);
  }
  return { rows: touched, skipped };
}

/** Of each file about so many rows are among the first. */
const ROWS_OF_A_FILE = 4;

/** What of the order by words has to be right for this answer; null = all of it. */
function enoughFor({ request, isWanted, phrased }: Wish): Enough | null {
  if (isWanted !== null || phrased.size > 0) return null;
  if (request.mode === 'hybrid') return { rows: CANDIDATES, files: 0 };
  const most = mostRows(request);
  return request.group === 'file' ? { rows: most * ROWS_OF_A_FILE, files: most } : { rows: most, files: 0 };
}

function scoreByWords(query: PreparedQuery, wish: Wish, isAllWanted: boolean, work: Workspace): Scored {
  if (wish.request.mode === 'hybrid') return scoreHybrid(query, wish, isAllWanted, work);
  const { rows: touched, skipped } = touchedRows(query, work, enoughFor(wish));
  const rows = wish.isWanted === null ? touched : touched.filter(wish.isWanted);
  const phraseScore = wish.phrased.size === 0 ? 0 : addPhrases(rows, wish.phrased, work.scores);
  return { rows, touched, parts: null, phraseScore, files: work.countFiles(query, rows, skipped) };
}

function scoreHybrid(query: PreparedQuery, wish: Wish, isAllWanted: boolean, work: Workspace): Scored {
  const { rows: touched, skipped } = touchedRows(query, work, isAllWanted ? null : enoughFor(wish));
  const rows = wish.isWanted === null ? touched : touched.filter(wish.isWanted);
  const files = work.countFiles(query, rows, skipped);
  const reranked = rerank(query, rows, wish, work);
  const isAll = isAllWanted || !isEnough(query.store, reranked, wish.request);
  if (isAll && skipped.length > 0) {
    work.clearScores(touched);
    return scoreHybrid(query, wish, true, work);
  }
  const shown = isAll ? rows : reranked.rows;
  setHybridScores(shown, reranked, wish, work.scores);
  return { rows: shown, touched, parts: reranked.parts, phraseScore: PHRASE_SCORE, files };
}

/** Answers what a phrase adds: more than all words together. */
function addPhrases(rows: Uint32Array, phrased: ReadonlyMap<number, number>, scores: Float64Array): number {
  const each = Math.ceil(rows.reduce((top, row) => Math.max(top, scores[row] ?? 0), 0)) + 1;
  for (const row of rows) {
    const phrases = phrased.get(row) ?? 0;
    if (phrases > 0) scores[row] = roundScore((scores[row] ?? 0) + phrases * each);
  }
  return each;
}

/** No row beyond the reranked ones comes before one of them. */
function isEnough({ slotOf }: RowStore, { rows }: Reranked, request: SearchRequest): boolean {
  const found = request.group === 'file' ? new Set(Array.from(rows, (row) => slotOf[row])).size : rows.length;
  return found >= mostRows(request);
}

/** Of the best, so that enough are left without those that were shown before. */
function mostRows({ limit, shown }: SearchRequest): number {
  return limit + (shown?.count ?? 0);
}

/** The rows that the answer shows, best first. */
function shownRows(store: RowStore, rows: Uint32Array, request: SearchRequest, order: RowOrder): number[] {
  const { group, limit, shown } = request;
  const most = mostRows(request);
  const best = group === 'file' ? firstOfFiles(store, rows, most, order) : topRows(rows, most, order);
  if (shown === undefined) return best;
  const isNew = (row: number): boolean => {
    const entry = store.fileAt[store.slotOf[row] ?? 0];
    return (
      entry !== undefined && !shown.has({ file: entry.file, lines: entry.analysed.lines(store.ordinalOf[row] ?? 0) })
    );
  };
  return best.filter(isNew).slice(0, limit);
}

/** Replaces the scores of these rows by hybrid ones. */
function setHybridScores(rows: Uint32Array, { parts, top }: Reranked, { phrased }: Wish, scores: Float64Array): void {
  for (const row of rows) {
    const part = parts.get(row) ?? unrerankedParts(top > 0 ? (scores[row] ?? 0) / top : 0, phrased.get(row));
    scores[row] = roundScore(sumOfParts(part));
  }
}

/** Wanted rows that are near. */
function nearOf(query: PreparedQuery, { request: { nearness }, isWanted }: Wish): Map<number, number> | null {
  if (nearness === undefined) return null;
  return new Map([...nearRows(query, nearness)].filter(([row]) => isWanted === null || isWanted(row)));
}

function scoreByMeaning(query: PreparedQuery, near: ReadonlyMap<number, number>, work: Workspace): Scored {
  const rows = Uint32Array.from(near.keys());
  for (const [row, cosine] of near) work.scores[row] = cosine;
  return { rows, touched: rows, parts: null, phraseScore: 0, files: work.countFiles(query, rows) };
}

function score(query: PreparedQuery, wish: Wish, near: ReadonlyMap<number, number> | null, work: Workspace): Scored {
  const { mode, nearness } = wish.request;
  if (mode === 'semantic') return scoreByMeaning(query, near ?? new Map(), work);
  const isFused = near !== null && mode !== 'plain';
  const scored = scoreByWords(query, wish, isFused, work);
  if (!isFused) return scored;
  const { rows, fusion } = fuseNearness(work.scores, scored.rows, near, nearness?.weight ?? 0);
  return { ...scored, rows, fusion, touched: Uint32Array.from([...scored.touched, ...rows]) };
}

function wishOf({ store, view }: PreparedQuery, request: SearchRequest, read: ReadQuery): Wish {
  const { within, pathPrefix = '', changedAt = () => null } = request;
  const narrowing = within === undefined ? read : readQuery(within);
  const isWanted = narrowed(store, view, { read: narrowing, pathPrefix, changedAt });
  return { request, isWanted, phrased: phraseCounts(store, view, read.phrases), written: read.written };
}

/** What a request found, to be shown as soon as its texts are at hand. */
export interface FoundRows {
  readonly query: PreparedQuery;
  /** Best first, with their scores. */
  readonly rows: readonly (readonly [row: number, score: number])[];
  readonly shown: Omit<ShownWith, 'headings'>;
  readonly total: number;
  readonly understood: ReadQuery['understood'];
}

/** `work` has room for every row and slot of the store. */
export function findRows(store: RowStore, request: SearchRequest, work: Workspace): FoundRows {
  const read = readQuery(request.query);
  const query = prepareQuery(store, request.admitted, read.words, read, request.meant);
  const wish = wishOf(query, request, read);
  const near = nearOf(query, wish);
  const { rows, touched, parts, phraseScore, files: total, fusion } = score(query, wish, near, work);
  const best = shownRows(store, rows, request, rowOrder(store, work.scores));
  const { mode, explain, bare = false } = request;
  const making = { mode, reranked: parts, near, fusion: fusion ?? null, phrased: wish.phrased, phraseScore };
  const soughtOf = bare ? () => undefined : soughtTerms(query);
  const scored = best.map((row) => [row, work.scores[row] ?? 0] as const);
  work.clearScores(touched);
  const shown = { making, soughtOf, explain, bare };
  return { query, rows: scored, shown, total, understood: read.understood };
}

/** Texts that are not at hand are missing in it. */
export function presentFound({ query, rows, shown, total, understood }: FoundRows): SearchAnswer {
  const headings = new HeadingPaths();
  const results = rows.map(([row, score]) => presentRow(query, row, score, { ...shown, headings }));
  return { results, total, understood, corrected: query.corrected, absent: query.absent };
}
