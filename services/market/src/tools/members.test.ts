/** What is traded in a workspace, and what time has decided though nobody has looked: what each caller is told of it. */
import type { Envelope } from '@svc/contract/rpc.ts';
import type { Fields } from '@svc/testing/service-bed.ts';
import { beforeAll, expect, test } from 'vitest';
import { serveMarket } from '../../testing/served-market.ts';

const { bed, client, call, habitat } = await serveMarket();
const WORKSPACE = 'guild';

beforeAll(async () => {
  await call('market_skill_gate', { value: true });
  await habitat('svc_habitat_createWorkspace', { workspaceId: WORKSPACE, options: { owner: 'master' } });
  await habitat('svc_habitat_addRole', { workspaceId: WORKSPACE, role: 'editor', userId: 'member' });
  for (const org of ['member', 'stranger']) await bed.escrow('escrow_create', { org, budget: 100 });
});

const offered = async (context: Fields, tool = 'market_list'): Promise<string> => {
  const type = tool === 'market_list' ? { type: 'favor' } : {};
  const { id } = await call(tool, { ...type, title: 'a favor', price: '2', context: { seller: 'master', ...context } });
  return String(id);
};

test('what is traded in a workspace is told of there', async () => {
  const listingId = await offered({ workspace: WORKSPACE });
  const { tradeId } = await call('market_trade', { listingId, buyerId: 'member' });
  await call('market_trade', { tradeId, buyerId: 'member' });
  const told = await client.$queryRawUnsafe<{ name: string; workspace: string | null }[]>(
    `SELECT name, workspace FROM market.outbox WHERE payload->>'tradeId' = $1 ORDER BY written, line`,
    tradeId,
  );
  const names = ['trade:opened', 'trade:completed', 'trade:settled'];
  expect(told).toEqual(names.map((name) => ({ name, workspace: WORKSPACE })));
});

test('a trade of a workspace that bears a word which every object has is there for its members alone', async () => {
  await habitat('svc_habitat_createWorkspace', { workspaceId: 'constructor', options: { owner: 'master' } });
  await habitat('svc_habitat_addRole', { workspaceId: 'constructor', role: 'editor', userId: 'member' });
  const listingId = await offered({ workspace: 'constructor' });
  const { tradeId } = await call('market_trade', { listingId, buyerId: 'member' });
  const seenBy = (agentId: string) =>
    call('market_getTrade', { tradeId }, { subject: { userId: agentId, agentId, verified: true }, operator: false });
  expect(await seenBy('member')).toMatchObject({ tradeId });
  expect(await seenBy('stranger')).toMatchObject({ code: 'E_TRADE_ABSENT' });
});

test('a bid of somebody who has left the workspace since is not accepted any more', async () => {
  const listingId = await offered({ workspace: WORKSPACE, supply: 2 });
  const bid = async () => String((await call('market_bid', { listingId, bidderId: 'member', price: '1' }))['id']);
  const [first, second] = [await bid(), await bid()];
  expect(await call('market_trade', { bidId: first, sellerId: 'master' })).toMatchObject({ buyer: 'member' });
  await habitat('svc_habitat_removeRole', { workspaceId: WORKSPACE, role: 'editor', userId: 'member' });
  const refused = await call('market_trade', { bidId: second, sellerId: 'master' });
  expect(refused).toMatchObject({ code: 'E_BID_CLOSED', reason: expect.any(String) });
  expect(await call('market_getBids', { listingId, status: 'open' })).toMatchObject({ bids: [{ id: second }] });
  await habitat('svc_habitat_addRole', { workspaceId: WORKSPACE, role: 'editor', userId: 'member' });
});

test('supply is asked for before the purse of a workspace is', async () => {
  const token = { tokenId: 'tok', bound: 'elsewhere', readOnly: false, profile: null, expiresAt: Date.now() + 60_000 };
  const listingId = await offered({});
  const subject = { userId: 'stranger', agentId: 'stranger', workspace: 'default', verified: true };
  const over = { subject, operator: false, token };
  const buy = () => call('market_trade', { listingId, buyerId: 'stranger', workspace: WORKSPACE }, over);
  expect(await buy()).toMatchObject({ code: 'E_UNKNOWN_WORKSPACE' });
  expect(await call('market_trade', { listingId, buyerId: 'member' })).toMatchObject({ state: 'pending' });
  expect(await buy()).toMatchObject({ code: 'E_SOLD_OUT' });
});

test('a bound token pays out of the pool of its workspace, and nothing of what its agent has itself', async () => {
  const token = { tokenId: 'tok', bound: WORKSPACE, readOnly: false, profile: null, expiresAt: Date.now() + 60_000 };
  const subject = { userId: 'member', agentId: 'member', workspace: WORKSPACE, verified: true };
  const over = { subject, operator: false, principal: 'tok:member', token };
  await bed.escrow('escrow_setWorkspaceBudget', { workspaceId: WORKSPACE, amount: 10, adminId: 'master' });
  const listingId = await offered({ seller: 'outsider', supply: 3 });
  expect(await call('market_trade', { listingId }, over)).toMatchObject({ code: 'E_BUDGET', reason: 'bound_token' });
  expect(await call('market_trade', { listingId, workspace: WORKSPACE }, over)).toMatchObject({ state: 'pending' });
  await expect(call('market_bid', { listingId, price: '1' }, over)).rejects.toThrow('FORBIDDEN');
  expect(await call('market_bid', { listingId, price: 'two hours' }, over)).toMatchObject({ status: 'open' });
  expect(await call('market_trade', { listingId }, { ...over, token: { ...token, bound: null } })).toMatchObject({
    buyer: 'member',
  });
});

