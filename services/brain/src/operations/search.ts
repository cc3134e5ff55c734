/** Searching the files of a branch as one caller sees them, and what else a query may mean there. */
import { z } from 'zod';
import { allow } from '@svc/contract/decision.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import { analysedText, passageNames, type TextOf } from '../embedding/passages.ts';
import { QueryVector } from '../embedding/passage-vectors.ts';
import type { AnalysedFile } from '../search/analysed-file.ts';
import type { ChangedAt } from '../search/conditions.ts';
import type { Nearness } from '../search/nearness.ts';
import { isWithin, readQuery } from '../search/query-language.ts';
import { RECENCIES } from '../search/recency.ts';
import {
  Correction,
  MeantWord,
  type SearchAnswer,
  SearchResult,
  type ShownBefore,
  Understood,
} from '../search/search-answer.ts';
import { nameOfRow } from '../search/shown-rows.ts';
import type { RuledIndex } from '../search/ruled-index.ts';
import { type Seen, seen } from './files.ts';
import { decision, defineOperation, list, onBranch, type Served } from './operation.ts';

const SearchRow = SearchResult.extend({ commit: z.string().nullable() });
export type SearchRow = Readonly<z.output<typeof SearchRow>>;

const SearchQuestion = z.strictObject({
  ...onBranch,
  query: z.string(),
  /** A query whose operators narrow the results too. */
  within: z.string().exactOptional(),
  /** How words are to be read that the brains of a stack read differently. */
  meant: list(MeantWord).exactOptional(),
  recency: z.enum(RECENCIES).exactOptional(),
  mode: z.enum(['plain', 'hybrid', 'semantic']),
  /** What was asked as a model sees it; null = words alone count. */
  meaning: QueryVector.nullable(),
  limit: z.number(),
  group: z.enum(['file', 'passage']),
  pathPrefix: z.string().nullable(),
  explain: z.boolean(),
  bare: z.boolean().exactOptional(),
  /** What earlier pages had of this brain and branch. */
  shown: z.strictObject({ place: z.string(), names: list(z.string()) }).exactOptional(),
});
type SearchQuestion = z.output<typeof SearchQuestion>;

export const searchFiles = defineOperation({
  name: 'search',
  effect: 'read',
  question: SearchQuestion,
  answer: decision(
    z.strictObject({
      rows: list(SearchRow),
      total: z.number(),
      understood: Understood,
      corrected: list(Correction),
      absent: list(z.string()),
      /** Why meaning did not count although it was to; null = it did, or was not to. */
      lacking: z.enum(['late', 'unfit']).nullable(),
    }),
    READ_REFUSALS,
  ),
  async run(served, { meaning, ...question }) {
    const state = await seen(served, question.branch, null);
    if (!state.ok) return state;
    const near = meaning === null ? NOT_ASKED : await nearnessIn(served, state.value, question.pathPrefix, meaning);
    const changedAt = await writingTimes(state.value, question);
    const request = { ...question, changedAt, ...(near.nearness === null ? {} : { nearness: near.nearness }) };
    const find = (files: RuledIndex): Found => findIn(files, state.value, request);
    return allow({ ...(await state.value.view.ask(state.value.rows.chains, find)), lacking: near.lacking });
  },
});

/** Only what is asked about time costs a look at the history. */
async function writingTimes(
  { view }: Seen,
  { query, within, recency }: Pick<SearchQuestion, 'query' | 'within' | 'recency'>,
): Promise<ChangedAt> {
  const { since, until } = readQuery(within ?? query);
  const isTimed = since !== null || until !== null || (recency ?? 'off') !== 'off';
  return isTimed ? view.writingTimes() : () => null;
}

interface Near {
  readonly nearness: Nearness | null;
  readonly lacking: 'late' | 'unfit' | null;
}

const NOT_ASKED: Near = { nearness: null, lacking: null };

/** Time that is kept for the search itself. */
const SEARCH_MS = 2000;

