/** What is bought from whom, for what: decided before anything is taken. */
import { mayActIn, maySpendOwn } from '@svc/contract/actor.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { maySee, type View, viewOfAgent } from './access.ts';
import type { MarketDeps } from './deps.ts';
import type { TradeKind } from './domain/trade.ts';
import { decideConsent, decideParties } from './gates.ts';
import type { BidRow, ListingRow } from './store/offer-rows.ts';
import type { Purchase } from './store/beginning.ts';

type DealRefusal =
  | 'E_BUDGET'
  | 'E_CONSENT'
  | 'E_QUARANTINED'
  | 'E_SELF_TRADE'
  | 'E_SELLER_TRUST'
  | 'E_SKILL_DISABLED'
  | 'E_UNKNOWN_WORKSPACE';
export type ListingRefusal = DealRefusal | 'E_LISTING_ABSENT' | 'E_NO_AGENT' | 'E_SOLD_OUT';
type BidRefusal = DealRefusal | 'E_BID_ABSENT' | 'E_BID_CLOSED' | 'E_NO_AGENT' | 'E_NOT_SELLER' | 'E_SOLD_OUT';

/** Who buys, and with whose money. */
interface Buying {
  readonly caller: Caller;
  /** Who acts: the buyer, or the seller who accepts a bid. */
  readonly agent: string;
  /** Whose pool pays; null = the buyer's own budget. */
  readonly workspace: string | null;
  readonly consentGiven: boolean | undefined;
}

type Deps = Pick<MarketDeps, 'offers' | 'registry' | 'ids'>;
type Decided<Code extends string> = Promise<Decision<Purchase, Code>>;

interface Deal extends Pick<Purchase, 'seller' | 'buyer' | 'price' | 'amount' | 'scope' | 'listingId' | 'bidId'> {
  readonly kind: TradeKind;
}

/** Also an operator buys only what the one it names may see. */
function viewOfActing({ registry }: Deps, { caller, agent }: Buying): Promise<View> {
  return viewOfAgent(registry, caller, agent);
}

export async function decideBuy(deps: Deps, buying: Buying, listingId: string): Decided<ListingRefusal> {
  const listing = await visibleListing(deps, buying, listingId);
  return listing === null ? deny('E_LISTING_ABSENT') : decideOffer(deps, buying, listing);
}

/** The same of what has to be a skill. */
export async function decideBuySkill(
  deps: Deps,
  buying: Buying,
  listingId: string,
): Decided<ListingRefusal | 'E_NOT_SKILL'> {
  const listing = await visibleListing(deps, buying, listingId);
  if (listing === null) return deny('E_LISTING_ABSENT');
  return listing.type === 'skill' ? decideOffer(deps, buying, listing) : deny('E_NOT_SKILL');
}

async function visibleListing(deps: Deps, buying: Buying, listingId: string): Promise<ListingRow | null> {
  const listing = await deps.offers.listing(listingId);
  return listing !== null && maySee(await viewOfActing(deps, buying), listing.scope) ? listing : null;
}

function decideOffer(
  deps: Deps,
  buying: Buying,
  listing: ListingRow,
): Decided<DealRefusal | 'E_NO_AGENT' | 'E_SOLD_OUT'> {
  const { type, seller, price, amount, scope, listingId, taken, supply } = listing;
  const kind = type === 'skill' ? 'skill' : 'plain';
  const deal: Deal = { kind, seller, buyer: buying.agent, price, amount, scope, listingId, bidId: null };
  return decideDeal(deps, buying, {
    deal,
    soldOut: taken >= supply,
    withoutSeller: 'E_SOLD_OUT',
    withoutBuyer: 'E_NO_AGENT',
  });
}

/** The seller of the listing that was bid on, or whoever knows what was asked for, takes the bid. */
export async function decideAccept(deps: Deps, buying: Buying, bidId: string): Decided<BidRefusal> {
  const bid = await deps.offers.bidOf(bidId);
  if (bid === null || !maySee(await viewOfActing(deps, buying), bid.scope)) return deny('E_BID_ABSENT');
  const listing = bid.listingId === null ? null : await deps.offers.listing(bid.listingId);
  if (listing !== null && listing.seller !== buying.agent) return deny('E_NOT_SELLER');
  if (bid.status !== 'open') return deny('E_BID_CLOSED', { status: bid.status });
  // Who left the workspace since is shown nothing of it any more, and buys nothing there.
  if (bid.scope !== null && !maySee(await viewOfAgent(deps.registry, buying.caller, bid.bidder), bid.scope)) {
    return deny('E_BID_CLOSED', { reason: 'the bidder is no member any more' });
  }
  const deal = dealOf(bid, listing, buying.agent);
  return decideDeal(deps, buying, { deal, soldOut: false, withoutSeller: 'E_NO_AGENT', withoutBuyer: 'E_BID_CLOSED' });
}

