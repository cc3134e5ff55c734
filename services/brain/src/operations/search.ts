/** Searching the files of a branch as one caller sees them, and what else a query may mean there. */
import { z } from 'zod';
import { allow } from '@svc/contract/decision.ts';
import { READ_REFUSALS } from '../brain/open-brain.ts';
import { type SearchAnswer, SearchResult } from '../search/search-answer.ts';
import type { RuledIndex } from '../search/ruled-index.ts';
import { type Seen, seen } from './files.ts';
import { decision, defineOperation, list, onBranch } from './operation.ts';

const SearchRow = SearchResult.extend({ commit: z.string().nullable() });
export type SearchRow = Readonly<z.output<typeof SearchRow>>;

const SearchQuestion = z.strictObject({
  ...onBranch,
  query: z.string(),
  mode: z.enum(['plain', 'hybrid']),
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
  answer: decision(z.strictObject({ rows: list(SearchRow), total: z.number() }), READ_REFUSALS),
  async run(served, question) {
    const state = await seen(served, question.branch, null);
    return state.ok ? allow(await searchSeen(state.value, question)) : state;
  },
});

function searchSeen(seen: Seen, question: SearchQuestion): Promise<Found> {
  return seen.view.ask(seen.rows.chains, (files) => findIn(files, seen, question));
}

interface Found {
  readonly rows: SearchRow[];
  readonly total: number;
}

function findIn(
  files: RuledIndex,
  { view, rows, state }: Seen,
  { pathPrefix, ...request }: Omit<SearchQuestion, 'branch'>,
): Found {
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
