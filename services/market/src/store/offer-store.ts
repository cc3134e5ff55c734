/**
 * Offers and bids: made, taken back, looked for. A wish that was denied is one too, so that a keyed call is answered as it
 * was the first time, whatever would be decided now.
 */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { createGroupCommit } from '@svc/runtime/group-commit.ts';
import type { Once } from '@svc/runtime/idempotency.ts';
import { nameLock } from '@svc/runtime/name-lock.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { ChangeCall, Unit } from '@svc/runtime/store.ts';
import type { View } from '../access.ts';
import { BID_OPEN_MS, OPEN_AT_ONCE } from '../domain/offer.ts';
import {
  type BidRow,
  closeListings,
  countBids,
  countMarket,
  countOffers,
  findBids,
  insertBid,
  insertListing,
  type ListingRow,
  type NewBid,
  type NewListing,
  readBid,
  readListings,
  readSellersWithoutRoom,
  withdrawBid,
} from './offer-rows.ts';
import { type After, findListings, type ListingFilter } from './listing-search.ts';
import { inWorkspace, type MarketEvent, type MarketStore } from './trade-events.ts';

type Work = Pick<Unit<MarketEvent>, 'tx' | 'emit'>;
export type OfferStore = ReturnType<typeof createOfferStore>;
export type ShownListing = Omit<ListingRow, 'amount'>;
export type ShownBid = Omit<BidRow, 'amount'>;

const lockNames = nameLock('market');
const listingsOf = (family: string): string => `listings of ${family}`;
const bidsOf = (family: string): string => `bids of ${family}`;

export function createOfferStore({ client, change }: MarketStore, { ids, clock }: Pick<Platform, 'ids' | 'clock'>) {
  const reading = createGroupCommit<string, ListingRow | null>(clock, (listingIds) => readListings(client, listingIds));
  return {
    offer<Code extends string>(
      call: ChangeCall,
      wish: Decision<Omit<NewListing, 'listingId'>, Code>,
    ): Promise<Once<ShownListing, Code | 'E_QUOTA'>> {
      if (!wish.ok) return change<ShownListing, Code>(call, async () => wish);
      const { value } = wish;
      return change(call, (unit) => offer(unit, { ...value, listingId: ids.next('lst') }), {
        inTurnOf: listingsOf(value.family),
      });
    },
    bid<Code extends string>(
      call: ChangeCall,
      wish: Decision<Omit<NewBid, 'bidId' | 'openMs'>, Code>,
    ): Promise<Once<ShownBid, Code | 'E_QUOTA'>> {
      if (!wish.ok) return change<ShownBid, Code>(call, async () => wish);
      const { value } = wish;
      return change(call, (unit) => bid(unit, { ...value, bidId: ids.next('bid'), openMs: BID_OPEN_MS }), {
        inTurnOf: bidsOf(value.family),
      });
    },
    /** By its bidder; for others it is not there. */
    withdraw: (call: ChangeCall, wish: Withdrawal): Promise<Once<ShownBid, 'E_BID_ABSENT' | 'E_BID_CLOSED'>> =>
      change(call, (unit) => withdraw(unit, wish)),
    /** Of a seller who is no more: nothing more of them is to be had. */
    closeListings: async (seller: string): Promise<void> =>
      void (await change<null, never>(SYSTEM, (unit) => closeOffers(unit, seller))),
    /** Whose listings leave their family no room; nobody's where there is some. */
    sellersWithoutRoom: (family: string): Promise<string[]> => readSellersWithoutRoom(client, family),
    listing: (listingId: string): Promise<ListingRow | null> => reading.submit('listings', listingId, Infinity),
    bidOf: (bidId: string): Promise<BidRow | null> => readBid(client, bidId),
    listings: (view: View, filter: ListingFilter, page: { readonly after: After | null; readonly limit: number }) =>
      findListings(client, view, filter, page),
    bids: (
      view: View,
      filter: { readonly listingId: string | null; readonly status: string | null },
      page: { readonly after: string | null; readonly limit: number },
    ) => findBids(client, view, filter, page),
    counts: (view: View, identity: string | null) => countMarket(client, view, identity),
  };
}

const SYSTEM: ChangeCall = {
  caller: { subject: {}, operator: false, deadlineAt: Number.MAX_SAFE_INTEGER },
  idempotency: null,
};

async function closeOffers({ tx, emit }: Work, seller: string): Promise<Decision<null, never>> {
  for (const { listingId, type: kind, scope } of await closeListings(tx, seller)) {
    emit({ name: 'listing:sold-out', ...inWorkspace(scope), payload: { listingId, kind, seller } });
  }
  return allow(null);
}

interface Withdrawal {
  readonly bidId: string;
  readonly bidder: string;
}

async function offer({ tx, emit }: Work, wish: NewListing): Promise<Decision<ShownListing, 'E_QUOTA'>> {
  await lockNames(tx, [listingsOf(wish.family)]);
  if ((await countOffers(tx, wish.family)) >= OPEN_AT_ONCE) return deny('E_QUOTA', { limit: OPEN_AT_ONCE });
  const { amount: _amount, ...listing } = await insertListing(tx, wish);
  const { listingId, type: kind, seller, scope } = listing;
  emit({ name: 'listing:created', ...inWorkspace(scope), payload: { listingId, kind, seller } });
  return allow(listing);
}

async function bid({ tx, emit }: Work, wish: NewBid): Promise<Decision<ShownBid, 'E_QUOTA'>> {
  await lockNames(tx, [bidsOf(wish.family)]);
  if ((await countBids(tx, wish.family)) >= OPEN_AT_ONCE) return deny('E_QUOTA', { limit: OPEN_AT_ONCE });
  const { amount: _amount, ...placed } = await insertBid(tx, wish);
  emit(told('bid:placed', placed));
  return allow(placed);
}

async function withdraw(
  { tx, emit }: Work,
  { bidId, bidder }: Withdrawal,
): Promise<Decision<ShownBid, 'E_BID_ABSENT' | 'E_BID_CLOSED'>> {
  const found = await readBid(tx, bidId);
  if (found === null || found.bidder !== bidder) return deny('E_BID_ABSENT');
  if (!(await withdrawBid(tx, bidId))) return deny('E_BID_CLOSED', { status: found.status });
  const { amount: _amount, ...closed } = found;
  const withdrawn = { ...closed, status: 'withdrawn' as const };
  emit(told('bid:withdrawn', withdrawn));
  return allow(withdrawn);
}

function told(name: 'bid:placed' | 'bid:withdrawn', { bidId, listingId, bidder, scope }: ShownBid): MarketEvent {
  return { name, ...inWorkspace(scope), payload: { bidId, listingId, bidder } };
}
