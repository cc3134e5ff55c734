/** Arguments and results that the market's tools share. */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { PlainText, TimestampMs } from '@svc/contract/params.ts';
import { z } from 'zod';
import { LISTING_TYPES } from '../domain/offer.ts';
import { readPrice } from '../domain/price.ts';
import { dueName } from '../domain/trade.ts';
import { holdIdOf } from '../store/settling.ts';
import type { ShownBid, ShownListing } from '../store/offer-store.ts';
import type { TradeRow } from '../store/trade-rows.ts';

const MAX_CONTEXT_BYTES = 8192;

export const Title = PlainText.min(1).max(200).regex(/\S/, 'must say something').describe('At most 200 characters.');
export const Description = PlainText.max(4000).describe('At most 4,000 characters.');
const Tag = PlainText.min(1).max(64);
export const Tags = z.array(Tag).max(20).describe('At most 20.');
export const PriceText = PlainText.max(200)
  .refine((text) => readPrice(text) !== null, {
    message: 'must be credits up to 1000000 with at most 6 decimals, such as "2.5", or words for barter',
  })
  .nullable()
  .describe('Credits as text, such as "2.5", at most 1000000; null, "" or "0" = free; words = barter, no money moves.');
export const ListingId = PlainText.min(1).max(100).describe('Id of a listing.');
export const BidId = PlainText.min(1).max(100).describe('Id of a bid.');
export const TradeId = PlainText.min(1).max(100).describe('Id of a trade.');
/** A token names nobody but itself. */
export const namedActor = (what: string) => IdentityId.describe(`${what}; only an operator names somebody else.`);
export const actor = (what: string) => namedActor(`${what}, default the caller`).optional();
export const Pool = WorkspaceName.optional().describe('Workspace whose pool pays, instead of the own budget.');

/** Fields beyond the named ones are kept as they are. */
export const OfferContext = z
  .looseObject({
    consentGiven: z.boolean().optional().describe('False = nothing is written.'),
    seller: IdentityId.optional(),
    description: Description.optional(),
    tags: Tags.optional(),
    supply: z.int().min(1).max(1_000_000).optional().describe('How often it can be bought, default 1.'),
    workspace: WorkspaceName.optional().describe('Only its members may see and buy it.'),
    scope: z
      .string()
      .regex(/^workspace:[A-Za-z][A-Za-z0-9._-]{0,63}$/, 'must be workspace:<id>')
      .optional(),
  })
  .refine((context) => Buffer.byteLength(JSON.stringify(context)) <= MAX_CONTEXT_BYTES, {
    message: 'must be at most 8 KiB as JSON',
  })
  .refine((context) => PlainText.safeParse(JSON.stringify(context).replaceAll('\\u0000', '\0')).success, {
    message: 'must be text without NUL',
  })
  .refine(
    ({ workspace, scope }) => workspace === undefined || scope === undefined || scope === `workspace:${workspace}`,
    { message: 'names two scopes' },
  );

export const TradeContext = z
  .looseObject({ consentGiven: z.boolean().optional().describe('False = nothing is bought.') })
  .refine((context) => Buffer.byteLength(JSON.stringify(context)) <= MAX_CONTEXT_BYTES, {
    message: 'must be at most 8 KiB as JSON',
  });

export const ListingShown = z.strictObject({
  id: z.string(),
  type: z.enum(LISTING_TYPES),
  title: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  price: z.string().nullable(),
  supply: z.int(),
  taken: z.int(),
  available: z.int(),
  seller: z.string(),
  scope: z.string().nullable(),
  status: z.enum(['active', 'sold_out']),
  payloadKind: z.string().optional(),
  capabilityTag: z.string().optional(),
  context: z.record(z.string(), z.unknown()).optional().describe('What else the seller said.'),
  createdAt: TimestampMs,
});

export function shownListing(listing: ShownListing): z.input<typeof ListingShown> {
  const { listingId: id, type, title, description, tags, price, supply, taken, seller, scope, createdAt } = listing;
  const { payloadKind, capabilityTag, context } = listing;
  return {
    id,
    type,
    title,
    description,
    tags: [...tags],
    price,
    supply,
    taken,
    available: supply - taken,
    seller,
    scope,
    status: taken < supply ? 'active' : 'sold_out',
    ...(payloadKind === null ? {} : { payloadKind }),
    ...(capabilityTag === null ? {} : { capabilityTag }),
    ...(context === null ? {} : { context: { ...context } }),
    createdAt,
  };
}

export const BidShown = z.strictObject({
  id: z.string(),
  listingId: z.string().nullable(),
  title: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  price: z.string().nullable(),
  bidder: z.string(),
  scope: z.string().nullable(),
  status: z.enum(['open', 'accepted', 'withdrawn', 'expired']),
  expiresAt: TimestampMs,
  tradeId: z.string().nullable(),
  createdAt: TimestampMs,
});

export function shownBid(bid: ShownBid): z.input<typeof BidShown> {
  const { bidId: id, listingId, title, description, tags, price, bidder, scope, status, expiresAt, tradeId } = bid;
  const { createdAt } = bid;
  return {
    id,
    listingId,
    title,
    description,
    tags: [...tags],
    price,
    bidder,
    scope,
    status,
    expiresAt,
    tradeId,
    createdAt,
  };
}

export const TradeShown = z.strictObject({
  id: z.string(),
  tradeId: z.string(),
  kind: z.enum(['plain', 'skill']),
  listingId: z.string().nullable(),
  bidId: z.string().nullable(),
  seller: z.string(),
  buyer: z.string(),
  price: z.string().nullable(),
  amount: z.number().nullable().describe('Credits; null = no money moves.'),
  workspace: z.string().nullable().describe('Whose pool pays.'),
  holdId: z.string(),
  state: z.string(),
  settlement: z.enum(['none', 'pending', 'done', 'failed']),
  version: z.int(),
  createdAt: TimestampMs,
  completesAt: TimestampMs.optional(),
  deliverBy: TimestampMs.optional(),
  settleBy: TimestampMs.optional(),
  closedAt: TimestampMs.optional(),
  closedBy: z.string().optional(),
  completed: z.boolean(),
  cancelled: z.boolean(),
  payloadSha256: z.string().optional(),
  payload: z.unknown().optional().describe('To buyer and seller, once delivered.'),
});

export function shownTrade(trade: TradeRow): z.input<typeof TradeShown> {
  const { tradeId, kind, listingId, bidId, seller, buyer, price, amount, workspace, state, settlement } = trade;
  const { version, createdAt, dueAt, closedAt, closedBy, payloadHash } = trade;
  return {
    id: tradeId,
    tradeId,
    kind,
    listingId,
    bidId,
    seller,
    buyer,
    price,
    amount: amount === 0n ? null : creditsFromAmount(amount as AmountMicros),
    workspace,
    holdId: holdIdOf(tradeId),
    state,
    settlement,
    version,
    createdAt,
    [dueName(trade)]: dueAt,
    ...(closedAt === null ? {} : { closedAt }),
    ...(closedBy === null ? {} : { closedBy }),
    completed: state === 'completed' || state === 'confirmed',
    cancelled: state === 'cancelled',
    ...(payloadHash === null ? {} : { payloadSha256: payloadHash }),
  };
}
