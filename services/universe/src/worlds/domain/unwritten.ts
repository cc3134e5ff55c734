/** What a brain did not take, in the words of what was in the way. */
import { REFUSALS, type RefusalCode } from '@svc/contract/codes.ts';
import { type Denial, deny } from '@svc/contract/decision.ts';

/** `cause` is the code with which the brain refused, or that it does not answer; nothing is written. */
export function unwritten(details: Readonly<Record<string, unknown>>): Denial<'E_STATE_WRITE'> {
  const { cause } = details;
  const why = isRefusal(cause) ? REFUSALS[cause] : 'The brain does not answer.';
  return deny('E_STATE_WRITE', { ...details }, `Nothing was written. ${why}`);
}

function isRefusal(cause: unknown): cause is RefusalCode {
  return typeof cause === 'string' && Object.hasOwn(REFUSALS, cause);
}