test('of what others trade with each other nobody counts anything', async () => {
  const as = (agentId: string) => ({
    subject: { userId: agentId, agentId, workspace: 'default', verified: true },
    operator: false,
    principal: `tok:${agentId}`,
  });
  const counted = async (over: Partial<Envelope>) => {
    const { trades, volume } = await call('market_stats', {}, over);
    return [(trades as Fields).completed, volume];
  };
  const strangers = [as('bystander'), { subject: {}, operator: false, principal: 'anon:::1' }];
  const [all, theirs] = [await counted({}), await counted(as('stranger'))];
  const others = await Promise.all(strangers.map(counted));
  const { tradeId } = await call('market_trade', { listingId: await offered({}), buyerId: 'stranger' });
  await call('market_trade', { tradeId, buyerId: 'stranger' });
  expect(await Promise.all(strangers.map(counted))).toEqual(others);
  for (const [before, over] of [
    [all, {}],
    [theirs, as('stranger')],
  ] as const) {
    expect(await counted(over)).toEqual([Number(before[0]) + 1, Number(before[1]) + 2]);
  }
});

test('what was not delivered in time can be bought again for whoever looks, before anybody sweeps', async () => {
  const listingId = await offered({ seller: 'tardy' }, 'market_skill_list');
  const { tradeId } = await call('market_skill_buy', { listingId, buyerId: 'member' });
  const shown = async () => {
    const { results } = await call('market_search', { seller: 'tardy' });
    const { active } = await call('market_stats', {});
    const { openTrades, ...status } = await call('market_skill_status', { listingId });
    const seen = [await call('market_get', { listingId }), status, ...(results as Fields[])];
    return { seen: seen.map(({ taken, available, status: is }) => [taken, available, is]), openTrades, active };
  };
  const before = await shown();
  expect(before).toMatchObject({ seen: Array.from({ length: 3 }, () => [1, 0, 'sold_out']), openTrades: 1 });
  await client.$executeRawUnsafe(`UPDATE market.trades SET due_at = now() WHERE trade_id = $1`, tradeId);
  const after = await shown();
  expect(after).toMatchObject({ seen: Array.from({ length: 3 }, () => [0, 1, 'active']), openTrades: 0 });
  expect(Number(after.active)).toBe(Number(before.active) + 1);
  const rows = await client.$queryRawUnsafe<{ state: string }[]>(
    'SELECT state FROM market.trades WHERE trade_id = $1',
    tradeId,
  );
  expect(rows).toEqual([{ state: 'pending_delivery' }]);
  expect(await call('market_skill_buy', { listingId, buyerId: 'stranger' })).toMatchObject({ held: true });
});

test('with a bound token nobody is content with what was bought out of another purse', async () => {
  const token = { tokenId: 'tok', bound: WORKSPACE, readOnly: false, profile: null, expiresAt: Date.now() + 60_000 };
  const subject = { userId: 'member', agentId: 'member', workspace: WORKSPACE, verified: true };
  const bound = { operator: false, subject, token };
  const elsewhere = { ...bound, token: { ...token, bound: 'elsewhere' } };
  await bed.escrow('escrow_setWorkspaceBudget', { workspaceId: WORKSPACE, amount: 100, adminId: 'master' });
  const delivered = async (over: Fields): Promise<Fields> => {
    const listingId = await offered({}, 'market_skill_list');
    const { tradeId } = await call('market_skill_buy', { listingId, buyerId: 'member', ...over });
    await call('market_skill_deliver', { tradeId, payload: 1, agentId: 'master' });
    return { tradeId, decision: 'confirm' };
  };
  const bought = async (over: Fields): Promise<Fields> => {
    const { tradeId } = await call('market_trade', { listingId: await offered({}), buyerId: 'member', ...over });
    return { tradeId };
  };
  const pool = { workspace: WORKSPACE };
  for (const [tool, own, pooled] of [
    ['market_trade', await bought({}), await bought(pool)],
    ['market_skill_settle', await delivered({}), await delivered(pool)],
  ] as const) {
    expect(await call(tool, own, bound), tool).toMatchObject({ code: 'E_BUDGET', reason: 'bound_token' });
    expect(await call(tool, pooled, elsewhere), tool).toMatchObject({ code: 'E_UNKNOWN_WORKSPACE' });
    expect(await call(tool, pooled, bound), tool).not.toHaveProperty('code');
    expect(await call(tool, own, { ...bound, token: { ...token, bound: null } }), tool).not.toHaveProperty('code');
  }
});
