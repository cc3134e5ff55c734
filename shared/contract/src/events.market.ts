/** Events of the market: of an offer to whoever may see it, of a trade to its two parties. Never what was delivered. */
import { z } from 'zod';
import { type EventDeclaration, parties } from './event-declaration.ts';

const listing = z.strictObject({ listingId: z.string(), kind: z.string(), seller: z.string() });
const bid = z.strictObject({ bidId: z.string(), listingId: z.string().nullable(), bidder: z.string() });
const trade = z.strictObject({
  tradeId: z.string(),
  listingId: z.string().nullable(),
  kind: z.enum(['plain', 'skill']),
  seller: z.string(),
  buyer: z.string(),
  state: z.string(),
  parties,
});

const ofTrade = (meaning: string) =>
  ({ service: 'market', meaning, audience: 'parties', payload: trade }) as const satisfies EventDeclaration;
const ofListing = (meaning: string) =>
  ({ service: 'market', meaning, audience: 'members', payload: listing }) as const satisfies EventDeclaration;
const ofBid = (meaning: string) =>
  ({ service: 'market', meaning, audience: 'members', payload: bid }) as const satisfies EventDeclaration;

export const MARKET_EVENTS = {
  'listing:created': ofListing('Something was offered.'),
  'listing:sold-out': ofListing('The last of an offer was taken.'),
  'bid:placed': ofBid('Somebody offers a price, or asks for what nobody offers yet.'),
  'bid:withdrawn': ofBid('A bid was taken back.'),
  'trade:opened': ofTrade('A trade began, and what it costs is held.'),
  'trade:delivered': ofTrade('The seller of a skill delivered.'),
  'trade:completed': ofTrade('The buyer was content, or the time to cancel passed.'),
  'trade:confirmed': ofTrade('The buyer of a skill confirmed it, or stayed silent.'),
  'trade:refuted': ofTrade('The buyer of a skill refuted it.'),
  'trade:cancelled': ofTrade('One of the two went back on the trade.'),
  'trade:expired': ofTrade('The seller of a skill did not deliver in time.'),
  'trade:settled': ofTrade('The money of a closed trade has moved, or was given back.'),
} as const satisfies Record<string, EventDeclaration>;