/** By what the passages say that the caller may see; how they are found is judged again on the index itself. */
async function nearnessIn(
  { brain, context }: Served,
  { view, rows }: Seen,
  pathPrefix: string | null,
  query: QueryVector,
): Promise<Near> {
  const admitted = rows.admitted();
  let found: { readonly file: string; readonly analysed: AnalysedFile }[] = [];
  await view.ask(rows.chains, (files) => {
    for (const { analysed } of found) analysed.release();
    found = Array.from(files.under(rows.chains).files()).flatMap(({ file, chain, analysed }) =>
      admitted?.has(chain) === false || !isWithin(file, pathPrefix ?? '') ? [] : [{ file, analysed: analysed.hold() }],
    );
  });
  const fileOf = new Map(found.map(({ file, analysed }) => [analysed, file]));
  const textOf: TextOf = async (analysed) => {
    const file = fileOf.get(analysed) ?? '';
    return analysedText({ file, analysed }, rows.chains, (await view.read(file))?.text ?? null);
  };
  const { meaning, homes } = brain.context;
  const deadlineAt = context.deadlineAt - SEARCH_MS;
  const outcome = await meaning.vectors
    .cosines([...fileOf.keys()], { brainId: homes.home.id, query, textOf, deadlineAt })
    .finally(() => {
      for (const { analysed } of found) analysed.release();
    });
  if ('lacking' in outcome) return { nearness: null, lacking: outcome.lacking };
  const cosinesOf: Nearness['cosinesOf'] = (analysed) => outcome.cosines.get(passageNames(analysed).key) ?? null;
  return { nearness: { weight: query.weight, cosinesOf }, lacking: null };
}

interface Found extends Pick<SearchAnswer, 'understood' | 'corrected' | 'absent'> {
  readonly rows: SearchRow[];
  readonly total: number;
}

type FileRequest = Omit<SearchQuestion, 'branch' | 'meaning'> & {
  readonly changedAt: ChangedAt;
  readonly nearness?: Nearness;
};

function findIn(
  files: RuledIndex,
  { view, rows, state }: Seen,
  { pathPrefix, within, shown: before, ...request }: FileRequest,
): Found {
  const shownHash = ({ file, hash }: Pick<SearchResult, 'file' | 'hash'>): string =>
    rows.shownHash(state, file, files.hashOf(file) ?? hash);
  const search = (): SearchAnswer =>
    files.under(rows.chains).search({
      ...request,
      admitted: rows.admitted(),
      ...(within === undefined ? {} : { within }),
      ...(pathPrefix === null ? {} : { pathPrefix }),
      ...(before === undefined
        ? {}
        : { shown: shownBefore(before, request.group, (file) => shownHash({ file, hash: '' })) }),
    });
  const isStale = ({ file }: SearchResult): boolean => !files.isUnder(rows.chains, file);
  let answer = search();
  const stale = answer.results.filter(isStale);
  for (const { file } of stale) files.arrangeAgain(rows.chains, file);
  if (stale.length > 0) answer = search();
  // Once more where it leaves: whatever the index holds, nothing goes out that the rules do not let this subject have.
  const found = answer.results.filter((row) => rows.mayRead(row.file) && !isStale(row));
  const shown = found.map((row) => ({
    ...row,
    hash: shownHash(row),
    commit: view.isDirty(row.file) ? null : view.commit,
  }));
  const { understood, corrected, absent } = answer;
  const total = answer.total - (answer.results.length - found.length);
  return { rows: shown, total, understood, corrected, absent };
}

function shownBefore(
  { place, names }: NonNullable<SearchQuestion['shown']>,
  group: SearchQuestion['group'],
  hashOf: (file: string) => string,
): ShownBefore {
  const known = new Set(names);
  return {
    count: known.size,
    has({ file, lines }) {
      const passage = group === 'file' ? null : { lines, hash: hashOf(file) };
      return known.has(nameOfRow({ place, file, passage }));
    },
  };
}

/** The passages whose words are looked at. */
export const FEEDBACK_PASSAGES = 8;

/** Words that stand out in the passages which a query finds first, heaviest first, and those passages, best first. */
export const expandQuery = defineOperation({
  name: 'expand',
  effect: 'read',
  question: z.strictObject({
    ...onBranch,
    query: z.string(),
    meant: list(MeantWord).exactOptional(),
    pathPrefix: z.string().nullable(),
  }),
  answer: decision(
    z.strictObject({
      words: list(z.strictObject({ word: z.string(), weight: z.number() })),
      passages: list(SearchRow),
      corrected: list(Correction),
      absent: list(z.string()),
    }),
    READ_REFUSALS,
  ),
  async run(served, { branch, ...asked }) {
    const state = await seen(served, branch, null);
    if (!state.ok) return state;
    const { rows, view } = state.value;
    const request = {
      ...asked,
      changedAt: await writingTimes(state.value, asked),
      mode: 'plain',
      recency: 'off',
      limit: FEEDBACK_PASSAGES,
      group: 'passage',
      explain: false,
    } as const;
    return view.ask(rows.chains, (files) => {
      const { rows: passages, corrected, absent } = findIn(files, state.value, request);
      const words = files.under(rows.chains).expand(asked.query, rows.admitted(), passages);
      return allow({ words, passages, corrected, absent });
    });
  },
});
