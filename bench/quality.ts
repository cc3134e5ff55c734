/** `npm run quality -- <folder>`: how well collections of documents, questions and judgements are searched, beside SQLite FTS5. */
import { DatabaseSync } from 'node:sqlite';
import { searchByHypothesis, searchByVariants } from '../services/brain/src/retrieval/modes.ts';
import { WORDS_ALONE } from '../services/brain/src/retrieval/models.ts';
import { analyse, analyseQuery } from '../services/brain/src/search/analysis.ts';
import { type Brain, readCollections } from './collections.ts';
import { seeded } from './corpus.ts';
import { markdownTable } from './figures.ts';
import { indexOf, targetOf } from './indexed-collection.ts';

type Search = (query: string) => string[] | Promise<string[]>;

const DEPTH = 10;
/** Wrong letters in queries of each collection. */
const FAULTS = 1_000;
/** A word with a wrong letter has at least so many. */
const SHORTEST = 4;

function ndcg(ranking: readonly string[], grades: Readonly<Record<string, number>>): number {
  const gain = (values: readonly number[]): number =>
    values.slice(0, DEPTH).reduce((sum, grade, place) => sum + grade / Math.log2(place + 2), 0);
  const ideal = gain(Object.values(grades).sort((a, b) => b - a));
  return ideal > 0 ? gain(ranking.map((id) => grades[id] ?? 0)) / ideal : 0;
}

/** What is found, and which words of the query nothing has. */
type FullSearch = (query: string) => { readonly ids: string[]; readonly unknown: ReadonlySet<string> };

function engine(brain: Brain, mode: 'plain' | 'hybrid'): FullSearch {
  const { index, idOf } = indexOf(brain);
  return (query) => {
    const request = { query, mode, limit: DEPTH, group: 'file', admitted: null, explain: false } as const;
    const { results, corrected } = index.search(request);
    return { ids: results.map(({ file }) => idOf(file)), unknown: new Set(corrected.map(({ word }) => word)) };
  };
}

function ours(brain: Brain, mode: 'plain' | 'hybrid'): Search {
  const search = engine(brain, mode);
  return (query) => search(query).ids;
}

/** A way that asks more than once, as the service goes it. */
function inSteps(brain: Brain, search: typeof searchByHypothesis | typeof searchByVariants): Search {
  const indexed = indexOf(brain);
  const target = targetOf(indexed);
  return async (query) => {
    const request = { query, mode: 'hybrid', limit: DEPTH, group: 'file', explain: false } as const;
    const found = await search([target], { ...request, pathPrefix: null, models: WORDS_ALONE });
    return found.ok ? found.value.rows.map(({ file }) => indexed.idOf(file)) : never();
  };
}

/** The same without the words that would be corrected. */
function uncorrected(search: FullSearch): (query: string) => string[] {
  return (query) => {
    const { ids, unknown } = search(query);
    if (unknown.size === 0) return ids;
    const known = query.split(/\s+/).filter((piece) => !analyseQuery(piece).some(({ word }) => unknown.has(word)));
    return search(known.join(' ')).ids;
  };
}

/** A letter of some word is left out, doubled by another, replaced, or exchanged with the next. */
function withFault(query: string, random: () => number): string {
  const below = (count: number): number => Math.floor(random() * count);
  const places = [...query.matchAll(/[a-z]+/gi)].filter(([word]) => word.length >= SHORTEST);
  const chosen = places[below(places.length)];
  if (chosen === undefined) return query;
  const [word] = chosen;
  // The first letter is hardly ever wrong.
  const at = 1 + below(word.length - 2);
  const letter = String.fromCharCode(97 + below(26));
  const faults = [
    word.slice(0, at) + word.slice(at + 1),
    word.slice(0, at) + letter + word.slice(at),
    word.slice(0, at) + letter + word.slice(at + 1),
    word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2),
  ];
  return (
    query.slice(0, chosen.index) + (faults[below(faults.length)] ?? word) + query.slice(chosen.index + word.length)
  );
}

/** Mean nDCG of queries as they are, and with a wrong letter each; both with and without correction. */
function withFaults(brains: readonly Brain[]): number[] {
  const random = seeded(4);
  const asked = brains.flatMap((brain) => {
    const search = engine(brain, 'hybrid');
    const ways = { corrected: (query: string) => search(query).ids, bare: uncorrected(search) };
    return brain.queries.map(({ id, text }) => ({ text, grades: brain.qrels[id] ?? {}, ways }));
  });
  const sums = [0, 0, 0, 0];
  for (let fault = 0; fault < FAULTS; fault += 1) {
    const { text, grades, ways } = asked[Math.floor(random() * asked.length)] ?? never();
    const wrong = withFault(text, random);
    const found = [ways.corrected(text), ways.bare(text), ways.corrected(wrong), ways.bare(wrong)];
    for (const [place, ids] of found.entries()) sums[place] = (sums[place] ?? 0) + ndcg(ids, grades) / FAULTS;
  }
  return sums;
}

