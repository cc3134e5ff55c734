import { z } from 'zod';
import type { ChangedAt } from './conditions.ts';
import { FIELDS } from './fields.ts';
import { HybridParts } from './hybrid.ts';
import type { Nearness } from './nearness.ts';
import { Understood } from './query-language.ts';
import type { Recency } from './recency.ts';

export interface SearchRequest {
  readonly query: string;
  readonly mode: 'plain' | 'hybrid' | 'semantic';
  /** What semantic mode goes by; in hybrid mode it counts beside the words, and absent = words alone do. */
  readonly nearness?: Nearness;
  /** Most results wanted. */
  readonly limit: number;
  /** `file`: each file once, by its best passage. */
  readonly group: 'file' | 'passage';
  /** Only this file or files below this directory are answered; it narrows the results, not the statistics. */
  readonly pathPrefix?: string;
  /** Where this is said, no other word is corrected. */
  readonly meant?: readonly MeantWord[];
  /** Another query whose operators narrow the results too. */
  readonly within?: string;
  /** Without it no file's time is known. */
  readonly changedAt?: ChangedAt;
  /** Only in hybrid mode; `off` without. */
  readonly recency?: Recency;
  /** The chains whose rows exist for this query; null = all. */
  readonly admitted: ReadonlySet<number> | null;
  readonly explain: boolean;
  /** The passages alone are wanted: rows come without headings and snippet, whose making costs more than the search. */
  readonly bare?: boolean;
  /** What earlier pages had: it is not shown again, and counts all the same. */
  readonly shown?: ShownBefore;
}

export interface ShownBefore {
  /** How many rows it may be true of. */
  readonly count: number;
  has(row: Pick<SearchResult, 'file' | 'lines'>): boolean;
}

/** One query term in one field: `part` is its share of the BM25F score. */
const TermPart = z.strictObject({
  term: z.string(),
  field: z.enum(FIELDS),
  tf: z.number(),
  idf: z.number(),
  part: z.number(),
});
export type TermPart = Readonly<z.output<typeof TermPart>>;

const Explanation = z.strictObject({
  /** The first pass's score: the sum of the term parts. */
  bm25: z.number(),
  /** The score by which the answer is ordered. */
  fused: z.number(),
  /**
   * What adds up to it: `bm25` and `phrases` in plain mode, `parts` in hybrid mode; where meaning counts too, `words` and
   * `semantic`, each a share of the highest there is; in semantic mode the cosine.
   */
  addends: z.record(z.string(), z.number()),
  /** What the shares are of: the highest sum of `parts`, and the highest cosine. */
  maxima: z.strictObject({ words: z.number(), semantic: z.number() }).exactOptional(),
  /** null in plain and semantic mode. */
  parts: HybridParts.nullable(),
  /** The cosine, where meaning counted. */
  semantic: z.number().exactOptional(),
  /** What phrases add to `bm25` in plain mode; in hybrid mode it is one of the parts. */
  phrases: z.number(),
  terms: z.array(TermPart).readonly(),
});
export type Explanation = Readonly<z.output<typeof Explanation>>;

/** A word that no admitted row has, and the term that was looked for in its place. */
export const Correction = z.strictObject({ word: z.string(), as: z.string() });
export type Correction = Readonly<z.output<typeof Correction>>;

/** How a word is to be read: as that term in its place, null = as it is. */
export const MeantWord = z.strictObject({ word: z.string(), as: z.string().nullable() });
export type MeantWord = Readonly<z.output<typeof MeantWord>>;

export { Understood };

export const SearchResult = z.strictObject({
  file: z.string(),
  title: z.string(),
  /** The headings of a Markdown file above the passage, outermost first. */
  headings: z.array(z.string()).readonly(),
  /** The passage, verbatim. */
  content: z.string(),
  snippet: z.string(),
  /** Rounded to 1e-9. */
  score: z.number(),
  /** First and last line of the passage, 1-based. */
  lines: z.tuple([z.number(), z.number()]).readonly(),
  hash: z.string(),
  explain: Explanation.exactOptional(),
});
export type SearchResult = Readonly<z.output<typeof SearchResult>>;

export interface SearchAnswer {
  /** Score down, then file, then first line. */
  readonly results: readonly SearchResult[];
  /** Admitted files (below the prefix) with a query term; in semantic mode with a cosine above 0. */
  readonly total: number;
  readonly understood: Understood;
  readonly corrected: readonly Correction[];
  /** Words that no admitted row has, corrected or not. */
  readonly absent: readonly string[];
}
