/** What is refused only when much is there, or when something is broken. */
import { setImmediate } from 'node:timers/promises';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { beforeAll, expect, test } from 'vitest';
import { OPEN_AT_ONCE } from '../domain/offer.ts';
import { HOLD_GRACE_MS } from '../domain/trade.ts';
import { serveMarket } from '../../testing/served-market.ts';

const { bed, client, call } = await serveMarket();

/** The setting takes no more. */
const LONGEST_MS = 2_592_000_000;

beforeAll(async () => {
  await call('market_skill_gate', { value: true });
});

test('what was offered or refused under a key stays so, whatever is open now', async () => {
  const under = (key: string, tool: string, args: Fields) =>
    callTool(bed.platform.bus, 'market', tool, args, { idempotencyKey: key }).then(({ fields }) => fields);
  const skill = { title: 'knots', context: { seller: 'ada' } };
  const offered = await under('open', 'market_skill_list', skill);
  expect(offered).toMatchObject({ title: 'knots' });
  await call('market_skill_gate', { value: false });
  expect(await under('open', 'market_skill_list', skill)).toEqual(offered);
  expect(await under('shut', 'market_skill_list', skill)).toMatchObject({ code: 'E_SKILL_DISABLED' });
  await call('market_skill_gate', { value: true });
  expect(await under('shut', 'market_skill_list', skill)).toMatchObject({ code: 'E_SKILL_DISABLED' });
  const own = { listingId: offered['id'], bidderId: 'ada' };
  for (const _ of [1, 2]) expect(await under('own', 'market_bid', own)).toMatchObject({ code: 'E_SELF_TRADE' });
});

test('one family has so many offers and bids open at once, and no more', async () => {
  const by = 'busy';
  await client.$executeRawUnsafe(
    `INSERT INTO market.listings (listing_id, type, title, description, tags, amount, supply, seller, created_at, family,
       folded_title, folded)
     SELECT 'lst_q' || n, 'favor', 'x', '', '{}', 0, 1, $1, now(), $1, 'x', 'x' FROM generate_series(2, $2) n`,
    by,
    OPEN_AT_ONCE,
  );
  await client.$executeRawUnsafe(
    `INSERT INTO market.bids (bid_id, title, description, tags, amount, bidder, family, status, expires_at, created_at)
     SELECT 'bid_q' || n, 'x', '', '{}', 0, $1, $1, 'open', now() + interval '1 hour', now()
     FROM generate_series(2, $2) n`,
    by,
    OPEN_AT_ONCE,
  );
  const context = { seller: by };
  const offers = await Promise.all(
    Array.from({ length: 4 }, () => call('market_list', { type: 'favor', title: 'the last', context })),
  );
  expect(offers.filter(({ code }) => code === 'E_QUOTA')).toHaveLength(3);
  expect(await call('market_skill_list', { title: 'more', context })).toMatchObject({ code: 'E_QUOTA' });
  const bids = await Promise.all(
    Array.from({ length: 4 }, () => call('market_bid', { title: 'wanted', bidderId: by })),
  );
  expect(bids.filter(({ code }) => code === 'E_QUOTA')).toHaveLength(3);
});

test('one family has so many trades open as buyer, and no more', async () => {
  const by = 'hoarder';
  await client.$executeRawUnsafe(
    `INSERT INTO market.trades (trade_id, kind, seller, buyer, buyer_family, amount, operator, state, settlement, created_at,
       due_at, window_ms, unsettled, tried_at)
     SELECT 'trd_q' || n, 'plain', 'x', $1, $1, 0, true, 'pending', 'none', now(), now() + interval '1 hour', 1000, 'confirm', now()
     FROM generate_series(1, $2) n`,
    by,
    OPEN_AT_ONCE,
  );
  const context = { seller: 'shop' };
  const refused = { code: 'E_QUOTA', limit: OPEN_AT_ONCE };
  const { id: listingId } = await call('market_list', { type: 'favor', title: 'a favor', context });
  expect(await call('market_trade', { listingId, buyerId: by })).toMatchObject(refused);
  const { id: skill } = await call('market_skill_list', { title: 'a skill', context });
  expect(await call('market_skill_buy', { listingId: skill, buyerId: by })).toMatchObject(refused);
  await client.$executeRawUnsafe(`DELETE FROM market.trades WHERE buyer = $1`, by);
});

test('a frozen account buys nothing, and leaves nothing behind', async () => {
  await bed.escrow('escrow_create', { org: 'frozen', budget: 100 });
  await client.$executeRawUnsafe(
    `UPDATE escrow.accounts SET frozen_at = now(), frozen_for = 'test' WHERE account_id = 'frozen'`,
  );
  const context = { seller: 'honest' };
  const { id: listingId } = await call('market_list', { type: 'favor', title: 'a favor', price: '1', context });
  const { id: skill } = await call('market_skill_list', { title: 'a skill', price: '1', context });
  for (const [tool, id] of [
    ['market_trade', listingId],
    ['market_skill_buy', skill],
  ] as const) {
    expect(await call(tool, { listingId: id, buyerId: 'frozen' })).toMatchObject({ code: 'E_LEDGER_FROZEN' });
  }
  expect(await call('market_search', { seller: 'honest' })).toMatchObject({ results: [{ taken: 0 }, { taken: 0 }] });
});