function never(): never {
  throw new Error('a collection without queries');
}

/** FTS5 over the same terms, with that weight of the title. */
function fts5({ docs }: Brain, titleWeight: number): Search {
  const database = new DatabaseSync(':memory:');
  database.exec(`CREATE VIRTUAL TABLE docs USING fts5(title, body, tokenize='unicode61 remove_diacritics 0')`);
  const insert = database.prepare('INSERT INTO docs(rowid, title, body) VALUES (?, ?, ?)');
  docs.forEach(({ title, text }, number) => {
    insert.run(number + 1, analyse(title).join(' '), analyse(text).join(' '));
  });
  const order = `ORDER BY bm25(docs, ${titleWeight}, 1.0), rowid LIMIT ${DEPTH}`;
  const select = database.prepare(`SELECT rowid FROM docs WHERE docs MATCH ? ${order}`);
  return (query) => {
    const match = analyseQuery(query).map(({ term }) => `"${term}"`);
    return match.length === 0
      ? []
      : select.all(match.join(' OR ')).map((row) => docs[Number(row['rowid']) - 1]?.id ?? '');
  };
}

const SYSTEMS: Readonly<Record<string, (brain: Brain) => Search>> = {
  hybrid: (brain) => ours(brain, 'hybrid'),
  plain: (brain) => ours(brain, 'plain'),
  hyde: (brain) => inSteps(brain, searchByHypothesis),
  multiquery: (brain) => inSteps(brain, searchByVariants),
  'FTS5, title 1': (brain) => fts5(brain, 1),
  'FTS5, title 2': (brain) => fts5(brain, 2),
  'FTS5, title 3': (brain) => fts5(brain, 3),
};

/** How good a ranking is. */
type Measure = (ranking: readonly string[], grades: Readonly<Record<string, number>>) => number;

/** Whether all that answers it is among the first. */
function allAt(depth: number): Measure {
  return (ranking, grades) => {
    const first = new Set(ranking.slice(0, depth));
    return Object.keys(grades).every((id) => grades[id] === 0 || first.has(id)) ? 1 : 0;
  };
}

async function quality(
  brains: readonly Brain[],
  searchOf: (brain: Brain) => Search,
  measures: readonly Measure[],
): Promise<number[]> {
  const scores: number[][] = [];
  for (const brain of brains) {
    const search = searchOf(brain);
    for (const { id, text } of brain.queries) {
      const ranking = await search(text);
      scores.push(measures.map((measure) => measure(ranking, brain.qrels[id] ?? {})));
    }
  }
  return measures.map((_, place) => mean(scores.map((row) => row[place] ?? 0)));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
}

const folder = process.argv[2];
if (folder === undefined) throw new Error('npm run quality -- <folder of collections>');
const collections = readCollections(folder);
const names = collections.map(({ name }) => name);
const MEASURES: Readonly<Record<string, Measure>> = { 'nDCG@10': ndcg, 'all@5': allAt(5), 'all@10': allAt(10) };
const measured: number[][][] = [];
for (const { brains } of collections) {
  const column: number[][] = [];
  for (const searchOf of Object.values(SYSTEMS)) column.push(await quality(brains, searchOf, Object.values(MEASURES)));
  measured.push(column);
}
const withMean = (values: readonly number[]): string[] => [...values, mean(values)].map((value) => value.toFixed(4));
for (const [measure, title] of Object.keys(MEASURES).entries()) {
  const rows = Object.keys(SYSTEMS).map((system, place) => [
    system,
    ...withMean(measured.map((column) => column[place]?.[measure] ?? 0)),
  ]);
  console.log(`${markdownTable([title, ...names, 'mean'], rows)}\n`);
}
const faults = collections.map(({ brains }) => withFaults(brains));
const FAULTY = ['as they are', 'as they are, uncorrected', 'a wrong letter', 'a wrong letter, uncorrected'];
const rows = FAULTY.map((title, place) => [title, ...withMean(faults.map((column) => column[place] ?? 0))]);
console.log(markdownTable([`hybrid, nDCG@10 of ${FAULTS} queries`, ...names, 'mean'], rows));
