/**
 * Buying: two transactions with the hold between them. Whatever is cut off in between the reconciler finishes.
 */
import { CallError, type RefusalCode } from '@svc/contract/codes.ts';
import { allow, type Decision, deny, type Denial } from '@svc/contract/decision.ts';
import type { IdempotencyScope } from '@svc/contract/tool.ts';
import type { Clock } from '@svc/runtime/clock.ts';
import { createGroupCommit } from '@svc/runtime/group-commit.ts';
import { idempotencyId, type Once, type StoredOutcome } from '@svc/runtime/idempotency.ts';
import type { ChangeCall } from '@svc/runtime/store.ts';
import type { Trade } from '../domain/trade.ts';
import { type Begin, type Begun, createBeginning, type Purchase } from './beginning.ts';
import { readBegun } from './purchase-rows.ts';
import type { HoldRefusal, Settling } from './settling.ts';
import { eventOf, type MarketStore } from './trade-events.ts';
import type { Moved, MoveTrade, Rejected } from './trade-moves.ts';
import { readTrade, readUndelivered, type TradeRow } from './trade-rows.ts';
import type { TradeSteps } from './trade-steps.ts';
import { Undone, unlessUndone } from './undone.ts';

/** A trade as it was when it began. */
export interface Opened {
  readonly tradeId: string;
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
}

type BuyRefusal = HoldRefusal | 'E_QUOTA' | 'E_SOLD_OUT';
/** How often a bid may be lost to somebody else and be open again. */
const BID_ATTEMPTS = 5;

interface BuyingParts {
  readonly store: MarketStore;
  readonly move: MoveTrade;
  readonly steps: Pick<TradeSteps, 'open'>;
  readonly settling: Settling;
  readonly clock: Clock;
  /** Closes what time has closed; its money may follow later. */
  touch(tradeId: string): Promise<void>;
}

/** `trade` is the row that now stands; null = read it. */
type Bought<Code extends string> = Once<Opened, Code | BuyRefusal> & { readonly trade: TradeRow | null };

export function createBuying(parts: BuyingParts) {
  const { client } = parts.store;
  const attempt = createAttempt(parts);
  return {
    /**
     * Resolves when the price is held and the trade stands; sent again with its key it goes on where it stopped. What is
     * bought is decided once for each key.
     */
    buy<Code extends RefusalCode>(
      call: ChangeCall,
      decide: () => Promise<Decision<Purchase, Code>>,
    ): Promise<Bought<Code>> {
      const once = () => attempt(call, decide);
      return call.idempotency === null ? once() : unlessUndone(once);
    },

    /** What came of `buy`, whatever became of it since: a repetition is answered like the first call. */
    async opened({ tradeId, dueAt }: Opened, known: TradeRow | null): Promise<TradeRow> {
      const row = known ?? (await readTrade(client, tradeId));
      if (row === null) throw new Error('a trade was opened and has no row');
      return asOpened(row, dueAt);
    },
  };
}

/** One attempt. Throws Undone where it meets a twin, under the same key, that is given up. */
function createAttempt(parts: BuyingParts) {
  const { store, move, steps, settling } = parts;
  const { change } = store;
  const begin = createBeginning(store, parts.clock);
  const earlierOf = createLookingBack(parts);
  return async <Code extends RefusalCode>(
    call: ChangeCall,
    decide: () => Promise<Decision<Purchase, Code>>,
  ): Promise<Bought<Code>> => {
    const earlier = call.idempotency === null ? NOTHING : await earlierOf(call.idempotency);
    if (earlier.decision !== null) {
      return { decision: earlier.decision as Decision<Opened, Code | BuyRefusal>, replayed: true, trade: null };
    }
    const refused = async (denial: Denial<Code | BuyRefusal>): Promise<Bought<Code>> => ({
      ...(call.idempotency === null
        ? { decision: denial, replayed: false }
        : await change<Opened, Code | BuyRefusal>(call, async () => denial)),
      trade: null,
    });
    const purchased = async () => (earlier.begun === null ? decide() : allow<Purchase>(earlier.begun));
    const begun = await decideAndBegin(parts, purchased, (purchase) => begin(call, purchase));
    if (!begun.ok) return refused(begun);
    const { trade, triedAt } = begun.value;
    const { tradeId } = trade;
    const held = await settling.hold(trade, triedAt);
    if (!held.ok) {
      await settling.undo(tradeId);
      // Whoever accepts a bid is told that it cannot be paid, and nothing of the purse of its bidder.
      return refused(trade.bidId === null ? held : deny(held.code));
    }
    const opened = call.idempotency === null ? await steps.open(call, tradeId) : null;
    if (opened !== null) return { decision: allow(answerOf(opened)), replayed: false, trade: opened };
    const outcome = await move<Opened, Code | BuyRefusal>(call, {
      tradeId,
      decide: decideOpen,
      absent: () => new Undone(),
    });
    // A twin was refused first, and that is what its key stands for.
    if (!outcome.decision.ok) await settling.undo(tradeId);
    return outcome as Bought<Code>;
  };
}

