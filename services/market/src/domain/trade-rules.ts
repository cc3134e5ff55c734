/** Who may do what to a trade, and when. A window that has passed is over for whoever acts, swept or not. */
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import { type Closing, isClosed, stateAt, type Trade, type TradeState } from './trade.ts';

type Party = 'buyer' | 'seller';

/** Null = neither; such a trade does not exist for whoever asks. One that never began exists for nobody. */
function partyOf({ buyer, seller, state }: Trade, agentId: string): Party | null {
  if (state === 'opening' || state === 'undoing') return null;
  return agentId === buyer ? 'buyer' : agentId === seller ? 'seller' : null;
}

const absent = (): Denial<'E_TRADE_ABSENT'> => deny('E_TRADE_ABSENT');
const closed = (state: TradeState): Denial<'E_TRADE_CLOSED'> => deny('E_TRADE_CLOSED', { state });

/** The buyer of a plain trade is content before its time. */
export function decideComplete(
  trade: Trade,
  agentId: string,
  now: number,
): Decision<Closing, 'E_TRADE_ABSENT' | 'E_NOT_BUYER' | 'E_TRADE_CLOSED'> {
  const party = partyOf(trade, agentId);
  if (party === null || trade.kind !== 'plain') return absent();
  if (party === 'seller') return deny('E_NOT_BUYER');
  const state = stateAt(trade, now);
  return state === 'pending' ? allow({ state: 'completed', by: 'buyer' }) : closed(state);
}

/** Either party goes back on a trade of which nothing was delivered yet. */
export function decideCancel(
  trade: Trade,
  agentId: string,
  now: number,
): Decision<Closing, 'E_TRADE_ABSENT' | 'E_TRADE_CLOSED' | 'E_SKILL_DELIVERED'> {
  const by = partyOf(trade, agentId);
  if (by === null) return absent();
  const state = stateAt(trade, now);
  if (isClosed(state)) return closed(state);
  return state === 'delivered' ? deny('E_SKILL_DELIVERED', { state }) : allow({ state: 'cancelled', by });
}

type SkillOver = 'E_SKILL_ALREADY_SETTLED' | 'E_SKILL_EXPIRED' | 'E_SKILL_CANCELLED';

function skillOver(state: TradeState): Denial<SkillOver> | null {
  if (state === 'expired') return deny('E_SKILL_EXPIRED', { state });
  if (state === 'cancelled') return deny('E_SKILL_CANCELLED', { state });
  return isClosed(state) ? deny('E_SKILL_ALREADY_SETTLED', { state }) : null;
}

type SkillCode = SkillOver | 'E_TRADE_ABSENT';

/** Until when the buyer may then settle. What is delivered is judged by `decidePayload`. */
export function decideDeliver(
  trade: Trade,
  agentId: string,
  now: number,
): Decision<{ readonly settleBy: number }, SkillCode | 'E_SKILL_NOT_SELLER' | 'E_SKILL_ALREADY_DELIVERED'> {
  const party = partyOf(trade, agentId);
  if (party === null || trade.kind !== 'skill') return absent();
  if (party === 'buyer') return deny('E_SKILL_NOT_SELLER');
  const state = stateAt(trade, now);
  const over = skillOver(state);
  if (over !== null) return over;
  if (state === 'delivered') return deny('E_SKILL_ALREADY_DELIVERED', { state });
  return allow({ settleBy: now + trade.windowMs });
}

export type Verdict = 'confirm' | 'refute';

export function decideSettle(
  trade: Trade,
  { agentId, verdict }: { readonly agentId: string; readonly verdict: Verdict },
  now: number,
): Decision<Closing, SkillCode | 'E_SKILL_NOT_BUYER' | 'E_SKILL_NOT_DELIVERED'> {
  const party = partyOf(trade, agentId);
  if (party === null || trade.kind !== 'skill') return absent();
  if (party === 'seller') return deny('E_SKILL_NOT_BUYER');
  const state = stateAt(trade, now);
  const over = skillOver(state);
  if (over !== null) return over;
  if (state !== 'delivered') return deny('E_SKILL_NOT_DELIVERED', { state });
  return allow({ state: verdict === 'confirm' ? 'confirmed' : 'refuted', by: 'buyer' });
}
