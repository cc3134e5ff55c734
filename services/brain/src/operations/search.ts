/** Searching the files of a branch as one caller sees them, and what else a query may mean there. */
import { z } from 'zod';
import { allow } from '@svc/contract/decision.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import { passageNames } from '../embedding/passages.ts';
import { QueryVector } from '../embedding/passage-vectors.ts';
import type { Nearness } from '../search/nearness.ts';
import { isBelow } from '../search/query.ts';
import { type SearchAnswer, SearchResult } from '../search/search-answer.ts';
import type { RuledIndex } from '../search/ruled-index.ts';
import { type Seen, seen } from './files.ts';
import { decision, defineOperation, list, onBranch, type Served } from './operation.ts';

const SearchRow = SearchResult.extend({ commit: z.string().nullable() });
export type SearchRow = Readonly<z.output<typeof SearchRow>>;

const SearchQuestion = z.strictObject({
  ...onBranch,
  query: z.string(),
  mode: z.enum(['plain', 'hybrid', 'semantic']),
  /** What was asked as a model sees it; null = words alone count. */
  meaning: QueryVector.nullable(),
  limit: z.number(),
  group: z.enum(['file', 'passage']),
  pathPrefix: z.string().nullable(),
  explain: z.boolean(),
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
      /** Why meaning did not count although it was to; null = it did, or was not to. */
      lacking: z.enum(['late', 'unfit']).nullable(),
    }),
    READ_REFUSALS,
  ),
  async run(served, { meaning, ...question }) {
    const state = await seen(served, question.branch, null);
    if (!state.ok) return state;
    const near = meaning === null ? NOT_ASKED : await nearnessIn(served, state.value, question.pathPrefix, meaning);
    const request = { ...question, ...(near.nearness === null ? {} : { nearness: near.nearness }) };
    const find = (files: RuledIndex): Found => findIn(files, state.value, request);
    return allow({ ...(await state.value.view.ask(state.value.rows.chains, find)), lacking: near.lacking });
  },
});

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
  const texts = await view.ask(rows.chains, (files) =>
    Array.from(files.under(rows.chains).files()).flatMap(({ file, chain, analysed }) =>
      admitted?.has(chain) === false || !isBelow(file, pathPrefix ?? '') ? [] : [analysed],
    ),
  );
  const { meaning, homes } = brain.context;
  const deadlineAt = context.deadlineAt - SEARCH_MS;
  const outcome = await meaning.vectors.cosines(texts, { brainId: homes.home.id, query, deadlineAt });
  if ('lacking' in outcome) return { nearness: null, lacking: outcome.lacking };
  const cosinesOf: Nearness['cosinesOf'] = (analysed) => outcome.cosines.get(passageNames(analysed).key) ?? null;
  return { nearness: { weight: query.weight, cosinesOf }, lacking: null };
}

interface Found {
  readonly rows: SearchRow[];
  readonly total: number;
}

type FileRequest = Omit<SearchQuestion, 'branch' | 'meaning'> & { readonly nearness?: Nearness };

function findIn(files: RuledIndex, { view, rows, state }: Seen, { pathPrefix, ...request }: FileRequest): Found {
  const search = (): SearchAnswer =>
    files.under(rows.chains).search({
      ...request,
      admitted: rows.admitted(),
      ...(pathPrefix === null ? {} : { pathPrefix }),
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
    hash: rows.shownHash(state, row.file, files.hashOf(row.file) ?? row.hash),
    commit: view.isDirty(row.file) ? null : view.commit,
  }));
  return { rows: shown, total: answer.total - (answer.results.length - found.length) };
}

/** The passages whose words are looked at. */
const FEEDBACK_PASSAGES = 8;

/** Words that stand out in the passages which a query finds first, heaviest first, and those passages, best first. */
export const expandQuery = defineOperation({
  name: 'expand',
  effect: 'read',
  question: z.strictObject({ ...onBranch, query: z.string(), pathPrefix: z.string().nullable() }),
  answer: decision(
    z.strictObject({
      words: list(z.strictObject({ word: z.string(), weight: z.number() })),
      passages: list(SearchRow),
    }),
    READ_REFUSALS,
  ),
  async run(served, { branch, query, pathPrefix }) {
    const state = await seen(served, branch, null);
    if (!state.ok) return state;
    const { rows, view } = state.value;
    const request = {
      query,
      pathPrefix,
      mode: 'plain',
      limit: FEEDBACK_PASSAGES,
      group: 'passage',
      explain: false,
    } as const;
    return view.ask(rows.chains, (files) => {
      const { rows: passages } = findIn(files, state.value, request);
      const words = files.under(rows.chains).expand(query, rows.admitted(), passages);
      return allow({ words, passages });
    });
  },
});
