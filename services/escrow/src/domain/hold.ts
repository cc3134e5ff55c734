/** A hold as a state machine: held, then exactly once posted, released or expired. Times in ms since the epoch. */

export type HoldState = 'held' | 'posted' | 'released' | 'expired';
export type OwnerKind = 'caller' | 'service';

export interface Hold {
  /** Negative = not a row yet. */
  readonly seq: bigint;
  readonly holdId: string;
  /** Whose `pending` it is part of, or whom a record names; null = nobody. */
  readonly account: string | null;
  /** Of a pool: the member for whom it is held. */
  readonly member: string | null;
  /** Micro-credits reserved; 0 = a record only. */
  readonly amount: bigint;
  readonly condition: Readonly<Record<string, unknown>> | null;
  readonly state: HoldState;
  readonly ownerKind: OwnerKind;
  readonly owner: string;
  readonly bodyHash: string | null;
  readonly heldAt: number;
  readonly expiresAt: number;
  readonly closedAt: number | null;
  readonly closedBy: string | null;
  readonly captured: bigint | null;
  readonly payee: string | null;
  readonly entryId: string | null;
}

export const HOLD_TTL = {
  defaultMs: 300_000,
  maximumMs: 604_800_000,
} as const;

/** Live holds that one principal may have. */
export const MAX_HOLDS = 1000;

/** Past its time: dead for whoever looks, whether or not it was tidied up. */
export function isDue(hold: Pick<Hold, 'state' | 'expiresAt'>, now: number): boolean {
  return hold.state === 'held' && hold.expiresAt <= now;
}

/** What tells one hold from others. An id that a caller chose is its own: it says nothing of anybody else's. */
export type HoldName = Pick<Hold, 'holdId' | 'ownerKind' | 'owner'>;

export function holdKey({ holdId, ownerKind, owner }: HoldName): string {
  return ownerKind === 'service' ? holdId : JSON.stringify([owner, holdId]);
}

/** The key for as long as no other hold may have it, see the schema. */
export function claimOf(hold: HoldName & Pick<Hold, 'state'>): string | null {
  return hold.state === 'held' || hold.ownerKind === 'service' ? holdKey(hold) : null;
}

/** The next state, or null when the hold is closed already. */
export function closeHold(
  hold: Hold,
  state: Exclude<HoldState, 'held'>,
  closing: { readonly at: number; readonly by: string } & Partial<Pick<Hold, 'captured' | 'payee' | 'entryId'>>,
): Hold | null {
  if (hold.state !== 'held') return null;
  const { at, by, ...outcome } = closing;
  return { ...hold, state, closedAt: at, closedBy: by, ...outcome };
}
