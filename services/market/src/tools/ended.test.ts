/** Agents that are killed, or lose their last role, while something of theirs is on the market. */
import { beforeAll, expect, test } from 'vitest';
import { OPEN_AT_ONCE } from '../domain/offer.ts';
import { serveMarket } from '../../testing/served-market.ts';

const { bed, client, call, habitat } = await serveMarket();
beforeAll(async () => {
  await call('market_skill_gate', { value: true });
});

let teams = 0;
async function agent(): Promise<string> {
  teams += 1;
  return String((await habitat('agent_spawn', { team: `t${teams}` })).agentId);
}
const kill = (id: string) => habitat('agent_kill', { id });
const budget = async (org: string) => (await bed.escrow('escrow_status', { org })).budget;

async function offered(seller: string, tool = 'market_list'): Promise<string> {
  const type = tool === 'market_list' ? { type: 'favor' } : {};
  return String((await call(tool, { ...type, title: 'a favor', price: '2', context: { seller, supply: 5 } })).id);
}
const bought = async (listingId: string, buyerId: string): Promise<string> =>
  String((await call('market_trade', { listingId, buyerId })).tradeId);
/** The service has a timer of its own, which may come at once. */
const due = (...tradeIds: string[]) =>
  client.$executeRawUnsafe('UPDATE market.trades SET due_at = now() WHERE trade_id = ANY($1::text[])', tradeIds);

test('what a killed agent offers is sold to nobody, and is shown as sold out', async () => {
  const [seller, buyer] = [await agent(), await agent()];
  const [plain, skill] = [await offered(seller), await offered(seller, 'market_skill_list')];
  await kill(seller);
  expect(await call('market_trade', { listingId: plain, buyerId: buyer })).toMatchObject({ code: 'E_SOLD_OUT' });
  expect(await call('market_skill_buy', { listingId: skill, buyerId: buyer })).toMatchObject({ code: 'E_SOLD_OUT' });
  for (const listingId of [plain, skill]) {
    expect(await call('market_get', { listingId })).toMatchObject({ status: 'sold_out', available: 0 });
  }
});

test('who bears a word that every object has sells and buys like anybody', async () => {
  const other = await agent();
  for (const id of ['constructor', 'toString']) {
    const listingId = await offered(id);
    expect(await call('market_trade', { listingId, buyerId: other }), id).toMatchObject({ state: 'pending' });
    const theirs = await offered(other);
    expect(await call('market_trade', { listingId: theirs, buyerId: id }), id).toMatchObject({ state: 'pending' });
  }
});

test('who has lost its last role sells nothing meanwhile', async () => {
  const [seller, buyer] = [await agent(), await agent()];
  const listingId = await offered(seller);
  const role = { workspaceId: `org-t${teams - 1}`, role: 'admin', userId: seller };
  await habitat('svc_habitat_addRole', { ...role, userId: 'keeper' });
  await habitat('svc_habitat_removeRole', role);
  expect(await call('market_trade', { listingId, buyerId: buyer })).toMatchObject({ code: 'E_SOLD_OUT' });
  await habitat('svc_habitat_addRole', role);
  expect(await call('market_trade', { listingId, buyerId: buyer })).toMatchObject({ state: 'pending' });
});

test('nobody buys or sells for a killed agent, and its bids are accepted no more', async () => {
  const [seller, dead] = [await agent(), await agent()];
  const listings = [await offered(seller), await offered(seller, 'market_skill_list')];
  const place = async (bidderId: string) => (await call('market_bid', { title: 'w', price: '7', bidderId })).id;
  const [theirs, others] = [await place(dead), await place(seller)];
  await kill(dead);
  expect(await call('market_trade', { bidId: theirs, sellerId: seller })).toMatchObject({ code: 'E_BID_CLOSED' });
  expect(await call('market_trade', { bidId: others, sellerId: dead })).toMatchObject({ code: 'E_NO_AGENT' });
  for (const [at, tool] of (['market_trade', 'market_skill_buy'] as const).entries()) {
    expect(await call(tool, { listingId: listings[at], buyerId: dead })).toMatchObject({ code: 'E_NO_AGENT' });
  }
});

