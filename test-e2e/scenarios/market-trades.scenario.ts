/** Listings, bids and plain trades: what they cost, who may, and what is left when they end. */
import { expect } from 'vitest';
import { codeOf } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { createMembers, memberAt, type WorkspaceMember } from '../instruments/members.ts';
import { createPool, poolFunds } from '../instruments/pools.ts';
import { availableOf, createTraders, offer, purseOf } from '../instruments/traders.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, verifies } from '../verifies.ts';

const BUYERS = 50;

verifies('market:trade:confirmed', async ({ place, caller }) => {
  const { seller, buyer } = await createTraders(place);
  const operator = caller({ gateway: 1 });
  const listingId = await offer(seller, '40');
  const trade = await buyer.caller.ok('market_trade', { listingId, buyerId: buyer.id });
  expect(trade).toMatchObject({ state: 'pending', kind: 'plain', seller: seller.id, buyer: buyer.id, amount: 40 });
  expect(Number(trade.completesAt) - Number(trade.createdAt)).toBe(300_000);
  expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 0, pending: 40, available: 960 });
  await seller.caller.refused('E_NOT_BUYER', 'market_trade', { tradeId: trade.tradeId });
  const { tradeId } = trade;
  const done = await buyer.caller.ok('market_trade', { tradeId, buyerId: buyer.id }, { gateway: 1 });
  expect(done).toMatchObject({ tradeId, state: 'completed', completed: true, closedBy: 'buyer', settlement: 'done' });
  expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 40, pending: 0, available: 960 });
  expect(await purseOf(operator, seller.id)).toMatchObject({ earned: 40, available: 1040 });
  const again = await buyer.caller.refused('E_TRADE_CLOSED', 'market_trade', { tradeId });
  expect(again).toMatchObject({ state: 'completed' });
});

verifies('market:trade:cancelled', async ({ place, caller }) => {
  const { seller, buyer, other } = await createTraders(place);
  const listingId = await offer(seller, '40');
  const { tradeId } = await buyer.caller.ok('market_trade', { listingId });
  const cancel = 'market_cancelTrade';
  const refused = await other.caller.refused('E_TRADE_ABSENT', cancel, { tradeId, agentId: other.id });
  expect(refused).toMatchObject({ cancelled: false });
  await other.caller.refused('E_TRADE_ABSENT', 'market_getTrade', { tradeId });
  expect(await seller.caller.ok(cancel, { tradeId, agentId: seller.id })).toMatchObject({
    cancelled: true,
    released: true,
    trade: { state: 'cancelled', cancelled: true, closedBy: 'seller' },
  });
  expect(await purseOf(caller(), buyer.id)).toMatchObject({ spent: 0, pending: 0, available: 1000 });
  expect(await availableOf(buyer.caller, listingId)).toBe(1);
  const closed = await buyer.caller.refused('E_TRADE_CLOSED', cancel, { tradeId, agentId: buyer.id });
  expect(closed).toMatchObject({ cancelled: false, state: 'cancelled' });
});

verifies('market:trade:supply', async ({ place, caller }) => {
  const { members } = await createMembers(place, 'editor', 'editor');
  const [seller, first] = [memberAt({ workspace: '', members }, 0), memberAt({ workspace: '', members }, 1)];
  const listingId = await offer(seller, '1');
  const operator = caller();
  const buyers = Array.from({ length: BUYERS }, (_, index) => (index === 0 ? first.id : newName('buyer')));
  const replies = await Promise.all(
    buyers.map((buyerId, index) =>
      index === 0
        ? first.caller.call('market_trade', { listingId })
        : operator.call('market_trade', { listingId, buyerId }, { gateway: index % 2 }),
    ),
  );
  const codes = replies.map((reply) => codeOf(reply) ?? 'bought').sort();
  expect(codes).toEqual([...Array<string>(BUYERS - 1).fill('E_SOLD_OUT'), 'bought']);
  expect(await operator.ok('market_get', { listingId })).toMatchObject({ taken: 1, available: 0, status: 'sold_out' });
  const held = await Promise.all(buyers.map(async (buyer) => (await purseOf(operator, buyer)).pending || 0));
  expect(held.filter((pending) => pending !== 0)).toEqual([1]);
});

