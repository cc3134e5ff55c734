/** Skills: offered, bought, delivered, settled; the gate that lets them be traded at all. */
import { actingAs, actingAsNamed } from '@svc/contract/actor.ts';
import { hash } from 'node:crypto';
import { type AmountMicros, creditsFromAmount } from '@svc/contract/amount.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { JsonData } from '@svc/contract/json-data.ts';
import { Sha256Hex, TimestampMs } from '@svc/contract/params.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { maySee, viewOf } from '../access.ts';
import { defineTool } from '../deps.ts';
import { decidePayload, isLaunch } from '../domain/skill.ts';
import { decideDeliver, decideSettle } from '../domain/trade-rules.ts';
import { decideBuySkill, decidePurse } from '../purchase.ts';
import { reputationOfSeller } from '../reputation.ts';
import { holdIdOf } from '../store/settling.ts';
import { decideOffering, makeRoomFor } from './offering.ts';
import {
  actor,
  Description,
  ListingId,
  ListingShown,
  namedActor,
  OfferContext,
  Pool,
  PriceText,
  shownListing,
  Title,
  TradeContext,
  TradeId,
} from './shapes.ts';
import { gateTools } from './skill-gate.ts';
import { present, PURCHASE_REFUSES } from './trades.ts';

const list = defineTool({
  name: 'market_skill_list',
  area: 'market',
  description: 'Offer a skill for sale; what is delivered for it is data and is never run.',
  input: z.strictObject({
    title: Title,
    description: Description.optional(),
    payloadKind: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,31}$/i, 'must be 1-32 letters, digits or dashes, starting with a letter')
      .optional()
      .describe('What kind of data is delivered, default text.'),
    price: PriceText.optional(),
    capabilityTag: z
      .string()
      .regex(/^[a-z0-9][a-z0-9._:-]{0,63}$/, 'must be 1-64 lower-case letters, digits or ._:-')
      .optional(),
    context: OfferContext.optional().describe(
      'seller, description, tags, supply, workspace, consentGiven, and own keys.',
    ),
  }),
  output: ListingShown,
  access: 'identified',
  effect: 'write',
  refuses: ['E_CONSENT', 'E_NO_AGENT', 'E_QUOTA', 'E_SCOPE', 'E_SKILL_DISABLED', 'E_SKILL_LAUNCH'],
  raises: ['FORBIDDEN'],
  example: { title: 'Reading tide tables', price: '60', capabilityTag: 'tides' },
  async handler({ title, description, payloadKind = 'text', price = null, capabilityTag = null, context = {} }, call) {
    const { deps, caller } = call;
    const offer = { type: 'skill' as const, title, price, payloadKind: payloadKind.toLowerCase(), capabilityTag };
    const said = { ...context, ...(description === undefined ? {} : { description }) };
    const isOpen = await deps.registry.setting('market.skillsEnabled', caller.registry);
    const may = decideSkillOffer(isOpen, isLaunch(payloadKind, context));
    const wish = may.ok ? await decideOffering(deps, caller, said, offer) : may;
    await makeRoomFor(call, wish);
    return shownListing(settled(call, await deps.offers.offer(call, wish)));
  },
});

function decideSkillOffer(isOpen: boolean, launches: boolean): Decision<null, 'E_SKILL_DISABLED' | 'E_SKILL_LAUNCH'> {
  if (!isOpen) return deny('E_SKILL_DISABLED');
  return launches ? deny('E_SKILL_LAUNCH') : allow(null);
}

