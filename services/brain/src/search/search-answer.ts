import { z } from 'zod';
import { FIELDS } from './fields.ts';
import { HybridParts } from './hybrid.ts';
import type { Nearness } from './nearness.ts';

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
  /** The chains whose rows exist for this query; null = all. */
  readonly admitted: ReadonlySet<number> | null;
  readonly explain: boolean;
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
  /**
   * The score by which the answer is ordered: the sum of `parts` in hybrid mode, where meaning counts too that sum over
   * the highest plus the weighted share of the highest cosine.
   */
  fused: z.number(),
  /** null in plain and semantic mode. */
  parts: HybridParts.nullable(),
  /** The cosine, where meaning counted. */
  semantic: z.number().exactOptional(),
  terms: z.array(TermPart).readonly(),
});
export type Explanation = Readonly<z.output<typeof Explanation>>;

export const SearchResult = z.strictObject({
  file: z.string(),
  title: z.string(),
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
}