function dealOf(bid: BidRow, listing: ListingRow | null, seller: string): Deal {
  const { bidder: buyer, price, amount, scope, listingId, bidId } = bid;
  return { kind: listing?.type === 'skill' ? 'skill' : 'plain', seller, buyer, price, amount, scope, listingId, bidId };
}

interface Asked<Gone> {
  readonly deal: Deal;
  readonly soldOut: boolean;
  /** What it is refused with when one of them is no identity any more. */
  readonly withoutSeller: Gone;
  readonly withoutBuyer: Gone;
}

async function decideDeal<Gone extends string>(
  deps: Deps,
  { caller, workspace, consentGiven }: Buying,
  asked: Asked<Gone>,
): Decided<DealRefusal | 'E_SOLD_OUT' | Gone> {
  const { registry, ids } = deps;
  const { deal, soldOut } = asked;
  const stamp = caller.registry;
  if (deal.kind === 'skill' && !(await registry.setting('market.skillsEnabled', stamp)))
    return deny('E_SKILL_DISABLED');
  const parties = await decideParties(registry, deal, await decideConsent(registry, consentGiven, stamp));
  if (!parties.ok) return parties;
  const { buyerFamily, ended } = parties.value;
  const present = await decidePresent(deps, caller, { ...asked, ended });
  if (!present.ok) return present;
  // Of a bid that is accepted its bidder pays, who has placed it with a token that may.
  const purse = decidePurse(caller, { workspace, amount: deal.bidId === null ? deal.amount : 0n });
  // Supply is asked for before the purse is.
  if (!purse.ok) return soldOut ? deny('E_SOLD_OUT') : purse;
  const unsettled = await registry.setting('market.skillsUnsettled', stamp);
  const window = deal.kind === 'skill' ? 'market.skillsTradeTtlMs' : 'market.tradeWindowMs';
  return allow({
    ...deal,
    buyerFamily,
    tradeId: ids.next('trd'),
    workspace,
    operator: caller.operator,
    windowMs: await registry.setting(window, stamp),
    unsettled: unsettled ?? 'confirm',
  });
}

/** Who is no identity any more deals no more, and who has left a workspace sells nothing there: its members pay no strangers. */
async function decidePresent<Gone extends string>(
  { registry, offers }: Deps,
  caller: Caller,
  {
    deal,
    ended,
    withoutSeller,
    withoutBuyer,
  }: Asked<Gone> & { readonly ended: ReadonlyMap<string, 'killed' | 'no role'> },
): Promise<Decision<null, Gone>> {
  const { seller, buyer, scope } = deal;
  if (ended.get(seller) === 'killed') await offers.closeListings(seller);
  if (ended.has(seller)) return deny(withoutSeller, { reason: 'the seller is no agent any more' });
  if (ended.has(buyer)) return deny(withoutBuyer, { reason: 'the buyer is no agent any more' });
  const hasLeft = scope !== null && !maySee(await viewOfAgent(registry, caller, seller), scope);
  return hasLeft ? deny(withoutSeller, { reason: 'the seller is no member any more' }) : allow(null);
}

type PurseRefusal = 'E_BUDGET' | 'E_UNKNOWN_WORKSPACE';

/** Whether the caller may pay so much out of the pool of the workspace, or, without one, out of its agent's own budget. */
export function decidePurse(
  caller: Caller,
  { workspace, amount }: Pick<Purchase, 'workspace' | 'amount'>,
): Decision<null, PurseRefusal> {
  if (workspace !== null) return mayActIn(caller, workspace) ? allow(null) : deny('E_UNKNOWN_WORKSPACE');
  return amount > 0n && !maySpendOwn(caller) ? deny('E_BUDGET', { reason: 'bound_token', available: 0 }) : allow(null);
}
