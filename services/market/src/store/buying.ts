/**
 * Buying: two transactions with the hold between them. Whatever is cut off in between the reconciler finishes.
 */
import { CallError, type RefusalCode } from '@svc/contract/codes.ts';
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { idempotencyId, type Once } from '@svc/runtime/idempotency.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import { workspaceOfScope } from '../access.ts';
import type { Trade } from '../domain/trade.ts';
import { takeBid } from './offer-rows.ts';
import type { HoldRefusal, Settling } from './settling.ts';
import { eventOf, type MarketEvent, type MarketStore } from './trade-events.ts';
import {
  insertTrade,
  lockBegun,
  lockTrade,
  moveTrade,
  type NewTrade,
  readBegun,
  readTrade,
  readUndelivered,
  type Sold,
  takeSupply,
  type TradeRow,
  tryAgain,
} from './trade-rows.ts';

export type Purchase = Omit<NewTrade, 'openKey' | 'argsHash'>;

/** A trade as it was when it began. */
export interface Opened {
  readonly tradeId: string;
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
}

type BuyRefusal = HoldRefusal | 'E_SOLD_OUT';
/** How often a bid may be lost to somebody else and be open again. */
const BID_ATTEMPTS = 5;

/** `touch` closes what time has closed. */
export function createBuying(store: MarketStore, settling: Settling, touch: (tradeId: string) => Promise<void>) {
  const { client, change, idempotency } = store;
  return {
    /**
     * Resolves when the price is held and the trade stands; sent again with its key it goes on where it stopped. What is
     * bought is decided once for each key.
     */
    async buy<Code extends RefusalCode>(
      call: ChangeCall,
      decide: () => Promise<Decision<Purchase, Code>>,
    ): Promise<Once<Opened, Code | BuyRefusal>> {
      const earlier = await idempotency.find<Opened, Code | BuyRefusal>(client, call.idempotency);
      if (earlier !== null) return { decision: earlier, replayed: true };
      const begun = await decideAndBegin(store, call, decide, touch);
      if (!begun.ok) return change(call, async () => begun);
      const { trade, triedAt } = begun.value;
      const { tradeId } = trade;
      const held = await settling.hold(trade, triedAt);
      if (!held.ok) {
        await settling.undo(tradeId);
        return change(call, async () => held);
      }
      const outcome = await change(call, (unit) => open(unit, tradeId));
      // A twin was refused first, and that is what its key stands for.
      if (!outcome.decision.ok) await settling.undo(tradeId);
      return outcome;
    },

    /** What came of `buy`, whatever became of it since: a repetition is answered like the first call. */
    async opened({ tradeId, dueAt }: Opened): Promise<TradeRow> {
      const row = await readTrade(client, tradeId);
      if (row === null) throw new Error('a trade was opened and has no row');
      const state = openStateOf(row);
      return {
        ...row,
        state,
        dueAt,
        settlement: 'none',
        version: 1,
        deliveredAt: null,
        closedAt: null,
        closedBy: null,
        payloadHash: null,
      };
    },
  };
}

function openStateOf({ kind }: Pick<Trade, 'kind'>): 'pending' | 'pending_delivery' {
  return kind === 'skill' ? 'pending_delivery' : 'pending';
}

/** A bid that somebody else has taken meanwhile is decided on again. */
async function decideAndBegin<Code extends RefusalCode>(
  store: MarketStore,
  call: ChangeCall,
  decide: () => Promise<Decision<Purchase, Code>>,
  touch: (tradeId: string) => Promise<void>,
): Promise<Decision<Begun, Code | 'E_SOLD_OUT'>> {
  const { idempotency } = call;
  const before = idempotency === null ? null : await readBegun(store.client, idempotencyId(idempotency));
  for (let attempt = 1; attempt <= BID_ATTEMPTS; attempt += 1) {
    const purchase = before === null ? await decide() : allow(before);
    if (!purchase.ok) return purchase;
    const begun = await beginFreeing(store, call, purchase.value, touch);
    if (begun.ok || begun.code === 'E_SOLD_OUT') return begun as Decision<Begun, 'E_SOLD_OUT'>;
  }
  throw new CallError('E_BUSY');
}

