/** How purchases begin: supply, bid and row of the trade, of all who come at once in one transaction, with keys or without. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createGroupedChange } from '@svc/runtime/grouped-change.ts';
import { idempotencyId } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import { type PurchaseRefusal, type Shelf, takeFrom } from '../domain/purchase-rules.ts';
import { lockForPurchases, type NewTrade, type Offered, type PurchaseRows, takingOf } from './purchase-rows.ts';
import { inWorkspace, type MarketEvent, type MarketStore } from './trade-events.ts';
import { Undone } from './undone.ts';

export type Purchase = Omit<NewTrade, 'openKey' | 'argsHash'>;

export interface Begun {
  readonly trade: NewTrade;
  /** When it was tried last, in ms since the epoch by the clock of the database. */
  readonly triedAt: number;
}

/** Resolves with the trade that stands, which an earlier attempt under the key may have begun. */
export type Begin = (call: ChangeCall, purchase: Purchase) => Promise<Decision<Begun, PurchaseRefusal>>;

/** What came of one; the others of its transaction are unaffected by what is thrown for it. */
type Start = Begun | { readonly rejected: CallError };
type Started = Decision<Start, PurchaseRefusal>;

export function createBeginning({ change }: Pick<MarketStore, 'change'>, clock: Clock): Begin {
  const together = createGroupedChange<Unit<MarketEvent>, NewTrade, Start, PurchaseRefusal>(change, clock, {
    laneOf: () => 'purchases',
    run: beginAll,
    readsFirst: true,
  });
  return async (call, purchase) => {
    const { idempotency } = call;
    const key = idempotency === null ? null : idempotencyId(idempotency);
    const wish = { ...purchase, openKey: key, argsHash: idempotency?.argsHash ?? null };
    // Its key is kept with the trade; the outcome follows when the price is held.
    const { decision } = await together({ ...call, idempotency: null }, wish);
    if (!decision.ok) return decision;
    if ('rejected' in decision.value) throw decision.value.rejected;
    return allow(decision.value);
  };
}

/** What the transaction has come to so far. */
interface Beginning {
  readonly rows: PurchaseRows;
  readonly shelf: Shelf;
  readonly begun: NewTrade[];
  readonly again: Set<string>;
  /** Of each key, what came of the first of this transaction. */
  readonly outcomes: Map<string, { readonly argsHash: string | null; readonly started: Started }>;
}

async function beginAll(unit: Unit<MarketEvent>, trades: readonly NewTrade[]): Promise<Started[]> {
  const rows = await lockForPurchases(unit.tx, trades);
  const beginning: Beginning = { rows, shelf: shelfOf(rows), begun: [], again: new Set(), outcomes: new Map() };
  const started = trades.map((trade) => start(beginning, trade));
  const { begun, again, shelf } = beginning;
  if (begun.length > 0 || again.size > 0) unit.lastly(takingOf({ begun, again: [...again], at: rows.now }));
  for (const offered of rows.listings) {
    if (offered.left > 0 && shelf.left.get(offered.listingId) === 0) unit.emit(soldOut(offered));
  }
  return started;
}

function shelfOf({ listings, bids, open }: PurchaseRows): Shelf {
  return {
    left: new Map(listings.map(({ listingId, left }) => [listingId, left])),
    openBids: new Set(bids),
    openTrades: new Map(Object.entries(open)),
  };
}

function start(beginning: Beginning, trade: NewTrade): Started {
  const { openKey, argsHash } = trade;
  if (openKey === null) return startAnew(beginning, trade);
  const twin = beginning.outcomes.get(openKey);
  if (twin !== undefined) return twin.argsHash === argsHash ? twin.started : reused();
  const before = beginning.rows.begun.get(openKey);
  const started = before === undefined ? startAnew(beginning, trade) : goOn(beginning, trade, before);
  beginning.outcomes.set(openKey, { argsHash: before?.argsHash ?? argsHash, started });
  return started;
}

function startAnew({ rows, shelf, begun }: Beginning, trade: NewTrade): Started {
  const taken = takeFrom(shelf, trade);
  if (!taken.ok) return taken;
  begun.push(trade);
  return allow({ trade, triedAt: rows.now });
}

/** With what an earlier attempt under the key has begun. */
function goOn(
  { rows: { now }, again }: Beginning,
  { argsHash }: NewTrade,
  before: NewTrade & { readonly state: string },
): Started {
  if (before.argsHash !== argsHash) return reused();
  if (before.state === 'undoing') return allow({ rejected: new Undone() });
  again.add(before.tradeId);
  return allow({ trade: before, triedAt: now });
}

function reused(): Started {
  return allow({ rejected: new CallError('IDEMPOTENCY_KEY_REUSED') });
}

function soldOut({ listingId, type: kind, seller, scope }: Offered): MarketEvent {
  return { name: 'listing:sold-out', ...inWorkspace(scope), payload: { listingId, kind, seller } };
}
