/** Trades of what is no skill, and what is the same for both kinds. */
import type { CallErrorCode } from '@svc/contract/codes.ts';
import { holdsAtLeast, rolesIn } from '@svc/contract/registry.ts';
import { actingAs, actingAsNamed, mayActIn } from '@svc/contract/actor.ts';
import type { Caller, ToolContext } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { workspaceOfScope } from '../access.ts';
import { defineTool, type MarketDeps } from '../deps.ts';
import { dueClosing } from '../domain/trade.ts';
import { decideCancel, decideComplete } from '../domain/trade-rules.ts';
import { decideAccept, decideBuy, decidePurse, type ListingRefusal } from '../purchase.ts';
import type { HoldRefusal } from '../store/settling.ts';
import type { TradeRow } from '../store/trade-rows.ts';
import { actor, BidId, namedActor, ListingId, Pool, shownTrade, TradeContext, TradeId, TradeShown } from './shapes.ts';

/** Everything for which a purchase is refused. */
export const PURCHASE_REFUSES = [
  'E_BUDGET',
  'E_CONSENT',
  'E_LEDGER_FROZEN',
  'E_LISTING_ABSENT',
  'E_MEMBER_LIMIT',
  'E_NO_AGENT',
  'E_POOL_EXCEEDED',
  'E_QUOTA',
  'E_QUARANTINED',
  'E_SELF_TRADE',
  'E_SELLER_TRUST',
  'E_SKILL_DISABLED',
  'E_SOLD_OUT',
  'E_UNKNOWN_WORKSPACE',
] as const satisfies readonly (ListingRefusal | HoldRefusal | 'E_QUOTA' | 'E_SOLD_OUT')[];

const TRADE_REFUSES = [
  ...PURCHASE_REFUSES,
  'E_BID_ABSENT',
  'E_BID_CLOSED',
  'E_NOT_SELLER',
  'E_NOT_BUYER',
  'E_TRADE_ABSENT',
  'E_TRADE_CLOSED',
] as const;

const input = z.strictObject({
  listingId: ListingId.optional().describe('What is bought.'),
  bidId: BidId.optional().describe('The bid that its seller accepts.'),
  tradeId: TradeId.optional().describe('The trade that its buyer confirms before its time.'),
  buyerId: actor('Who buys or confirms'),
  sellerId: actor('Who accepts the bid'),
  workspace: Pool,
  context: TradeContext.optional(),
});
type Wish = z.output<typeof input>;
type Call = ToolContext<MarketDeps, (typeof TRADE_REFUSES)[number], Extract<CallErrorCode, 'FORBIDDEN'>>;

const trade = defineTool({
  name: 'market_trade',
  area: 'market',
  description: 'Buy what is listed, accept a bid, or confirm a trade before its time; the price is held until then.',
  input,
  output: TradeShown,
  access: 'identified',
  effect: 'write',
  refuses: TRADE_REFUSES,
  raises: ['FORBIDDEN'],
  example: { listingId: 'lst_0199' },
  async handler(wish, call) {
    const { listingId, bidId, tradeId } = wish;
    if ([listingId, bidId, tradeId].filter((id) => id !== undefined).length !== 1) {
      throw invalidArguments([{ path: 'listingId', message: 'exactly one of listingId, bidId and tradeId is needed' }]);
    }
    if (tradeId !== undefined) return shownTrade(await confirmed(tradeId, wish, call));
    return shownTrade(await begun(wish, call));
  },
});

async function confirmed(tradeId: string, { buyerId }: Wish, call: Call): Promise<TradeRow> {
  const agent = actingAs(call.caller, buyerId);
  if (agent === null) throw call.refuse('E_NO_AGENT');
  const { trades } = call.deps;
  await trades.lapse(tradeId);
  const outcome = await trades.close(call, tradeId, (row) => {
    const may = decideComplete(row, agent, row.now);
    if (!may.ok) return may;
    const purse = decidePurse(call.caller, row);
    return purse.ok ? may : purse;
  });
  settled(call, outcome);
  return present(outcome.trade);
}

