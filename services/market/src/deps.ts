import { toolFor } from '@svc/contract/tool.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { TradeKind } from './domain/trade.ts';
import type { Registry } from './registry.ts';
import type { OfferStore } from './store/offer-store.ts';
import type { Reconciler } from './store/reconciler.ts';
import type { TradeStore } from './store/trade-store.ts';

/** What the market's tools work with. */
export interface MarketDeps {
  readonly offers: OfferStore;
  readonly trades: TradeStore;
  readonly registry: Registry;
  readonly ids: Ids;
  /** Closes what time has closed. */
  readonly sweep: (kind: TradeKind) => ReturnType<Reconciler['closeDue']>;
}

export const defineTool = toolFor<MarketDeps>();
