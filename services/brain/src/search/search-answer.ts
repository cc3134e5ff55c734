import type { Field } from './fields.ts';
import type { HybridParts } from './hybrid.ts';

export interface SearchRequest {
  readonly query: string;
  readonly mode: 'plain' | 'hybrid';
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
export interface TermPart {
  readonly term: string;
  readonly field: Field;
  readonly tf: number;
  readonly idf: number;
  readonly part: number;
}

export interface Explanation {
  /** The first pass's score: the sum of the term parts. */
  readonly bm25: number;
  /** The score by which the answer is ordered; in hybrid mode the sum of `parts`. */
  readonly fused: number;
  /** null in plain mode. */
  readonly parts: HybridParts | null;
  readonly terms: readonly TermPart[];
}

export interface SearchResult {
  readonly file: string;
  readonly title: string;
  /** The passage, verbatim. */
  readonly content: string;
  readonly snippet: string;
  /** Rounded to 1e-9. */
  readonly score: number;
  /** First and last line of the passage, 1-based. */
  readonly lines: readonly [from: number, to: number];
  readonly hash: string;
  readonly explain?: Explanation;
}

export interface SearchAnswer {
  /** Score down, then file, then first line. */
  readonly results: readonly SearchResult[];
  /** Admitted files (below the prefix) with a query term. */
  readonly total: number;
}