test('time charges no killed buyer, and pays no killed seller', async () => {
  for (const ends of ['buyer', 'seller'] as const) {
    const parties = { seller: await agent(), buyer: await agent() };
    const listingId = await offered(parties.seller);
    const [looked, swept] = [await bought(listingId, parties.buyer), await bought(listingId, parties.buyer)];
    await kill(parties[ends]);
    await due(looked, swept);
    const shown = { state: 'cancelled', closedBy: 'timer', settlement: 'done' };
    await bed.reconciler.closeDue('plain');
    for (const tradeId of [looked, swept]) {
      await expect.poll(() => call('market_getTrade', { tradeId })).toMatchObject(shown);
    }
    expect(await budget(parties.buyer)).toMatchObject({ spent: 0, pending: 0 });
  }
});

test('a buyer who is content pays no killed seller', async () => {
  const parties = { seller: await agent(), buyer: await agent() };
  const listingId = await offered(parties.seller);
  const [before, after] = [await bought(listingId, parties.buyer), await bought(listingId, parties.buyer)];
  const confirm = (tradeId: string) => call('market_trade', { tradeId, buyerId: parties.buyer });
  expect(await confirm(before)).toMatchObject({ state: 'completed', closedBy: 'buyer' });
  await kill(parties.seller);
  expect(await confirm(after)).toMatchObject({ code: 'E_TRADE_CLOSED', state: 'cancelled' });
  expect(await confirm(before)).toMatchObject({ code: 'E_TRADE_CLOSED', state: 'completed' });
  expect(await budget(parties.buyer)).toMatchObject({ spent: 2, pending: 0 });
  expect(await budget(parties.seller)).toMatchObject({ earned: 2 });
});

test('nothing is delivered to a killed buyer; what was delivered before is paid', async () => {
  const [seller, buyer] = [await agent(), await agent()];
  const listingId = await offered(seller, 'market_skill_list');
  const buy = async () => (await call('market_skill_buy', { listingId, buyerId: buyer })).tradeId;
  const deliver = (tradeId: unknown) => call('market_skill_deliver', { tradeId, payload: 1, agentId: seller });
  const [before, after] = [await buy(), await buy()];
  expect(await deliver(before)).toMatchObject({ state: 'delivered' });
  await kill(buyer);
  expect(await deliver(after)).toMatchObject({ code: 'E_SKILL_CANCELLED' });
  expect(await budget(buyer)).toMatchObject({ spent: 0, pending: 2 });
  await client.$executeRawUnsafe('UPDATE market.trades SET due_at = now() WHERE trade_id = $1', before);
  expect(await call('market_getTrade', { tradeId: before })).toMatchObject({ state: 'confirmed', settlement: 'done' });
  expect(await budget(buyer)).toMatchObject({ spent: 2, pending: 0 });
});

test('what killed agents offered keeps nobody of their family from offering something', async () => {
  const [parent, dead, alive] = [await agent(), await agent(), await agent()];
  const offer = (tool = 'market_list') =>
    call(
      tool,
      { ...(tool === 'market_list' ? { type: 'favor' } : {}), title: 'one more' },
      { subject: { agentId: parent, verified: true }, operator: false, principal: parent },
    );
  const [ofAlive, ofDead] = [await offered(alive), await offered(dead)];
  await client.$executeRawUnsafe(
    `INSERT INTO market.listings (listing_id, type, title, description, tags, amount, supply, seller, created_at, family,
       folded_title, folded)
     SELECT 'lst_e' || n, 'favor', 'x', '', '{}', 0, 1, $1, now(), $1, 'x', 'x' FROM generate_series(3, $2) n`,
    dead,
    OPEN_AT_ONCE,
  );
  await client.$executeRawUnsafe(
    'UPDATE market.listings SET family = $1 WHERE seller IN ($2, $3)',
    parent,
    dead,
    alive,
  );
  expect(await offer()).toMatchObject({ code: 'E_QUOTA', limit: OPEN_AT_ONCE });
  await kill(dead);
  expect(await offer()).toMatchObject({ status: 'active', seller: parent });
  expect(await offer('market_skill_list')).toMatchObject({ status: 'active', seller: parent });
  expect(await call('market_get', { listingId: ofDead })).toMatchObject({ status: 'sold_out' });
  expect(await call('market_get', { listingId: ofAlive })).toMatchObject({ status: 'active' });
});
