/** What somebody offers: as whom, to whom, for what. */
import { actingAs } from '@svc/contract/actor.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { familyOf, identityOf } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import type { z } from 'zod';
import { maySee, scopeOf, viewOfAgent } from '../access.ts';
import type { MarketDeps } from '../deps.ts';
import { amountOf, readPrice } from '../domain/price.ts';
import { decideConsent } from '../gates.ts';
import type { NewListing } from '../store/offer-rows.ts';
import type { OfferContext } from './shapes.ts';

type Context = z.output<typeof OfferContext>;
type Offered = Pick<NewListing, 'type' | 'title' | 'price' | 'payloadKind' | 'capabilityTag'>;

/** Under whom the offers of whoever acts are counted. */
export function familyOfActor(caller: Caller, agentId: string): string {
  return identityOf(caller.subject) === agentId ? (familyOf(caller.subject) ?? agentId) : agentId;
}

export function priceOf(text: string | null): { readonly price: string | null; readonly amount: bigint } {
  const price = readPrice(text);
  if (price === null) throw invalidArguments([{ path: 'price', message: 'is neither an amount nor words' }]);
  return { price: price.kind === 'free' ? null : text, amount: amountOf(price) };
}

const NAMED = new Set(['consentGiven', 'seller', 'description', 'tags', 'supply', 'workspace', 'scope']);

/** What else was said is kept as it is. */
function furtherOf(context: Context): Readonly<Record<string, unknown>> | null {
  const further = Object.entries(context).filter(([key]) => !NAMED.has(key));
  return further.length === 0 ? null : Object.fromEntries(further);
}

/** Throws FORBIDDEN when a token names another seller. */
export async function decideOffering(
  { registry }: Pick<MarketDeps, 'registry'>,
  caller: Caller,
  said: Context,
  { price, ...offered }: Offered,
): Promise<Decision<Omit<NewListing, 'listingId'>, 'E_NO_AGENT' | 'E_CONSENT' | 'E_SCOPE'>> {
  const { description = '', tags = [], supply = 1 } = said;
  const seller = actingAs(caller, said.seller);
  if (seller === null) return deny('E_NO_AGENT');
  if (!(await decideConsent(registry, said.consentGiven, caller.registry))) return deny('E_CONSENT');
  const scope = scopeWanted(said);
  if (scope !== null && !maySee(await viewOfAgent(registry, caller, seller), scope)) return deny('E_SCOPE');
  const place = { seller, family: familyOfActor(caller, seller), scope };
  return allow({ ...offered, description, tags, supply, context: furtherOf(said), ...place, ...priceOf(price) });
}

/** What killed agents offer is to be had no more, so it keeps nobody of their family from offering something. */
export async function makeRoomFor(
  {
    deps: { offers, registry },
    caller,
  }: { readonly deps: Pick<MarketDeps, 'offers' | 'registry'>; readonly caller: Pick<Caller, 'registry'> },
  wish: Decision<Pick<NewListing, 'family' | 'seller'>, string>,
): Promise<void> {
  if (!wish.ok) return;
  const { family, seller: other } = wish.value;
  for (const one of await offers.sellersWithoutRoom(family)) {
    if (one === other || Object.keys(await registry.roles(one, caller.registry)).length > 0) continue;
    const { ended = {} } = await registry.parties({ one, other, ended: true });
    if (ended[one] === 'killed') await offers.closeListings(one);
  }
}

function scopeWanted({ workspace, scope }: Context): string | null {
  return scope ?? (workspace === undefined ? null : scopeOf(workspace));
}
