/** What the other side is told of an error that a handler let out. */
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { isDatabaseAway, isUnstorableText } from './database-errors.ts';

export function callErrorFor(error: unknown): CallError {
  if (error instanceof CallError) return error;
  if (isUnstorableText(error)) return new CallError('VAF_INPUT_INVALID', 'A text holds a NUL.');
  // Of a handler that has no word for it, such as a read that keeps something on the way.
  if (error instanceof Refusal && error.code === 'E_STATE_WRITE')
    return new CallError('SERVICE_UNAVAILABLE', error.message);
  return new CallError(isDatabaseAway(error) ? 'SERVICE_UNAVAILABLE' : 'INTERNAL');
}
