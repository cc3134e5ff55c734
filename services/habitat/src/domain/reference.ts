/** Which thing a caller means by an id, by a name, or by not saying. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

export interface Referable {
  readonly id: string;
}

export type ReferenceDenial = 'E_NOT_FOUND' | 'E_AMBIGUOUS' | 'E_PARENT_REQUIRED';

/**
 * `candidates`: those in the caller's view that have the id or the name, or, without a reference, all of them. An id goes
 * before a name. Without a reference the only one there is.
 */
export function pickReference<Row extends Referable>(
  candidates: readonly Row[],
  reference: string | undefined,
): Decision<Row, ReferenceDenial> {
  const [first, second] = candidates;
  if (reference === undefined) {
    return first !== undefined && second === undefined ? allow(first) : deny('E_PARENT_REQUIRED');
  }
  const named = candidates.find(({ id }) => id === reference);
  if (named !== undefined) return allow(named);
  if (first === undefined) return deny('E_NOT_FOUND');
  return second === undefined ? allow(first) : deny('E_AMBIGUOUS');
}
