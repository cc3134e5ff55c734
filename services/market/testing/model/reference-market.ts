/** What the market is to do, said a second time as plainly as possible: one caller at a time, whole credits. */

export type Act = 'complete' | 'cancel' | 'deliver' | 'confirm' | 'refute';
export type Agent = 'a' | 'b' | 'c';
export const AGENTS: readonly Agent[] = ['a', 'b', 'c'];

export interface ReferenceListing {
  readonly seller: Agent;
  readonly supply: number;
  readonly price: number;
  readonly kind: 'plain' | 'skill';
  readonly unsettled: 'confirm' | 'refute';
  taken: number;
}

export interface ReferenceTrade {
  readonly listing: number;
  readonly buyer: Agent;
  state: string;
  /** The hold lapsed before money could follow, and nothing was left to pay with. */
  unpaid: boolean;
  dueAt: number;
  readonly events: string[];
}

interface Purse {
  spent: number;
  pending: number;
  earned: number;
}

export const LIMIT = 100;
export const WINDOW_MS = 100_000;
const OPEN = ['pending', 'pending_delivery', 'delivered'];
const PAID = ['completed', 'confirmed'];

export class ReferenceMarket {
  readonly listings: ReferenceListing[] = [];
  readonly trades: ReferenceTrade[] = [];
  readonly purses: Record<Agent, Purse> = {
    a: { spent: 0, pending: 0, earned: 0 },
    b: { spent: 0, pending: 0, earned: 0 },
    c: { spent: 0, pending: 0, earned: 0 },
  };
  now = 0;

  list(listing: Omit<ReferenceListing, 'taken'>): void {
    this.listings.push({ ...listing, taken: 0 });
  }

  available(agent: Agent): number {
    const { spent, pending, earned } = this.purses[agent];
    return LIMIT + earned - spent - pending;
  }

  /** Null = it stands. */
  buy(at: number, buyer: Agent): string | null {
    const listing = this.#listing(at);
    if (listing.taken === listing.supply) this.#lookAtUndelivered(at);
    if (listing.taken === listing.supply) return 'E_SOLD_OUT';
    if (this.available(buyer) < listing.price) return 'E_BUDGET';
    listing.taken += 1;
    this.purses[buyer].pending += listing.price;
    const state = listing.kind === 'plain' ? 'pending' : 'pending_delivery';
    const dueAt = this.now + WINDOW_MS;
    this.trades.push({ listing: at, buyer, state, unpaid: false, dueAt, events: ['trade:opened'] });
    return null;
  }

  /** The code, or null when it is done. */
  act(trade: ReferenceTrade, act: Act, agent: Agent): string | null {
    const listing = this.#listing(trade.listing);
    this.lookAt(trade);
    const role = agent === trade.buyer ? 'buyer' : agent === listing.seller ? 'seller' : null;
    const wrong = wrongRole(act, role, listing.kind);
    if (wrong !== null) return wrong;
    const isSkillAct = act !== 'complete' && act !== 'cancel';
    if (!OPEN.includes(trade.state)) return isSkillAct ? overCode(trade.state) : 'E_TRADE_CLOSED';
    if (act === 'deliver') return this.#deliver(trade);
    if (act === 'cancel' && trade.state === 'delivered') return 'E_SKILL_DELIVERED';
    if (isSkillAct && trade.state !== 'delivered') return 'E_SKILL_NOT_DELIVERED';
    this.close(trade, { complete: 'completed', cancel: 'cancelled', confirm: 'confirmed', refute: 'refuted' }[act]);
    return null;
  }

  #deliver(trade: ReferenceTrade): string | null {
    if (trade.state === 'delivered') return 'E_SKILL_ALREADY_DELIVERED';
    trade.state = 'delivered';
    trade.dueAt = this.now + WINDOW_MS;
    trade.events.push('trade:delivered');
    return null;
  }

  #lookAtUndelivered(at: number): void {
    const undelivered = this.trades.filter(({ listing, state }) => listing === at && state === 'pending_delivery');
    for (const trade of undelivered) this.lookAt(trade);
  }

  /** What time has decided. */
  lookAt(trade: ReferenceTrade): void {
    if (this.now < trade.dueAt) return;
    if (trade.state === 'pending') this.close(trade, 'completed');
    if (trade.state === 'pending_delivery') this.close(trade, 'expired');
    if (trade.state === 'delivered') {
      this.close(trade, this.#listing(trade.listing).unsettled === 'confirm' ? 'confirmed' : 'refuted');
    }
  }

  close(trade: ReferenceTrade, state: string): void {
    const { price, seller } = this.#listing(trade.listing);
    const listing = this.#listing(trade.listing);
    trade.state = state;
    trade.events.push(`trade:${state}`, 'trade:settled');
    this.purses[trade.buyer].pending -= price;
    if (state === 'cancelled' || state === 'expired') listing.taken -= 1;
    if (!PAID.includes(state)) return;
    this.purses[trade.buyer].spent += price;
    this.purses[seller].earned += price;
  }

  /** As when the hold had lapsed before the money of a closing could follow it. */
  closeLate(trade: ReferenceTrade, state: string): void {
    const { price, seller } = this.#listing(trade.listing);
    this.close(trade, state);
    if (!PAID.includes(state)) return;
    this.purses[trade.buyer].spent -= price;
    this.purses[seller].earned -= price;
    trade.unpaid = this.available(trade.buyer) < price;
    if (trade.unpaid) return;
    this.purses[trade.buyer].spent += price;
    this.purses[seller].earned += price;
  }

  #listing(at: number): ReferenceListing {
    const listing = this.listings[at];
    if (listing === undefined) throw new Error(`the reference has no listing ${at}`);
    return listing;
  }
}

/** Who may act at all: `buyer`, `seller` or both, of which kind of trade, and what the other party is told. */
const ROLES = {
  complete: { kind: 'plain', role: 'buyer', other: 'E_NOT_BUYER' },
  deliver: { kind: 'skill', role: 'seller', other: 'E_SKILL_NOT_SELLER' },
  confirm: { kind: 'skill', role: 'buyer', other: 'E_SKILL_NOT_BUYER' },
  refute: { kind: 'skill', role: 'buyer', other: 'E_SKILL_NOT_BUYER' },
} as const;

function wrongRole(act: Act, role: 'buyer' | 'seller' | null, kind: string): string | null {
  if (role === null) return 'E_TRADE_ABSENT';
  if (act === 'cancel') return null;
  const wanted = ROLES[act];
  if (wanted.kind !== kind) return 'E_TRADE_ABSENT';
  return wanted.role === role ? null : wanted.other;
}

function overCode(state: string): string {
  if (state === 'expired') return 'E_SKILL_EXPIRED';
  return state === 'cancelled' ? 'E_SKILL_CANCELLED' : 'E_SKILL_ALREADY_SETTLED';
}
