/** What is offered: made, looked for, counted. */
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { actingAs, actorOf } from '@svc/contract/actor.ts';
import { CallError } from '@svc/contract/codes.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { encodeCursor, page, PlainText } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { z } from 'zod';
import { maySee, viewOf, viewOfAgent } from '../access.ts';
import { defineTool, type MarketDeps } from '../deps.ts';
import { LISTING_TYPES, wordsOf } from '../domain/offer.ts';
import type { ListingFilter } from '../store/listing-search.ts';
import { decideOffering, makeRoomFor } from './offering.ts';
import { ListingId, ListingShown, OfferContext, PriceText, shownListing, Tags, Title } from './shapes.ts';

const Listings = z.strictObject({ listings: z.array(ListingShown), nextCursor: z.string().optional() });

const list = defineTool({
  name: 'market_list',
  area: 'market',
  description: 'Offer knowledge, an insight, a memory or a favor for sale; without arguments list what is for sale.',
  input: z.strictObject({
    type: z.enum(LISTING_TYPES).optional().describe('What is offered; a skill is offered with market_skill_list.'),
    title: Title.optional(),
    price: PriceText.optional(),
    context: OfferContext.optional().describe(
      'seller, description, tags, supply, workspace, consentGiven, and own keys.',
    ),
    ...page,
  }),
  output: z.union([ListingShown, Listings]),
  access: 'identified',
  effect: 'write',
  refuses: ['E_CONSENT', 'E_NO_AGENT', 'E_QUOTA', 'E_SCOPE'],
  raises: ['FORBIDDEN'],
  example: { type: 'knowledge', title: 'How the harbour was dredged', price: '2.5' },
  async handler({ type, title, price, context, limit, cursor }, call) {
    const { deps, caller } = call;
    if ([type, title, price, context].every((argument) => argument === undefined)) {
      return await foundListings(deps, caller, ALL_ACTIVE, { limit, cursor });
    }
    if (type === undefined || title === undefined) {
      throw invalidArguments([{ path: type === undefined ? 'type' : 'title', message: 'is missing' }]);
    }
    if (type === 'skill')
      throw invalidArguments([{ path: 'type', message: 'a skill is offered with market_skill_list' }]);
    const said = context ?? {};
    const offer = { type, title, price: price ?? null, payloadKind: null, capabilityTag: null };
    const wish = await decideOffering(deps, caller, said, offer);
    await makeRoomFor(call, wish);
    return shownListing(settled(call, await deps.offers.offer(call, wish)));
  },
});

const ALL_ACTIVE: ListingFilter = { type: null, seller: null, tags: [], words: [], activeOnly: true };

interface Page {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

async function foundListings(
  { offers, registry }: Pick<MarketDeps, 'offers' | 'registry'>,
  caller: Caller,
  filter: ListingFilter,
  { limit, cursor }: Page,
): Promise<z.input<typeof Listings>> {
  const position = positionOf(limit, cursor);
  const after = position.after === null ? null : afterOf(position.after);
  const view = await viewOf(registry, caller);
  const rows = await offers.listings(view, filter, { after, limit: position.limit + 1 });
  const listings = rows.slice(0, position.limit);
  const last = listings.at(-1);
  const hasMore = rows.length > position.limit && last !== undefined;
  return {
    listings: listings.map(shownListing),
    ...(hasMore ? { nextCursor: encodeCursor(`${last.inTitle ? 't' : 'o'}${last.listingId}`) } : {}),
  };
}

function afterOf(position: string): { inTitle: boolean; id: string } {
  const [, part, id] = /^([to])(lst_[0-9a-z]+)$/.exec(position) ?? [];
  if (part === undefined || id === undefined) throw invalidArguments([{ path: 'cursor', message: 'is not a cursor' }]);
  return { inTitle: part === 't', id };
}

const search = defineTool({
  name: 'market_search',
  area: 'market',
  description: 'Find listings by type, tags, seller or words in title, description and tags.',
  input: z.strictObject({
    type: z.enum(LISTING_TYPES).optional(),
    tags: Tags.optional().describe('Any of these.'),
    query: PlainText.max(400).optional().describe('Words, each of which has to be there.'),
    seller: IdentityId.optional(),
    ...page,
  }),
  output: z.strictObject({ results: z.array(ListingShown), nextCursor: z.string().optional() }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { query: 'harbour' },
  async handler({ type = null, tags = [], query = '', seller = null, ...page }, { deps, caller }) {
    const filter = { type, seller, tags, words: wordsOf(query), activeOnly: false };
    const { listings: results, ...next } = await foundListings(deps, caller, filter, page);
    return { results, ...next };
  },
});

const get = defineTool({
  name: 'market_get',
  area: 'market',
  description: 'One listing.',
  input: z.strictObject({
    listingId: ListingId,
    viewerId: IdentityId.optional().describe('As whom an operator looks.'),
  }),
  output: ListingShown,
  access: 'public',
  effect: 'read',
  refuses: ['E_LISTING_ABSENT'],
  raises: ['FORBIDDEN'],
  aliases: { id: 'listingId' },
  async handler({ listingId, viewerId }, { deps, caller, refuse }) {
    if (viewerId !== undefined && !caller.operator && viewerId !== actorOf(caller).identity) {
      throw new CallError('FORBIDDEN', 'viewerId: only an operator looks as somebody else.');
    }
    const { offers, registry } = deps;
    const view =
      viewerId === undefined ? await viewOf(registry, caller) : await viewOfAgent(registry, caller, viewerId);
    const listing = await offers.listing(listingId);
    if (listing === null || !maySee(view, listing.scope)) throw refuse('E_LISTING_ABSENT');
    return shownListing(listing);
  },
});

const counts = z.record(z.string(), z.int());

const stats = defineTool({
  name: 'market_stats',
  area: 'market',
  description:
    'How much is offered, asked for and traded, as far as the caller may see it; of trades its own and those of its workspaces.',
  input: z.strictObject({}),
  output: z.strictObject({
    listings: z.int(),
    active: z.int(),
    bids: z.int(),
    trades: z.strictObject({ pending: z.int(), completed: z.int(), cancelled: z.int() }),
    skillTrades: counts,
    types: counts,
    volume: z.number().describe('Credits that were paid.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler(_input, { deps, caller }) {
    const counted = await deps.offers.counts(await viewOf(deps.registry, caller), actingAs(caller));
    const { listings, active, bids, types, skillTrades, trades, volume } = counted;
    const { pending = 0, completed = 0, cancelled = 0 } = trades;
    return {
      listings,
      active,
      bids,
      trades: { pending, completed, cancelled },
      skillTrades: { ...skillTrades },
      types: { ...types },
      volume: creditsFromAmount(volume as AmountMicros),
    };
  },
});

export const listingTools = [list, search, get, stats];