const buy = defineTool({
  name: 'market_skill_buy',
  area: 'market',
  description: 'Buy a skill: its price is held until it is delivered and confirmed.',
  input: z.strictObject({
    listingId: ListingId,
    buyerId: namedActor('Who buys'),
    workspace: Pool,
    context: TradeContext.optional(),
  }),
  output: z.strictObject({
    tradeId: z.string(),
    state: z.literal('pending_delivery'),
    listingId: z.string(),
    buyer: z.string(),
    seller: z.string(),
    price: z.string().nullable(),
    holdId: z.string(),
    held: z.literal(true),
    deliverBy: TimestampMs,
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...PURCHASE_REFUSES, 'E_NOT_SKILL'],
  raises: ['FORBIDDEN'],
  example: { listingId: 'lst_0199', buyerId: 'ben' },
  async handler({ listingId, buyerId, workspace = null, context }, call) {
    const { deps, caller } = call;
    const agent = actingAsNamed(caller, buyerId);
    const buying = { caller, agent, workspace, consentGiven: context?.consentGiven };
    const bought = await deps.trades.buy(call, () => decideBuySkill(deps, buying, listingId));
    const {
      tradeId,
      buyer,
      seller,
      price,
      dueAt: deliverBy,
    } = await deps.trades.opened(settled(call, bought), bought.trade);
    const holdId = holdIdOf(tradeId);
    const state = 'pending_delivery' as const;
    return { tradeId, state, listingId, buyer, seller, price, holdId, held: true as const, deliverBy };
  },
});

const SKILL_OVER = [
  'E_NO_AGENT',
  'E_TRADE_ABSENT',
  'E_SKILL_ALREADY_SETTLED',
  'E_SKILL_EXPIRED',
  'E_SKILL_CANCELLED',
] as const;

const deliver = defineTool({
  name: 'market_skill_deliver',
  area: 'market',
  description: 'Deliver a skill that was bought: any JSON, which only buyer and seller see.',
  input: z.strictObject({
    tradeId: TradeId,
    payload: JsonData.describe('Any JSON, at most 64 KiB; null too.'),
    agentId: actor('The seller'),
  }),
  output: z.strictObject({
    tradeId: z.string(),
    state: z.literal('delivered'),
    payloadSha256: Sha256Hex,
    bytes: z.int(),
    settleBy: TimestampMs,
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...SKILL_OVER, 'E_SKILL_NOT_SELLER', 'E_SKILL_PAYLOAD', 'E_SKILL_LAUNCH', 'E_SKILL_ALREADY_DELIVERED'],
  raises: ['FORBIDDEN'],
  async handler({ tradeId, payload, agentId }, call) {
    const agent = actingAs(call.caller, agentId);
    if (agent === null) throw call.refuse('E_NO_AGENT');
    // Before the trade is locked: others wait for the same transaction, and what is delivered may be large.
    const content = sealed(payload);
    const outcome = await call.deps.trades.deliver(call, tradeId, (row) => {
      const may = decideDeliver(row, agent, row.now);
      if (!may.ok) return may;
      return content.ok ? allow({ ...content.value, ...may.value }) : content;
    });
    return { ...settled(call, outcome), state: 'delivered' as const };
  },
});

function sealed(payload: unknown) {
  const content = decidePayload(payload);
  if (!content.ok) return content;
  const { text } = content.value;
  return allow({ text, hash: hash('sha256', text, 'hex') });
}

const settle = defineTool({
  name: 'market_skill_settle',
  area: 'market',
  description: 'Confirm a delivered skill, which pays the seller, or refute it, which gives the price back.',
  input: z.strictObject({ tradeId: TradeId, decision: z.enum(['confirm', 'refute']), agentId: actor('The buyer') }),
  output: z.strictObject({
    tradeId: z.string(),
    state: z.enum(['confirmed', 'refuted']),
    debited: z.number().optional().describe('Credits that were paid.'),
    released: z.literal(true).optional(),
    settlement: z.literal('failed').optional().describe('The hold had lapsed and the buyer has no funds.'),
  }),
  access: 'identified',
  effect: 'write',
  refuses: [...SKILL_OVER, 'E_SKILL_NOT_BUYER', 'E_SKILL_NOT_DELIVERED', 'E_BUDGET', 'E_UNKNOWN_WORKSPACE'],
  raises: ['FORBIDDEN'],
  async handler({ tradeId, decision: verdict, agentId }, call) {
    const agent = actingAs(call.caller, agentId);
    if (agent === null) throw call.refuse('E_NO_AGENT');
    const { trades } = call.deps;
    const outcome = await trades.close(call, tradeId, (row) => {
      const may = decideSettle(row, { agentId: agent, verdict }, row.now);
      if (!may.ok || verdict !== 'confirm') return may;
      const purse = decidePurse(call.caller, row);
      return purse.ok ? may : purse;
    });
    settled(call, outcome);
    const { amount, settlement } = present(outcome.trade);
    if (verdict === 'refute') return { tradeId, state: 'refuted' as const, released: true as const };
    const state = 'confirmed' as const;
    if (settlement === 'failed') return { tradeId, state, debited: 0, settlement };
    return { tradeId, state, debited: creditsFromAmount(amount as AmountMicros) };
  },
});

const status = defineTool({
  name: 'market_skill_status',
  area: 'market',
  description: 'A skill that is offered, what of it is under way, and what its seller is worth.',
  input: z.strictObject({ listingId: ListingId }),
  output: z.strictObject({
    listingId: z.string(),
    asOf: TimestampMs,
    enabled: z.boolean(),
    title: z.string(),
    description: z.string(),
    payloadKind: z.string(),
    capabilityTag: z.string().nullable(),
    price: z.string().nullable(),
    supply: z.int(),
    taken: z.int(),
    available: z.int(),
    status: z.enum(['active', 'sold_out']),
    seller: z.string(),
    openTrades: z.int(),
    tradeTtlMs: z.int(),
    reputation: z.strictObject({
      legacy: z.number().describe("The seller's trust score."),
      shillResistant: z.number(),
      counterparties: z.int(),
      settled: z.int(),
      refuted: z.int(),
      concentration: z.strictObject({ share: z.number(), flagged: z.boolean() }),
    }),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_LISTING_ABSENT', 'E_NOT_SKILL'],
  async handler({ listingId }, { deps, caller, now, refuse }) {
    const view = await viewOf(deps.registry, caller);
    const listing = await deps.offers.listing(listingId);
    if (listing === null || !maySee(view, listing.scope)) throw refuse('E_LISTING_ABSENT');
    if (listing.type !== 'skill') throw refuse('E_NOT_SKILL');
    const { title, description, payloadKind, capabilityTag, price, supply, taken, seller } = listing;

    const [enabled, tradeTtlMs, openTrades, reputation] = await Promise.all([
      deps.registry.setting('market.skillsEnabled', caller.registry),
      deps.registry.setting('market.skillsTradeTtlMs', caller.registry),
      deps.trades.countOpen(listingId),
      reputationOfSeller(deps, view, seller),
    ]);
    return {
      listingId,
      asOf: now,
      enabled,
      title,
      description,
      payloadKind: payloadKind ?? 'text',
      capabilityTag,
      price,
      supply,
      taken,
      available: supply - taken,
      status: taken < supply ? ('active' as const) : ('sold_out' as const),
      seller,
      openTrades,
      tradeTtlMs,
      reputation,
    };
  },
});

export const skillTools = [list, buy, deliver, settle, status, ...gateTools];
