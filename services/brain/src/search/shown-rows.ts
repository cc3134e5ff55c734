/**
 * Pages of search results. A write between two pages changes how rare words are, and with it every score, so a place in
 * a ranking names nothing that lasts: a cursor names what the pages before have shown, and the next page is the best of
 * the rest. What did not change meanwhile comes once, whatever else did.
 */
import { hash } from 'node:crypto';

/** Results of all pages of one search together, so that a cursor stays an argument. */
const MOST_SHOWN = 1_000;

/** 48 bits of a digest: among a million rows one is taken for another once in 280,000 searches of a thousand results. */
const NAME_LENGTH = 8;
const MARK = 's';

/** What a result is known by from page to page. */
interface ShownRow {
  /** Its brain and branch. */
  readonly place: string;
  readonly file: string;
  /** Where each passage is a result of its own; null = the file is. */
  readonly passage: { readonly lines: readonly [first: number, last: number]; readonly hash: string } | null;
}

function digestOf(text: string, length: number): string {
  return hash('sha256', text, 'base64url').slice(0, length);
}

export function nameOfRow({ place, file, passage }: ShownRow): string {
  return digestOf(JSON.stringify([place, file, passage?.lines ?? null, passage?.hash ?? null]), NAME_LENGTH);
}

/** Null when there may be no further page. `question` = all that is asked, beside the cursor and the limit. */
export function cursorBehind(question: string, names: readonly string[]): string | null {
  if (names.length >= MOST_SHOWN) return null;
  return MARK + digestOf(question, NAME_LENGTH - 1) + names.join('');
}

/** The names of what was shown; null when the cursor was not made for this question. */
export function namesBefore(question: string, cursor: string): string[] | null {
  const parts = cursor.match(/^(?:[\w-]{8})+$/) === null ? [] : (cursor.match(/.{8}/g) ?? []);
  const [head, ...names] = parts;
  const isOfQuestion = head === MARK + digestOf(question, NAME_LENGTH - 1);
  return isOfQuestion && names.length < MOST_SHOWN ? names : null;
}
