/** What a writer makes of a value, and what a reader finds. Times are milliseconds since the epoch. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';

export const MEMORY_LIMITS = { keys: 10_000, valueBytes: 64 * 1024, ttlMs: 315_360_000_000 } as const;

export interface Kept {
  /** 1, 2, ... since the key was free last. */
  readonly version: number;
  /** Null = until it is cleared. */
  readonly expiresAt: number | null;
}

export interface StateWish {
  /** The version it must have now; 0 = there must be none, null = whatever it is. */
  readonly ifVersion: number | null;
  readonly ttlMs: number | null;
}

/** What is past its time is not there, whether or not its row is. */
export function isLive({ expiresAt }: Kept, now: number): boolean {
  return expiresAt === null || now < expiresAt;
}

export function decideState(
  kept: Kept | null,
  { ifVersion, ttlMs }: StateWish,
  now: number,
): Decision<Kept, 'E_CONFLICT'> {
  const version = kept !== null && isLive(kept, now) ? kept.version : 0;
  if (ifVersion !== null && ifVersion !== version)
    return deny('E_CONFLICT', { version }, 'The value has another version; recall it first.');
  return allow({ version: version + 1, expiresAt: ttlMs === null ? null : now + ttlMs });
}