async function begun({ listingId, bidId, buyerId, sellerId, workspace, context }: Wish, call: Call): Promise<TradeRow> {
  const { deps, caller, refuse } = call;
  const agent = actingAs(caller, bidId === undefined ? buyerId : sellerId);
  if (agent === null) throw refuse('E_NO_AGENT');
  if (bidId !== undefined && workspace !== undefined) {
    throw invalidArguments([{ path: 'workspace', message: 'the bidder pays, not a pool' }]);
  }
  const buying = { caller, agent, workspace: workspace ?? null, consentGiven: context?.consentGiven };
  const decide = () =>
    bidId === undefined ? decideBuy(deps, buying, listingId ?? '') : decideAccept(deps, buying, bidId);
  const bought = await deps.trades.buy(call, decide);
  return deps.trades.opened(settled(call, bought), bought.trade);
}

/** What was written is there. */
export function present(row: TradeRow | null): TradeRow {
  if (row === null) throw new Error('a trade was written and has no row');
  return row;
}

const getTrade = defineTool({
  name: 'market_getTrade',
  area: 'market',
  description: 'One trade, for its buyer, its seller, admins of its workspace and operators.',
  input: z.strictObject({ tradeId: TradeId }),
  output: TradeShown,
  access: 'identified',
  effect: 'read',
  refuses: ['E_TRADE_ABSENT'],
  aliases: { id: 'tradeId' },
  async handler({ tradeId }, { deps, caller, refuse }) {
    const row = await current(deps, tradeId);
    const sees = row === null ? null : await sightOf(deps, caller, row);
    if (row === null || sees === null) throw refuse('E_TRADE_ABSENT');
    const payload = sees === 'all' ? await deps.trades.payload(tradeId) : undefined;
    return { ...shownTrade(row), ...(payload === undefined ? {} : { payload }) };
  },
});

/** As time has made it. */
async function current({ trades }: Pick<MarketDeps, 'trades'>, tradeId: string): Promise<TradeRow | null> {
  const row = await trades.read(tradeId);
  if (row === null || row.state === 'opening' || row.state === 'undoing') return null;
  if (dueClosing(row, row.now) === null) return row;
  await trades.touch(tradeId);
  return trades.read(tradeId);
}

/** `all` = what was delivered too. */
async function sightOf(
  { registry }: Pick<MarketDeps, 'registry'>,
  caller: Caller,
  { buyer, seller, workspace, scope }: TradeRow,
): Promise<'all' | 'trade' | null> {
  const identity = actingAs(caller);
  if (identity === buyer || identity === seller) return 'all';
  if (caller.operator) return 'trade';
  if (identity === null) return null;
  const roles = await registry.roles(identity, caller.registry);
  const places = [workspace, workspaceOfScope(scope)].filter((place) => place !== null);
  return places.some((place) => mayActIn(caller, place) && holdsAtLeast(rolesIn(roles, place), 'admin'))
    ? 'trade'
    : null;
}

const cancel = defineTool({
  name: 'market_cancelTrade',
  area: 'market',
  description: 'Go back on a trade of which nothing was delivered yet; what was held is given back.',
  input: z.strictObject({ tradeId: TradeId, agentId: namedActor('Buyer or seller') }),
  output: z.strictObject({
    cancelled: z.literal(true),
    trade: TradeShown,
    released: z.boolean().describe('What was held is given back.'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_TRADE_ABSENT', 'E_TRADE_CLOSED', 'E_SKILL_DELIVERED'],
  raises: ['FORBIDDEN'],
  dress: { cancelled: false },
  async handler({ tradeId, agentId }, call) {
    const agent = actingAsNamed(call.caller, agentId);
    const { trades } = call.deps;
    const outcome = await trades.close(call, tradeId, (trade) => decideCancel(trade, agent, trade.now));
    settled(call, outcome);
    const row = present(outcome.trade);
    return { cancelled: true as const, trade: shownTrade(row), released: row.settlement === 'done' };
  },
});

export const tradeTools = [trade, getTrade, cancel];
