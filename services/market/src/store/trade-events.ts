/** What is told of the market. */
import type { MARKET_EVENTS } from '@svc/contract/events.market.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { workspaceOfScope } from '../access.ts';
import type { Trade, TradeState } from '../domain/trade.ts';
import type { TradeRow } from './trade-rows.ts';

export type MarketEvent = EventIn<typeof MARKET_EVENTS>;
export type MarketStore = ServiceStore<MarketEvent>;
/** A state that is told of; what never began never was. */
type ToldState = Exclude<TradeState, 'opening' | 'undoing'>;

const TOLD = {
  pending: 'trade:opened',
  pending_delivery: 'trade:opened',
  delivered: 'trade:delivered',
  completed: 'trade:completed',
  confirmed: 'trade:confirmed',
  refuted: 'trade:refuted',
  cancelled: 'trade:cancelled',
  expired: 'trade:expired',
} as const satisfies Record<ToldState, keyof typeof MARKET_EVENTS>;

type TradeEvent = (typeof TOLD)[ToldState] | 'trade:settled';

/** Where something of this scope is told. */
export function inWorkspace(scope: string | null): { readonly workspace?: string } {
  const workspace = workspaceOfScope(scope);
  return workspace === null ? {} : { workspace };
}

/** What is traded in a workspace is told of there. */
export function eventOf(
  { tradeId, listingId, kind, seller, buyer, scope }: Trade & Pick<TradeRow, 'scope'>,
  state: ToldState,
  name: TradeEvent = TOLD[state],
): MarketEvent {
  return {
    name,
    ...inWorkspace(scope),
    payload: { tradeId, listingId, kind, seller, buyer, state, parties: [buyer, seller] },
  };
}
