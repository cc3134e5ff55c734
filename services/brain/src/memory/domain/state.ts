/** What a writer makes of a value, and what a reader finds. Times are milliseconds since the epoch. */
import { allow, deny, type Decision, type Denial } from '@svc/contract/decision.ts';

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
function isLive({ expiresAt }: Kept, now: number): boolean {
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

/** A wish for one of several values. */
export interface KeyedWish extends StateWish {
  readonly key: string;
}

interface States<Wish extends KeyedWish, Code extends string> {
  /** In the order of the wishes. */
  readonly decisions: readonly Decision<Kept, 'E_CONFLICT' | Code>[];
  /** By key what is kept in the end, and the wish that made it so. */
  readonly kept: ReadonlyMap<string, { readonly kept: Kept; readonly wish: Wish }>;
}

/** Of many wishes, each on what those before it left. `mayNot` says no to a key as a whole. */
export function decideStates<Wish extends KeyedWish, Code extends string = never>(
  found: ReadonlyMap<string, Kept>,
  wishes: readonly Wish[],
  now: number,
  mayNot: (key: string) => Denial<Code> | null = () => null,
): States<Wish, Code> {
  const last = new Map<string, { readonly kept: Kept; readonly wish: Wish }>();
  const decisions = wishes.map((wish): Decision<Kept, 'E_CONFLICT' | Code> => {
    const { key } = wish;
    const decided = decideState(last.get(key)?.kept ?? found.get(key) ?? null, wish, now);
    if (!decided.ok) return decided;
    const denial = mayNot(key);
    if (denial !== null) return denial;
    last.set(key, { kept: decided.value, wish });
    return decided;
  });
  return { decisions, kept: last };
}