function asOpened(row: TradeRow, dueAt: number): TradeRow {
  const begun = {
    settlement: 'none',
    version: 1,
    deliveredAt: null,
    closedAt: null,
    closedBy: null,
    payloadHash: null,
  } as const;
  return { ...row, ...begun, state: openStateOf(row), dueAt };
}

function openStateOf({ kind }: Pick<Trade, 'kind'>): 'pending' | 'pending_delivery' {
  return kind === 'skill' ? 'pending_delivery' : 'pending';
}

/** What an earlier call under the key has come to. */
interface Earlier {
  readonly decision: StoredOutcome['decision'] | null;
  /** The trade that it began. */
  readonly begun: TradeRow | null;
}

const NOTHING: Earlier = { decision: null, begun: null };

/** Throws IDEMPOTENCY_KEY_REUSED. */
function createLookingBack({ store: { client, idempotency }, clock }: BuyingParts) {
  const looking = createGroupCommit<
    IdempotencyScope,
    Pick<Earlier, 'begun'> & { readonly outcome: StoredOutcome | null }
  >(clock, async (scopes) => {
    const [outcomes, begun] = await Promise.all([
      idempotency.findAll(client, scopes),
      readBegun(client, scopes.map(idempotencyId)),
    ]);
    return scopes.map((scope) => {
      const id = idempotencyId(scope);
      return { outcome: outcomes.get(id) ?? null, begun: begun.get(id) ?? null };
    });
  });
  return async (scope: IdempotencyScope): Promise<Earlier> => {
    const { outcome, begun } = await looking.submit('keys', scope, Infinity);
    if (outcome !== null && outcome.argsHash !== scope.argsHash) throw new CallError('IDEMPOTENCY_KEY_REUSED');
    return { decision: outcome?.decision ?? null, begun };
  };
}

/** A bid that somebody else has taken meanwhile is decided on again. */
async function decideAndBegin<Code extends RefusalCode>(
  parts: BuyingParts,
  decide: () => Promise<Decision<Purchase, Code>>,
  attempt: (purchase: Purchase) => ReturnType<Begin>,
): Promise<Decision<Begun, Code | 'E_QUOTA' | 'E_SOLD_OUT'>> {
  for (let turn = 1; turn <= BID_ATTEMPTS; turn += 1) {
    const purchase = await decide();
    if (!purchase.ok) return purchase;
    const begun = await beginFreeing(parts, purchase.value, () => attempt(purchase.value));
    if (begun.ok || begun.code !== 'E_BID_CLOSED') return begun as Decision<Begun, 'E_QUOTA' | 'E_SOLD_OUT'>;
  }
  throw new CallError('E_BUSY');
}

/** Where all is sold, what was not delivered in time may be sold again. */
async function beginFreeing(
  { store: { client }, touch }: BuyingParts,
  { listingId }: Purchase,
  attempt: () => ReturnType<Begin>,
): ReturnType<Begin> {
  const decision = await attempt();
  if (decision.ok || decision.code !== 'E_SOLD_OUT' || listingId === null) return decision;
  const overdue = await readUndelivered(client, listingId);
  await Promise.all(overdue.map(touch));
  return overdue.length === 0 ? decision : attempt();
}

function answerOf({ tradeId, createdAt, windowMs }: TradeRow): Opened {
  return { tradeId, dueAt: createdAt + windowMs };
}

/** The hold is there: the trade stands, unless it is being undone already. */
function decideOpen(trade: TradeRow): Decision<Moved<Opened>, never> | Rejected {
  const { state } = trade;
  if (state === 'undoing') return { ok: 'rejected', error: new Undone() };
  const answer = answerOf(trade);
  // A twin under the same key was faster.
  if (state !== 'opening') return allow({ answer, to: null });
  const opened = openStateOf(trade);
  return allow({ answer, to: { state: opened }, tells: [eventOf(trade, opened)] });
}
