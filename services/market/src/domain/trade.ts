/**
 * A trade as a state machine, plain and skill. Its row decides and money follows: whoever closes it in the database captures
 * or voids afterwards, and `settlement` tells whether that was done. Times in ms since the epoch.
 */

export type TradeKind = 'plain' | 'skill';
/** `opening`: supply is taken, money is not held yet. `undoing`: it never came to be, and its hold is given back. */
type OpenState = 'opening' | 'undoing' | 'pending' | 'pending_delivery' | 'delivered';
export type ClosedState = 'completed' | 'confirmed' | 'refuted' | 'cancelled' | 'expired';
export type TradeState = OpenState | ClosedState;
/** `pending`: decided, and money has not moved yet. `failed`: the hold had lapsed and the buyer has no funds. */
export type Settlement = 'none' | 'pending' | 'done' | 'failed';
export type Decider = 'buyer' | 'seller' | 'timer' | 'timeout' | 'sweep';
/** What a buyer who stays silent is taken to have decided. */
type Unsettled = 'confirm' | 'refute';

export interface Trade {
  readonly tradeId: string;
  readonly kind: TradeKind;
  readonly listingId: string | null;
  readonly seller: string;
  readonly buyer: string;
  readonly amount: bigint;
  readonly state: TradeState;
  /** When the open state ends by itself: of `pending` completesAt, then deliverBy, then settleBy. */
  readonly dueAt: number;
  /** How long the buyer has after delivery, as it was when the trade began. */
  readonly windowMs: number;
  readonly unsettled: Unsettled;
}

export interface Closing {
  readonly state: ClosedState;
  readonly by: Decider;
}

const CLOSED: readonly TradeState[] = ['completed', 'confirmed', 'refuted', 'cancelled', 'expired'];
const PAID: readonly TradeState[] = ['completed', 'confirmed'];
/** What was never delivered can be sold to somebody else. */
const RESTORING: readonly TradeState[] = ['cancelled', 'expired'];

export function isClosed(state: TradeState): state is ClosedState {
  return CLOSED.includes(state);
}

/** What becomes of the hold. */
export function moneyOf(state: ClosedState): 'capture' | 'void' {
  return PAID.includes(state) ? 'capture' : 'void';
}

export function restoresSupply(state: ClosedState): boolean {
  return RESTORING.includes(state);
}

/** What the trust of the seller hears of it. */
export function outcomeOf(state: ClosedState): 'confirmed' | 'refuted' | 'cancelled' | 'expired' {
  return state === 'completed' ? 'confirmed' : state;
}

/**
 * Whether it matters that a party is no identity any more: who is no more neither pays nor is paid, but for what was
 * delivered before.
 */
export function mayLapse(trade: Trade, now: number): boolean {
  return trade.state === 'pending' || (trade.state === 'pending_delivery' && now < trade.dueAt);
}

/** What becomes of a trade a party of which is no identity any more. */
export function lapsedClosing(trade: Trade, now: number): Closing | null {
  if (!mayLapse(trade, now)) return dueClosing(trade, now);
  return { state: 'cancelled', by: trade.kind === 'plain' ? 'timer' : 'sweep' };
}

/** What time alone has decided by now, whether or not anybody looked. */
export function dueClosing({ state, dueAt, unsettled }: Trade, now: number): Closing | null {
  if (now < dueAt) return null;
  if (state === 'pending') return { state: 'completed', by: 'timer' };
  if (state === 'pending_delivery') return { state: 'expired', by: 'sweep' };
  if (state === 'delivered') return { state: unsettled === 'confirm' ? 'confirmed' : 'refuted', by: 'timeout' };
  return null;
}

/** The state that counts now. */
export function stateAt(trade: Trade, now: number): TradeState {
  return dueClosing(trade, now)?.state ?? trade.state;
}

/** What the time is called at which it ends by itself, or would have. */
export function dueName({
  kind,
  deliveredAt,
}: Pick<Trade, 'kind'> & { readonly deliveredAt: number | null }): 'completesAt' | 'deliverBy' | 'settleBy' {
  if (kind === 'plain') return 'completesAt';
  return deliveredAt === null ? 'deliverBy' : 'settleBy';
}

/** Beside the windows of a trade its hold lives this long, so that it never lapses before the trade. */
export const HOLD_GRACE_MS = 3_600_000;

/** How long money is to be held. */
export function holdLifeMs(kind: TradeKind, windowMs: number): number {
  return (kind === 'skill' ? 2 * windowMs : windowMs) + HOLD_GRACE_MS;
}
