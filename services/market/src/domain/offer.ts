/** What is offered and asked for: its limits, and the text in which it is found. */
import { foldCase } from '@svc/contract/fold-case.ts';

/** `skill` is offered by a tool of its own. */
const PLAIN_TYPES = ['knowledge', 'insight', 'memory', 'favor'] as const;
export const LISTING_TYPES = [...PLAIN_TYPES, 'skill'] as const;
export type ListingType = (typeof LISTING_TYPES)[number];

/** Of one family: what can still be bought, bids that are open, and trades of which it is the buyer that are not over. */
export const OPEN_AT_ONCE = 1000;
export const BID_OPEN_MS = 72 * 3_600_000;
const MAX_QUERY_WORDS = 16;

interface Wording {
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
}

/** In which words are looked for, whatever their case. */
export function foldedText({ title, description, tags }: Wording): { readonly title: string; readonly all: string } {
  return { title: foldCase(title), all: foldCase([title, description, ...tags].join('\n')) };
}

/** Words of a query, each of which has to be there. */
export function wordsOf(query: string): string[] {
  return [...new Set(foldCase(query).split(/\s+/u).filter(Boolean))].slice(0, MAX_QUERY_WORDS);
}
