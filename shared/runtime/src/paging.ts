/** Pages of lists that are ordered by a text column. */
import { decodeCursor, DEFAULT_LIMIT, encodeCursor } from '@svc/contract/params.ts';
import { invalidArguments } from './arguments.ts';

/** Rows `after` the one that the page before ended with; null = from the first. */
export interface Position {
  readonly limit: number;
  readonly after: string | null;
}

/** Throws VAF_INPUT_INVALID when the cursor was not made here. */
export function positionOf(limit: number = DEFAULT_LIMIT, cursor?: string): Position {
  const after = cursor === undefined ? null : decodeCursor(cursor);
  if (cursor !== undefined && after === null) throw invalidArguments([{ path: 'cursor', message: 'is not a cursor' }]);
  return { limit, after };
}

/** `rows`: one more than the limit when there are more. */
export function nextPage<Row>(
  rows: readonly Row[],
  { limit }: Position,
  keyOf: (row: Row) => string,
): { readonly items: readonly Row[]; readonly next: { nextCursor?: string } } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, next: more ? { nextCursor: encodeCursor(keyOf(last)) } : {} };
}
