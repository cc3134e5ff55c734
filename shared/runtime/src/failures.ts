/** What the other side, and the log, is told of an error that a handler let out. */
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { isDatabaseAway, isOutOfTime, isUnstorableText } from './database-errors.ts';
import { diskRefusalOf } from './disk-errors.ts';
import type { Platform } from './platform.ts';
import { RepeatedTrouble } from './repeated-trouble.ts';

export function callErrorFor(error: unknown): CallError {
  if (error instanceof CallError) return error;
  if (isUnstorableText(error)) return new CallError('VAF_INPUT_INVALID', 'A text holds a NUL.');
  // Of a handler that has no word for it, such as a read that keeps something on the way.
  if (isOfDisk(error)) return new CallError('SERVICE_UNAVAILABLE', error.message);
  if (isOutOfTime(error)) return new CallError('E_BUSY');
  return new CallError(isDatabaseAway(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL');
}

function isOfDisk(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code === 'E_STATE_WRITE';
}

/** Each bug is told; what lasts comes with every call for as long as it does, and is told once a minute. */
export function createFailureReport(log: Pick<Platform['log'], 'error'>, sentence: string) {
  const repeated = new RepeatedTrouble();
  return (error: unknown, about: Readonly<Record<string, unknown>>): void => {
    const trouble = lastingTrouble(error);
    if (trouble === null || repeated.isDue(trouble)) log.error({ err: error, ...about }, sentence);
  };
}

/** Null = a bug. What the disk refuses, by its words; what is away or overloaded, whichever way it is met. */
export function lastingTrouble(error: unknown): string | null {
  const refusal = isOfDisk(error) ? error : diskRefusalOf(error);
  if (refusal !== null) return refusal.message;
  if (isOutOfTime(error)) return 'the database takes too long';
  if (isDatabaseAway(error)) return 'the database is away';
  return error instanceof CallError && error.code === 'SERVICE_UNAVAILABLE' ? 'a service is away' : null;
}
