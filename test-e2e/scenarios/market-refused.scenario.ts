/** What the market refuses, whichever of its tools is asked. */
import type { Fields } from '../client.ts';
import { memberAt, createMembers } from '../instruments/members.ts';
import { createPool } from '../instruments/pools.ts';
import { availableOf, buySkill, createTraders, offer, offerSkill, skillsOn } from '../instruments/traders.ts';
import { newName, verifies } from '../verifies.ts';
import { expect } from 'vitest';

verifies('market:refused:nobody', async ({ caller }) => {
  const operator = caller();
  await skillsOn(operator);
  const asked: readonly (readonly [string, Fields])[] = [
    ['market_list', { type: 'favor', title: 'x' }],
    ['market_bid', { title: 'x' }],
    ['market_trade', { listingId: 'lst_x' }],
    ['market_trade', { tradeId: 'trd_x' }],
    ['market_skill_list', { title: 'x' }],
    ['market_skill_deliver', { tradeId: 'trd_x', payload: 'x' }],
    ['market_skill_settle', { tradeId: 'trd_x', decision: 'confirm' }],
  ];
  for (const [tool, args] of asked) await operator.refused('E_NO_AGENT', tool, args);
});

verifies('market:refused:skill', async ({ place, caller }) => {
  const operator = caller();
  await skillsOn(operator);
  const { workspace, admin, members } = await createPool(place, 50, 2);
  const [seller, buyer] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const listingId = await offerSkill(seller, '30', { supply: 3 });
  const buy = (args: Fields = {}) => ({ listingId, buyerId: buyer.id, ...args });
  const refused = (code: string, args: Fields = {}) => buyer.caller.refused(code, 'market_skill_buy', buy(args));
  await refused('E_LISTING_ABSENT', { listingId: newName('lst') });
  await refused('E_UNKNOWN_WORKSPACE', { workspace: newName('w') });
  await buyer.caller.ok('market_skill_buy', buy({ workspace }));
  await refused('E_POOL_EXCEEDED', { workspace });
  await admin.caller.ok('escrow_setWorkspaceMemberLimit', { workspaceId: workspace, agentId: buyer.id, limit: 30 });
  await refused('E_MEMBER_LIMIT', { workspace });
  await seller.caller.refused('E_SELF_TRADE', 'market_skill_buy', buy({ buyerId: seller.id }));
  await operator.ok('trust_record', { entityId: seller.id, type: 'failure', value: 0.201 });
  await refused('E_SELLER_TRUST');
  await operator.ok('trust_record', { entityId: seller.id, type: 'quarantine' });
  await refused('E_QUARANTINED');
  expect(await availableOf(operator, listingId)).toBe(2);
  const last = await createTraders(place);
  const single = await offerSkill(last.seller, null);
  const tradeId = await buySkill(last.buyer, single);
  await last.other.caller.refused('E_SOLD_OUT', 'market_skill_buy', { listingId: single, buyerId: last.other.id });
  await last.other.caller.refused('E_TRADE_ABSENT', 'market_skill_settle', { tradeId, decision: 'confirm' });
  await last.other.caller.refused('E_LISTING_ABSENT', 'market_skill_status', { listingId: newName('lst') });
  await last.seller.caller.ok('market_skill_deliver', { tradeId, payload: 1 });
  await last.buyer.caller.ok('market_skill_settle', { tradeId, decision: 'confirm' });
  await last.seller.caller.refused('E_SKILL_ALREADY_SETTLED', 'market_skill_deliver', { tradeId, payload: 1 });
});

verifies('market:refused:elsewhere', async ({ place, caller }) => {
  await skillsOn(caller());
  const { seller, buyer } = await createTraders(place);
  const elsewhere = (await createMembers(place, 'admin')).workspace;
  const title = newName('s');
  await seller.caller.refused('E_SCOPE', 'market_skill_list', { title, context: { workspace: elsewhere } });
  await seller.caller.refused('E_BID_ABSENT', 'market_trade', { bidId: newName('bid') });
  await buyer.caller.refused('E_TRADE_ABSENT', 'market_trade', { tradeId: newName('trd') });
  await buyer.caller.fails('FORBIDDEN', 'market_trade', { listingId: await offer(seller, '1'), buyerId: seller.id });
});
