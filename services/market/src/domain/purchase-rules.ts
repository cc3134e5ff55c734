/** Who of those that buy at once gets what: each is judged on what those before it have left. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { OPEN_AT_ONCE } from './offer.ts';

export interface PurchaseWish {
  readonly listingId: string | null;
  readonly bidId: string | null;
  readonly buyerFamily: string;
}

/** What there is to be had; judging takes it. */
export interface Shelf {
  /** Listing -> how much of it is left. */
  readonly left: Map<string, number>;
  /** Bids that nobody has accepted yet. */
  readonly openBids: Set<string>;
  /** Family -> its trades that are not over. */
  readonly openTrades: Map<string, number>;
}

export type PurchaseRefusal = 'E_QUOTA' | 'E_SOLD_OUT' | 'E_BID_CLOSED';

/** Takes one of the listing, the bid, and room of the family; what is denied takes nothing. */
export function takeFrom(
  { left, openBids, openTrades }: Shelf,
  { listingId, bidId, buyerFamily }: PurchaseWish,
): Decision<null, PurchaseRefusal> {
  const open = openTrades.get(buyerFamily) ?? 0;
  if (open >= OPEN_AT_ONCE) return deny('E_QUOTA', { limit: OPEN_AT_ONCE });
  const supply = listingId === null ? null : (left.get(listingId) ?? 0);
  if (supply !== null && supply <= 0) return deny('E_SOLD_OUT');
  if (bidId !== null && !openBids.delete(bidId)) return deny('E_BID_CLOSED');
  if (listingId !== null && supply !== null) left.set(listingId, supply - 1);
  openTrades.set(buyerFamily, open + 1);
  return allow(null);
}