verifies('market:trade:funds', async ({ place, caller }) => {
  const { seller, buyer } = await createTraders(place);
  const operator = caller();
  await operator.ok('escrow_create', { agentId: buyer.id, budget: 100 });
  const listingId = await offer(seller, '40', { supply: 5 });
  const replies = await Promise.all(
    Array.from({ length: 5 }, (_, gateway) => buyer.caller.call('market_trade', { listingId }, { gateway })),
  );
  const codes = replies.map((reply) => codeOf(reply) ?? 'bought').sort();
  expect(codes).toEqual(['E_BUDGET', 'E_BUDGET', 'E_BUDGET', 'bought', 'bought']);
  expect(await purseOf(operator, buyer.id)).toMatchObject({ pending: 80, available: 20 });
  expect(await availableOf(operator, listingId)).toBe(3);
});

verifies('market:trade:pool', async ({ place, caller }) => {
  const { workspace, admin, members } = await createPool(place, 50, 2);
  const [seller, buyer] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const listingId = await offer(seller, '30', { supply: 3 });
  const { tradeId } = await buyer.caller.ok('market_trade', { listingId, workspace });
  expect(await poolFunds(admin.caller, workspace)).toMatchObject({ pending: 30, available: 20 });
  await buyer.caller.refused('E_POOL_EXCEEDED', 'market_trade', { listingId, workspace });
  await buyer.caller.refused('E_UNKNOWN_WORKSPACE', 'market_trade', { listingId, workspace: newName('w') });
  expect(await admin.caller.ok('market_getTrade', { tradeId })).toMatchObject({ workspace, state: 'pending' });
  await buyer.caller.ok('market_trade', { tradeId });
  expect(await poolFunds(admin.caller, workspace)).toMatchObject({ spent: 30, pending: 0, available: 20 });
  await admin.caller.ok('escrow_setWorkspaceMemberLimit', { workspaceId: workspace, agentId: buyer.id, limit: 30 });
  const refused = await buyer.caller.refused('E_MEMBER_LIMIT', 'market_trade', { listingId, workspace });
  expect(refused).toMatchObject({ available: 0 });
  expect(await purseOf(caller(), seller.id)).toMatchObject({ earned: 30 });
  expect(await availableOf(caller(), listingId)).toBe(2);
});

verifies('market:trade:self', async ({ place, caller }) => {
  const { seller } = await createTraders(place);
  const operator = caller();
  const listingId = await offer(seller, '5');
  await seller.caller.refused('E_SELF_TRADE', 'market_trade', { listingId });
  const team = newName('t').replaceAll('-', '');
  const { agentId: parent } = await operator.ok('agent_spawn', { team, name: 'parent' });
  const { agentId: child } = await operator.ok('agent_spawn', { team, name: 'child', parent });
  const context = { seller: parent };
  const { id: ofParent } = await operator.ok('market_list', {
    type: 'favor',
    title: newName('l'),
    price: '5',
    context,
  });
  await operator.refused('E_SELF_TRADE', 'market_trade', { listingId: ofParent, buyerId: child });
  for (const id of [listingId, String(ofParent)]) expect(await availableOf(operator, id)).toBe(1);
  for (const entityId of [seller.id, parent, child]) {
    expect(await operator.ok('trust_getScore', { entityId })).toMatchObject({ score: 0.5 });
  }
});

verifies('market:trade:trust', async ({ place, caller }) => {
  const { seller, buyer } = await createTraders(place);
  const operator = caller();
  const listingId = await offer(seller, '5');
  const rate = (entityId: string, type: string, value?: number) =>
    operator.ok('trust_record', { entityId, type, ...(value === undefined ? {} : { value }) });
  await rate(buyer.id, 'quarantine');
  await operator.refused('E_QUARANTINED', 'market_trade', { listingId, buyerId: buyer.id });
  await rate(buyer.id, 'release');
  await rate(seller.id, 'failure', 0.201);
  await buyer.caller.refused('E_SELLER_TRUST', 'market_trade', { listingId });
  await rate(seller.id, 'task', 0.001);
  await buyer.caller.ok('market_trade', { listingId });
});

