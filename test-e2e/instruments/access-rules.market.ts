/** Rows of the access matrix for what is traded. */
import type { Fields } from '../client.ts';
import { type AccessRule, everybody, members } from './access-rule.ts';
import type { Tenant } from './tenants.ts';

const listed = ({ listing }: Tenant): Fields => ({ listingId: listing });
const notListed = (fresh: string): Fields => ({ listingId: fresh });
/** The offer is one of the workspace; to others it is one that there is not. */
const listings = (more: Fields = {}): AccessRule =>
  members(
    (tenant) => ({ ...listed(tenant), ...more }),
    'E_LISTING_ABSENT',
    (fresh) => ({
      ...notListed(fresh),
      ...more,
    }),
  );
/** Parties alone close a trade, and it is none to anybody else. */
const trades = (more: Fields = {}): AccessRule =>
  members(
    ({ trade }) => ({ tradeId: trade, ...more }),
    'E_TRADE_ABSENT',
    (fresh) => ({ tradeId: fresh, ...more }),
  );

/** The viewer has bought a skill of the admin; to anybody else the trade is none. */
const skillTrades = (more: Fields): AccessRule =>
  members(
    ({ skillTrade }) => ({ tradeId: skillTrade, ...more }),
    'E_TRADE_ABSENT',
    (fresh) => ({ tradeId: fresh, ...more }),
  );

/** Who names the viewer of the tenant is that viewer, or speaks for somebody else. */
function asViewer(args: (tenant: Tenant) => Fields): AccessRule {
  return { args, viewer: 'served', admin: 'FORBIDDEN', stranger: 'FORBIDDEN' };
}

export const MARKET: Record<string, AccessRule> = {
  market_list: everybody((_tenant, fresh) => ({ type: 'favor', title: fresh })),
  market_bid: listings({ price: 'words' }),
  market_trade: listings(),
  market_search: everybody(({ team }) => ({ query: team })),
  market_stats: everybody(),
  market_get: listings(),
  market_getTrade: trades(),
  market_getBids: everybody((tenant) => listed(tenant)),
  market_cancelTrade: asViewer(({ viewer, trade }) => ({ tradeId: trade, agentId: viewer.id })),
  market_skill_list: everybody((_tenant, fresh) => ({ title: fresh })),
  market_skill_buy: asViewer(({ viewer, skill }) => ({ listingId: skill, buyerId: viewer.id })),
  market_skill_deliver: { ...skillTrades({ payload: 'x' }), viewer: 'E_SKILL_NOT_SELLER' },
  market_skill_settle: { ...skillTrades({ decision: 'confirm' }), admin: 'E_SKILL_NOT_BUYER' },
  market_skill_status: members(({ skill }) => ({ listingId: skill }), 'E_LISTING_ABSENT', notListed),
  market_skill_sweep: everybody(),
  market_skill_gate: everybody(),
};
