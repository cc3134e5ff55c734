/** How much a working tree of a brain may hold. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';

export interface BrainSize {
  readonly files: number;
  readonly bytes: number;
}

export const BRAIN_LIMITS: BrainSize = { files: 100_000, bytes: 2 * 1024 ** 3 };

/**
 * What is held once a file of `before` bytes, null = none yet, has `after`. Files that others put there can be more than
 * may be: what makes a file no larger is taken all the same.
 */
export function decideGrowth(held: BrainSize, before: number | null, after: number): Decision<BrainSize, 'E_QUOTA'> {
  const grown = resized(held, before, after);
  const isNew = before === null;
  const isTooMuch = grown.bytes > BRAIN_LIMITS.bytes && (isNew || after > before);
  const isOverFull = isTooMuch || (isNew && grown.files > BRAIN_LIMITS.files);
  return isOverFull ? deny('E_QUOTA') : allow(grown);
}

/** Null = there is no such file. */
export function resized(held: BrainSize, before: number | null, after: number | null): BrainSize {
  return {
    files: held.files + (after === null ? 0 : 1) - (before === null ? 0 : 1),
    bytes: held.bytes + (after ?? 0) - (before ?? 0),
  };
}