verifies('market:trade:once', async ({ place, caller }) => {
  const { seller, buyer } = await createTraders(place);
  const listingId = await offer(seller, '40', { supply: 9 });
  const headers = { 'idempotency-key': newName('key') };
  const first = await buyer.caller.ok('market_trade', { listingId }, { headers });
  const more = await Promise.all(
    [0, 1].map((gateway) => buyer.caller.ok('market_trade', { listingId }, { headers, gateway })),
  );
  expect(more).toEqual([first, first]);
  expect(await purseOf(caller(), buyer.id)).toMatchObject({ pending: 40, available: 960 });
  expect(await availableOf(buyer.caller, listingId)).toBe(8);
  const elsewhere = await offer(seller, '1');
  await buyer.caller.fails('IDEMPOTENCY_KEY_REUSED', 'market_trade', { listingId: elsewhere }, { headers });
});

verifies('market:prices', async ({ place, caller }) => {
  const { seller, buyer } = await createTraders(place);
  for (const price of ['1e3', '0x10', '-5', '1,000', '0.0000001', '1000001', 'nan', 'Infinity']) {
    await seller.caller.fails('VAF_INPUT_INVALID', 'market_list', { type: 'insight', title: newName('l'), price });
  }
  for (const price of ['2 hours of review', '0', '', null]) {
    const listingId = await offer(seller, price);
    const { tradeId, amount } = await buyer.caller.ok('market_trade', { listingId });
    expect(amount).toBeNull();
    expect(await buyer.caller.ok('market_trade', { tradeId })).toMatchObject({
      state: 'completed',
      settlement: 'done',
    });
  }
  expect(await purseOf(caller(), buyer.id)).toMatchObject({ spent: 0, pending: 0, available: 1000 });
});

verifies('market:consent', async ({ place }) => {
  const { seller, buyer } = await createTraders(place);
  const context = { consentGiven: false };
  const title = newName('l').replaceAll('-', '');
  await seller.caller.refused('E_CONSENT', 'market_list', { type: 'memory', title, context });
  expect(await seller.caller.ok('market_search', { query: title })).toEqual({ results: [] });
  const listingId = await offer(seller, '5');
  await buyer.caller.refused('E_CONSENT', 'market_trade', { listingId, context });
  expect(await availableOf(buyer.caller, listingId)).toBe(1);
});

verifies('market:bids', async ({ place, caller }) => {
  const { seller, buyer, other } = await createTraders(place);
  const listingId = await offer(seller, '40');
  await seller.caller.refused('E_SELF_TRADE', 'market_bid', { listingId, price: '30' });
  const { id: bidId } = await buyer.caller.ok('market_bid', { listingId, reward: '30' });
  await other.caller.refused('E_NOT_SELLER', 'market_trade', { bidId });
  await other.caller.refused('E_BID_ABSENT', 'market_bid', { bidId, withdraw: true });
  await other.caller.refused('E_LISTING_ABSENT', 'market_bid', { listingId: newName('lst'), price: '30' });
  const trade = await seller.caller.ok('market_trade', { bidId });
  expect(trade).toMatchObject({ buyer: buyer.id, seller: seller.id, amount: 30, state: 'pending', bidId });
  expect(await purseOf(caller(), buyer.id)).toMatchObject({ pending: 30, available: 970 });
  const bids = await buyer.caller.ok('market_getBids', { listingId });
  expect(bids).toMatchObject({ bids: [{ id: bidId, status: 'accepted', tradeId: trade.tradeId }] });
  await seller.caller.refused('E_BID_CLOSED', 'market_trade', { bidId });
  await buyer.caller.refused('E_BID_CLOSED', 'market_bid', { bidId, withdraw: true });
  const { id: asked } = await buyer.caller.ok('market_bid', { title: newName('wish'), price: '3' });
  expect(await buyer.caller.ok('market_bid', { bidId: asked, withdraw: true })).toMatchObject({ status: 'withdrawn' });
  for (const args of [{ listingId, title: 'both' }, { price: '3' }]) {
    await buyer.caller.fails('VAF_INPUT_INVALID', 'market_bid', args);
  }
});

