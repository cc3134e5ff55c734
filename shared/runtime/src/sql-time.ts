/** Moments in SQL: they enter and leave a store as milliseconds since the epoch. */

/** `time`: an expression of type timestamptz. */
export function epochMs(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000)::float8`;
}

/**
 * The clock, read once for a statement: an index leads to what lies before it or after it, while each row is asked by itself
 * with a clock that is read anew.
 */
export const NOW = '(SELECT clock_timestamp())';

/** The moment as a column of type timestamptz(3) keeps it: rounded, so that it may lie ahead of the clock. */
export const NOW_AS_KEPT = '(SELECT clock_timestamp()::timestamptz(3))';

/** `milliseconds`: an expression of a number. */
export function timestampOf(milliseconds: string): string {
  return `to_timestamp((${milliseconds})::float8 / 1000)`;
}

/** Of what was the time when it was written: the clock was set back since, by more than those of two servers differ. */
export function isAhead(time: string): string {
  return `${time} > clock_timestamp() + interval '5 seconds'`;
}

/** Within that time. What was done before the clock was set back, and so lies ahead, was not: how long ago it was nobody knows. */
export function isLately(time: string, interval: string): string {
  return `(${time} > ${NOW} - ${interval} AND NOT ${isAhead(time)})`;
}

/** That long ago, or ahead. `interval`: an expression of type interval. */
export function hasRested(time: string, interval: string): string {
  return `(${time} <= ${NOW_AS_KEPT} - ${interval} OR ${isAhead(time)})`;
}