test('a skill may take as long as any, and its price is held beyond both of its times', async () => {
  const registry = createOperationClient(bed.platform, HABITAT, 'market');
  const by = { by: 'operator', operator: true, idempotency: null };
  await registry.changeSetting({ key: 'market.skillsTradeTtlMs', value: LONGEST_MS, ...by });
  await bed.escrow('escrow_create', { org: 'patient', budget: 100 });
  const context = { seller: 'slow' };
  const { id: listingId } = await call('market_skill_list', { title: 'a slow one', price: '1', context });
  const bought = await call('market_skill_buy', { listingId, buyerId: 'patient' });
  expect(bought).toMatchObject({ state: 'pending_delivery', held: true });
  const holdId = String(bought['holdId']);
  const { holds } = await bed.ports.money.states({ holdIds: [holdId] });
  const hold = holds[holdId];
  expect(hold).toMatchObject({ state: 'held', amount: 1 });
  expect(hold?.expiresAt).toBeGreaterThanOrEqual(Number(bought['deliverBy']) + LONGEST_MS + HOLD_GRACE_MS);
  await registry.changeSetting({ key: 'market.skillsTradeTtlMs', value: null, ...by });
});

test('a token acts as its agent and as nobody else', async () => {
  const as = { subject: { userId: 'ann', agentId: 'ann', workspace: 'default', verified: true }, operator: false };
  const asked: readonly (readonly [string, Fields])[] = [
    ['market_list', { type: 'favor', title: 'x', context: { seller: 'bob' } }],
    ['market_bid', { title: 'x', bidderId: 'bob' }],
    ['market_trade', { listingId: 'lst_x', buyerId: 'bob' }],
    ['market_get', { listingId: 'lst_x', viewerId: 'bob' }],
    ['market_cancelTrade', { tradeId: 'trd_x', agentId: 'bob' }],
    ['market_skill_list', { title: 'x', context: { seller: 'bob' } }],
    ['market_skill_buy', { listingId: 'lst_x', buyerId: 'bob' }],
    ['market_skill_deliver', { tradeId: 'trd_x', payload: 1, agentId: 'bob' }],
    ['market_skill_settle', { tradeId: 'trd_x', decision: 'confirm', agentId: 'bob' }],
  ];
  for (const [tool, args] of asked) {
    await expect(callTool(bed.platform.bus, 'market', tool, args, as), tool).rejects.toThrow('FORBIDDEN');
  }
});

test.each([{ '\ud800': 1 }, ['\udc00'], { in: { it: 'a\ud800b' } }])(
  'a skill that nobody could hash alike is none: %j',
  async (payload) => {
    const delivering = call('market_skill_deliver', { tradeId: 'trd_x', payload, agentId: 'ada' });
    await expect(delivering).rejects.toThrow('VAF_INPUT_INVALID');
  },
);

test('twins of a purchase that is refused for its price all hear that, and nothing is left of them', async () => {
  await bed.escrow('escrow_create', { org: 'poor', budget: 5 });
  const context = { seller: 'rich', supply: 1000 };
  const { id: listingId } = await call('market_list', { type: 'favor', title: 'dear', price: '10', context });
  for (let round = 0; round < 10; round += 1) {
    const key = { idempotencyKey: `dear${round}` };
    const twin = async (n: number): Promise<unknown> => {
      // Some come while the first of them is undone.
      for (let turn = 0; turn < 4 * n; turn += 1) await setImmediate();
      const wish = { listingId, buyerId: 'poor' };
      return (await callTool(bed.platform.bus, 'market', 'market_trade', wish, key)).fields['code'];
    };
    const heard = await Promise.all(Array.from({ length: 12 }, (_, n) => twin(n)));
    expect(heard).toEqual(heard.map(() => 'E_BUDGET'));
  }
  expect(await call('market_get', { listingId })).toMatchObject({ taken: 0 });
  expect(await bed.escrow('escrow_status', { org: 'poor' })).toMatchObject({ budget: { pending: 0 } });
});

test('who buys of a brother or sister is told that it is of one family', async () => {
  const spawned = async (over: Partial<Envelope> = {}): Promise<string> =>
    String((await callTool(bed.platform.bus, 'habitat', 'agent_spawn', { team: 'kin' }, over)).fields['agentId']);
  const agentId = await spawned();
  const subject = { agentId, userId: agentId, workspace: 'org-kin', verified: true };
  const parent = { subject, operator: false, principal: `tok:${agentId}` };
  const [seller, buyerId] = [await spawned(parent), await spawned(parent)];
  const { id: listingId } = await call('market_list', { type: 'favor', title: 'a favor', context: { seller } });
  const refused = await call('market_trade', { listingId, buyerId });
  expect(refused).toMatchObject({ code: 'E_SELF_TRADE', error: expect.stringContaining('family') });
});