verifies('market:scoped', async ({ place }) => {
  const { workspace, seller, buyer } = await createTraders(place);
  const stranger = memberAt(await createMembers(place, 'admin'), 0);
  const tag = newName('tag');
  const listingId = await offer(seller, '5', { workspace, tags: [tag] });
  await stranger.caller.refused('E_LISTING_ABSENT', 'market_get', { listingId });
  await stranger.caller.refused('E_LISTING_ABSENT', 'market_trade', { listingId });
  expect(await stranger.caller.ok('market_search', { tags: [tag] })).toEqual({ results: [] });
  const found = await buyer.caller.ok('market_search', { tags: [tag] });
  expect(found).toMatchObject({ results: [{ id: listingId, scope: `workspace:${workspace}` }] });
  await buyer.caller.ok('market_bid', { listingId, price: '4' });
  expect(await stranger.caller.ok('market_getBids', { listingId })).toEqual({ bids: [] });
  expect(await buyer.caller.ok('market_getBids', { listingId })).toMatchObject({ bids: [{ bidder: buyer.id }] });
  await stranger.caller.refused('E_SCOPE', 'market_list', { type: 'favor', title: 'x', context: { workspace } });
});

verifies('market:events', async ({ place, socket }) => {
  const { workspace, seller, buyer } = await createTraders(place);
  const operator = await socket({ gateway: 1 });
  const listingId = await offer(seller, '5', { workspace });
  const { id: bidId } = await buyer.caller.ok('market_bid', { listingId, price: '4' });
  await buyer.caller.ok('market_bid', { bidId, withdraw: true });
  const { tradeId } = await buyer.caller.ok('market_trade', { listingId });
  await buyer.caller.ok('market_trade', { tradeId });
  const { tradeId: undone } = await buyer.caller.ok('market_trade', { listingId: await offer(seller, '5') });
  await seller.caller.ok('market_cancelTrade', { tradeId: undone, agentId: seller.id });
  const heard = (field: string, value: unknown) =>
    operator.heard.filter((event) => event[field] === value).map(({ name }) => name);
  await waitFor(() => heard('tradeId', undone).includes('trade:settled'), { what: 'the events of the trades' });
  expect(heard('listingId', listingId).filter((name) => name.startsWith('listing:'))).toEqual([
    'listing:created',
    'listing:sold-out',
  ]);
  expect(heard('bidId', bidId)).toEqual(['bid:placed', 'bid:withdrawn']);
  expect(heard('tradeId', tradeId)).toEqual(['trade:opened', 'trade:completed', 'trade:settled']);
  expect(heard('tradeId', undone)).toEqual(['trade:opened', 'trade:cancelled', 'trade:settled']);
});

verifies('market:scoped:events', async ({ place, socket }) => {
  const { workspace, seller, buyer, other } = await createTraders(place);
  const stranger = memberAt(await createMembers(place, 'admin'), 0);
  const listen = (one: WorkspaceMember) =>
    socket({ gateway: 1, auth: { token: one.caller.headers()['x-habitat-token'] ?? '' } });
  const [ofStranger, ofOther, ofBuyer] = await Promise.all([listen(stranger), listen(other), listen(buyer)]);
  const listingId = await offer(seller, '5', { workspace });
  const { id: bidId } = await buyer.caller.ok('market_bid', { listingId, price: '4' });
  await buyer.caller.ok('market_bid', { bidId, withdraw: true });
  const { tradeId } = await buyer.caller.ok('market_trade', { listingId });
  await buyer.caller.ok('market_trade', { tradeId });
  // For everybody: whoever hears it has heard whatever was told before.
  const last = await offer(seller, '5');
  const told = ({ heard }: EventSocket) =>
    heard
      .filter((event) => [listingId, bidId, tradeId].some((id) => Object.values(event).includes(id)))
      .map(({ name }) => name);
  for (const ears of [ofStranger, ofOther, ofBuyer]) {
    await waitFor(() => ears.heard.some((event) => event['listingId'] === last), { what: 'the last offer' });
  }
  const ofOffers = ['listing:created', 'bid:placed', 'bid:withdrawn', 'listing:sold-out'];
  expect(told(ofStranger)).toEqual([]);
  expect(told(ofOther)).toEqual(ofOffers);
  expect(told(ofBuyer)).toEqual([...ofOffers, 'trade:opened', 'trade:completed', 'trade:settled']);
});
