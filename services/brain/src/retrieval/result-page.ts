/** One page of what a search finds, and the cursor to the next. */
import type { CallError } from '@svc/contract/codes.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { cursorBehind, namesBefore } from '../search/shown-rows.ts';
import { type Found, nameOfShown, type RankedRow } from './found.ts';
import type { Way } from './ways.ts';

export interface ResultPage {
  /** Of the results before it. */
  readonly names: readonly string[];
  /** Rows beyond the page, to know whether there are more: the total does not count what is only near in meaning. */
  readonly probe: number;
  next(found: Found, rows: readonly RankedRow[]): { nextCursor?: string };
}

export const NO_PAGES: ResultPage = { names: [], probe: 0, next: () => ({}) };

interface PageWish {
  readonly query: string;
  readonly group: 'file' | 'passage';
  readonly category?: string | undefined;
  readonly recency?: string;
  readonly cursor?: string | undefined;
}

/** Throws VAF_INPUT_INVALID when the cursor was not made for this search. */
export function pageOf({ mode, isPaged }: Pick<Way<unknown>, 'mode' | 'isPaged'>, wish: PageWish): ResultPage {
  const { query, category = '', group, recency = 'off', cursor } = wish;
  if (!isPaged) {
    if (cursor !== undefined) throw notACursor(`is of no use: ${mode} has one page`);
    return NO_PAGES;
  }
  const question = JSON.stringify([query, mode, category, group, recency]);
  const names = cursor === undefined ? [] : namesBefore(question, cursor);
  if (names === null) throw notACursor('is not a cursor of this search');
  return {
    names,
    probe: 1,
    next({ rows: found }, rows) {
      const shown = [...names, ...rows.map((row) => nameOfShown(row, group))];
      const next = found.length > rows.length && rows.length > 0 ? cursorBehind(question, shown) : null;
      return next === null ? {} : { nextCursor: next };
    },
  };
}

function notACursor(message: string): CallError {
  return invalidArguments([{ path: 'cursor', message }]);
}
