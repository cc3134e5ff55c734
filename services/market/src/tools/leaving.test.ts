/** Members who leave the workspace, and are identities still, while something of theirs is on its market or paid by its pool. */
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { serveMarket } from '../../testing/served-market.ts';

const { bed, client, call, habitat } = await serveMarket();
const WORKSPACE = 'guild';
const MEMBERSHIP = { workspaceId: WORKSPACE, role: 'editor', userId: 'member' };

beforeAll(async () => {
  await call('market_skill_gate', { value: true });
  await habitat('svc_habitat_createWorkspace', { workspaceId: WORKSPACE, options: { owner: 'master' } });
  await habitat('svc_habitat_createWorkspace', { workspaceId: 'home', options: { owner: 'member' } });
});

beforeEach(async () => {
  await habitat('svc_habitat_addRole', MEMBERSHIP);
  await bed.escrow('escrow_setWorkspaceBudget', { workspaceId: WORKSPACE, amount: 1000, adminId: 'master' });
});

const leaves = () => habitat('svc_habitat_removeRole', MEMBERSHIP);
/** With a token of its own. */
const member: Partial<Envelope> = {
  subject: { userId: 'member', agentId: 'member', workspace: 'home', verified: true },
  operator: false,
  principal: 'tok:member',
};
const offered = async (seller: string, context: Fields = {}, tool = 'market_list'): Promise<string> => {
  const type = tool === 'market_list' ? { type: 'favor' } : {};
  return String((await call(tool, { ...type, title: 'a favor', price: '2', context: { seller, ...context } }))['id']);
};
const boughtFromPool = async (over: Partial<Envelope> = member): Promise<string> => {
  const wish = { listingId: await offered('outsider'), buyerId: 'member', workspace: WORKSPACE };
  return String((await call('market_trade', wish, over))['tradeId']);
};
const spent = async () => {
  const { pool } = (await bed.escrow('escrow_getWorkspacePool', { workspaceId: WORKSPACE })) as { pool: Fields };
  return [pool['spent'], pool['pending']];
};

test('who has left a workspace sells nothing there meanwhile', async () => {
  const [plain, skill] = [
    await offered('member', { workspace: WORKSPACE }),
    await offered('member', { workspace: WORKSPACE }, 'market_skill_list'),
  ];
  const elsewhere = await offered('member');
  await leaves();
  const buy = (listingId: string, tool = 'market_trade') => call(tool, { listingId, buyerId: 'master' });
  expect(await buy(plain)).toMatchObject({ code: 'E_SOLD_OUT', reason: expect.any(String) });
  expect(await buy(skill, 'market_skill_buy')).toMatchObject({ code: 'E_SOLD_OUT' });
  expect(await buy(elsewhere)).toMatchObject({ state: 'pending' });
  await habitat('svc_habitat_addRole', MEMBERSHIP);
  expect(await buy(plain)).toMatchObject({ state: 'pending' });
});

test('who has left a workspace pays nobody out of its pool any more', async () => {
  const [confirmed, waiting] = [await boughtFromPool(), await boughtFromPool()];
  const own = String((await call('market_trade', { listingId: await offered('outsider') }, member))['tradeId']);
  const before = await spent();
  expect(before[1]).toBe(4);
  await leaves();
  const refused = await call('market_trade', { tradeId: confirmed }, member);
  expect(refused).toMatchObject({ code: 'E_TRADE_CLOSED', state: 'cancelled' });
  await client.$executeRawUnsafe('UPDATE market.trades SET due_at = now() WHERE trade_id = $1', waiting);
  await bed.reconciler.closeDue('plain');
  await expect
    .poll(() => call('market_getTrade', { tradeId: waiting }))
    .toMatchObject({
      state: 'cancelled',
      settlement: 'done',
    });
  expect(await spent()).toEqual([before[0], 0]);
  expect(await call('market_trade', { tradeId: own }, member)).toMatchObject({ state: 'completed' });
});

test('what was delivered before its buyer left is paid out of the pool', async () => {
  const listingId = await offered('outsider', { supply: 2 }, 'market_skill_list');
  const wish = { listingId, buyerId: 'member', workspace: WORKSPACE };
  const buy = async () => (await call('market_skill_buy', wish, member))['tradeId'];
  const deliver = (tradeId: unknown) => call('market_skill_deliver', { tradeId, payload: 1, agentId: 'outsider' });
  const [delivered, late] = [await buy(), await buy()];
  expect(await deliver(delivered)).toMatchObject({ state: 'delivered' });
  await leaves();
  expect(await deliver(late)).toMatchObject({ code: 'E_SKILL_CANCELLED' });
  const settle = { tradeId: delivered, decision: 'confirm' };
  expect(await call('market_skill_settle', settle, member)).toMatchObject({ state: 'confirmed', debited: 2 });
});

test('what an operator has bought for somebody who holds no role there is paid', async () => {
  await leaves();
  const tradeId = await boughtFromPool({});
  expect(await call('market_trade', { tradeId, buyerId: 'member' })).toMatchObject({ state: 'completed' });
});
