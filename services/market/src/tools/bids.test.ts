/** What a bid tells, and to whom. */
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { expect, test } from 'vitest';
import { serveMarket } from '../../testing/served-market.ts';

const { bed, call } = await serveMarket();

test('who accepts the bid of somebody who cannot pay learns nothing of that purse', async () => {
  await bed.escrow('escrow_create', { org: 'poor', budget: 3 });
  const context = { seller: 'curious' };
  const { id: listingId } = await call('market_list', { type: 'favor', title: 'a favor', price: '10', context });
  const { id: bidId } = await call('market_bid', { listingId, bidderId: 'poor', price: '5' });
  const refused = await call('market_trade', { bidId, sellerId: 'curious' });
  expect(refused).toMatchObject({ code: 'E_BUDGET' });
  expect(Object.keys(refused).toSorted()).toEqual(['code', 'error']);
  expect(await call('market_trade', { listingId, buyerId: 'poor' })).toMatchObject({ code: 'E_BUDGET', available: 3 });
  expect(await call('market_getBids', { listingId })).toMatchObject({ bids: [{ id: bidId, status: 'open' }] });
  expect(await call('market_get', { listingId })).toMatchObject({ available: 1 });
});

test('an operator bids on what a workspace shares only as somebody of it', async () => {
  const workspaceId = 'closed-circle';
  await callTool(bed.platform.bus, 'habitat', 'svc_habitat_createWorkspace', {
    workspaceId,
    options: { owner: 'insider' },
  });
  const context = { seller: 'insider', workspace: workspaceId };
  const { id: listingId } = await call('market_list', { type: 'favor', title: 'a secret', price: '1', context });
  expect(await call('market_bid', { listingId, bidderId: 'outsider', price: '1' })).toMatchObject({
    code: 'E_LISTING_ABSENT',
  });
  expect(await call('market_getBids', { listingId })).toMatchObject({ bids: [] });
});

test.each([
  ['market_cancelTrade', 'tradeId'],
  ['market_trade', 'listingId'],
  ['market_trade', 'bidId'],
  ['market_get', 'listingId'],
])('%s takes no %s that is no text, and those who come with it are answered', async (tool, field) => {
  const buying = field === 'bidId' ? 'sellerId' : 'buyerId';
  const agent = { market_cancelTrade: 'agentId', market_trade: buying, market_get: 'viewerId' }[tool] ?? '';
  const ask = (id: string): Promise<Fields> => call(tool, { [field]: id, [agent]: 'somebody' });
  const [bad, ...good] = await Promise.allSettled([ask('nul\0'), ask('nobody1'), ask('nobody2')]);
  expect(bad).toMatchObject({ status: 'rejected', reason: { message: 'VAF_INPUT_INVALID' } });
  for (const one of good) expect(one).toMatchObject({ value: { code: expect.stringMatching(/_ABSENT$/) } });
});