/** Where all is sold, what was not delivered in time may be sold again. */
async function beginFreeing(
  { client, change }: MarketStore,
  call: ChangeCall,
  purchase: Purchase,
  touch: (tradeId: string) => Promise<void>,
): Promise<Decision<Begun, BeginRefusal>> {
  const attempt = () => change({ ...call, idempotency: null }, (unit) => begin(unit, call, purchase));
  const { decision } = await attempt();
  if (decision.ok || purchase.listingId === null) return decision;
  const overdue = await readUndelivered(client, purchase.listingId);
  for (const tradeId of overdue) await touch(tradeId);
  return overdue.length === 0 ? decision : (await attempt()).decision;
}

type BeginRefusal = 'E_SOLD_OUT' | 'E_BID_CLOSED';

interface Begun {
  readonly trade: NewTrade;
  readonly triedAt: number;
}

/** Supply and the row of the trade, or the row that an earlier attempt left. */
async function begin(
  unit: Pick<Unit<MarketEvent>, 'tx' | 'emit'>,
  { idempotency }: ChangeCall,
  purchase: Purchase,
): Promise<Decision<Begun, BeginRefusal>> {
  const { tx } = unit;
  const openKey = idempotency === null ? null : idempotencyId(idempotency);
  const trade = { ...purchase, openKey, argsHash: idempotency?.argsHash ?? null };
  // The key comes first: a twin waits here until the other's supply is taken, and is not sold out by it.
  const triedAt = await insertTrade(tx, trade);
  if (triedAt === null) return goOn(tx, trade);
  const denial = await takeOffer(unit, purchase);
  return denial ?? allow({ trade, triedAt });
}

/** One more of the listing, and the bid; what is denied leaves neither taken. */
async function takeOffer(
  { tx, emit }: Pick<Unit<MarketEvent>, 'tx' | 'emit'>,
  { listingId, bidId, tradeId }: Purchase,
): Promise<Denial<BeginRefusal> | null> {
  const sold = listingId === null ? null : await takeSupply(tx, listingId);
  if (listingId !== null && sold === null) return deny('E_SOLD_OUT');
  if (bidId !== null && !(await takeBid(tx, bidId, tradeId))) return deny('E_BID_CLOSED');
  if (listingId !== null && sold?.left === 0) emit(soldOut(listingId, sold));
  return null;
}

/** With what an earlier attempt under the key has begun. */
async function goOn(tx: SqlClient, { openKey, argsHash }: NewTrade): Promise<Decision<Begun, never>> {
  const begun = await lockBegun(tx, openKey ?? '');
  if (begun !== null && begun.argsHash !== argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
  if (begun === null || begun.state === 'undoing') {
    throw new CallError('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 100 });
  }
  return allow({ trade: begun, triedAt: await tryAgain(tx, begun.tradeId) });
}

function soldOut(listingId: string, { type: kind, seller, scope }: Sold): MarketEvent {
  const workspace = workspaceOfScope(scope);
  return {
    name: 'listing:sold-out',
    ...(workspace === null ? {} : { workspace }),
    payload: { listingId, kind, seller },
  };
}

/** The hold is there: the trade stands, unless it is being undone already. */
async function open({ tx, emit }: Unit<MarketEvent>, tradeId: string): Promise<Decision<Opened, never>> {
  const trade = await lockTrade(tx, tradeId);
  if (trade === null || trade.state === 'undoing') {
    throw new CallError('SERVICE_UNAVAILABLE', 'It took too long and was undone.', { retryAfterMs: 100 });
  }
  const opened = { tradeId, dueAt: trade.createdAt + trade.windowMs };
  // A twin under the same key was faster.
  if (trade.state !== 'opening') return allow(opened);
  const state = openStateOf(trade);
  if (!(await moveTrade(tx, tradeId, 'opening', state))) throw new Error('a locked trade changed');
  emit(eventOf(trade, state));
  return allow(opened);
}
