/** Bids: a price for what is offered, or a question for what nobody offers yet. */
import { actingAs, maySpendOwn } from '@svc/contract/actor.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { page } from '@svc/contract/params.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import type { CallErrorCode } from '@svc/contract/codes.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { z } from 'zod';
import { maySee, viewOf, viewOfAgent } from '../access.ts';
import { defineTool, type MarketDeps } from '../deps.ts';
import type { NewBid } from '../store/offer-rows.ts';
import { familyOfActor, priceOf } from './offering.ts';
import { actor, BidId, BidShown, Description, ListingId, PriceText, shownBid, Tags, Title } from './shapes.ts';

const input = z.strictObject({
  listingId: ListingId.optional().describe('What the price is offered for.'),
  title: Title.optional().describe('What is asked for, when nobody offers it yet.'),
  price: PriceText.optional(),
  description: Description.optional(),
  tags: Tags.optional(),
  bidderId: actor('Who bids'),
  bidId: BidId.optional().describe('The bid to withdraw.'),
  withdraw: z.literal(true).optional(),
});

type BidRefusal = 'E_LISTING_ABSENT' | 'E_SELF_TRADE' | 'E_BID_ABSENT' | 'E_BID_CLOSED' | 'E_NO_AGENT' | 'E_QUOTA';
type Call = ToolContext<MarketDeps, BidRefusal, Extract<CallErrorCode, 'FORBIDDEN'>>;

const bid = defineTool({
  name: 'market_bid',
  area: 'market',
  description:
    'Offer a price for a listing, ask for what nobody offers yet, or withdraw a bid; a bid is open for 72 hours.',
  input,
  output: BidShown,
  access: 'identified',
  effect: 'write',
  refuses: ['E_LISTING_ABSENT', 'E_SELF_TRADE', 'E_BID_ABSENT', 'E_BID_CLOSED', 'E_NO_AGENT', 'E_QUOTA'],
  raises: ['FORBIDDEN'],
  aliases: { reward: 'price', agentId: 'bidderId' },
  example: { title: 'Tide tables of 1911', price: '3' },
  async handler(wish, call) {
    const bidder = actingAs(call.caller, wish.bidderId);
    if (bidder === null) throw call.refuse('E_NO_AGENT');
    const isWithdrawal = wish.bidId !== undefined || wish.withdraw !== undefined;
    return shownBid(await (isWithdrawal ? withdrawn(wish, bidder, call) : placed(wish, bidder, call)));
  },
});

async function withdrawn({ bidId, withdraw, listingId, title }: z.output<typeof input>, bidder: string, call: Call) {
  if (bidId === undefined || withdraw === undefined || listingId !== undefined || title !== undefined) {
    throw invalidArguments([{ path: 'withdraw', message: 'goes with bidId, and with nothing to bid on' }]);
  }
  return settled(call, await call.deps.offers.withdraw(call, { bidId, bidder }));
}

async function placed(wish: z.output<typeof input>, bidder: string, call: Call) {
  const { title, description = '', tags = [], price = null } = wish;
  if ((wish.listingId === undefined) === (title === undefined)) {
    throw invalidArguments([{ path: 'listingId', message: 'either listingId or title is needed, and not both' }]);
  }
  const offer = priceOf(price);
  if (offer.amount > 0n && !maySpendOwn(call.caller)) {
    throw call.fail('FORBIDDEN', 'price: a token that is bound to a workspace pays nothing out of the own budget');
  }
  const said = { description, tags, ...offer, bidder, family: familyOfActor(call.caller, bidder) };
  const on = wish.listingId === undefined ? allow(NOTHING) : await bidOn(wish.listingId, bidder, call);
  const placing = on.ok ? allow({ ...on.value, title: title ?? on.value.title, ...said }) : on;
  return settled(call, await call.deps.offers.bid(call, placing));
}

/** Of what nobody offers yet. */
const NOTHING: BidOn = { listingId: null, title: '', scope: null };

type BidOn = Pick<NewBid, 'listingId' | 'title' | 'scope'>;

async function bidOn(
  wanted: string,
  bidder: string,
  { deps, caller }: Call,
): Promise<Decision<BidOn, 'E_LISTING_ABSENT' | 'E_SELF_TRADE'>> {
  const listing = await deps.offers.listing(wanted);
  // Also an operator bids only on what the one it names may see.
  if (listing === null || !maySee(await viewOfAgent(deps.registry, caller, bidder), listing.scope)) {
    return deny('E_LISTING_ABSENT');
  }
  if (listing.seller === bidder) return deny('E_SELF_TRADE');
  const { listingId, title, scope } = listing;
  return allow({ listingId, title, scope });
}

const getBids = defineTool({
  name: 'market_getBids',
  area: 'market',
  description: 'Bids, the newest first.',
  input: z.strictObject({
    listingId: ListingId.optional(),
    status: z.enum(['open', 'accepted', 'withdrawn', 'expired']).optional(),
    ...page,
  }),
  output: z.strictObject({ bids: z.array(BidShown), nextCursor: z.string().optional() }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler({ listingId = null, status = null, limit, cursor }, { deps, caller }) {
    const position = positionOf(limit, cursor);
    const view = await viewOf(deps.registry, caller);
    const page = { after: position.after, limit: position.limit + 1 };
    const rows = await deps.offers.bids(view, { listingId, status }, page);
    const { items, next } = nextPage(rows, position, ({ bidId }) => bidId);
    return { bids: items.map(shownBid), ...next };
  },
});

export const bidTools = [bid, getBids];
