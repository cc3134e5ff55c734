/** What time decides, and the gate: where nobody else trades, and windows are made short for a while. */
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { withSettings } from '../instruments/node-settings.ts';
import { availableOf, buySkill, createTraders, offer, offerSkill, purseOf } from '../instruments/traders.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget();
const on = { on: target };

/** `null` = as it is by itself; each scenario leaves it so. */
const set = (operator: Caller, key: string, value: unknown) => operator.ok('svc_config_set', { key, value });

verifies(
  'market:skill:gate',
  async ({ place, socket }) => {
    const operator = new Caller(place);
    const { seller, buyer } = await createTraders(place);
    const gate = (args = {}) => operator.ok('market_skill_gate', args);
    await set(operator, 'market.skillsEnabled', null);
    expect(await gate()).toEqual({ enabled: false, source: 'default', changed: false });
    await seller.caller.refused('E_SKILL_DISABLED', 'market_skill_list', { title: newName('s') });
    await seller.caller.fails('FORBIDDEN', 'market_skill_gate', { value: true });
    const ears = await socket();
    const elsewhere = operator.with({ gateway: 1 });
    const keyed = { headers: { 'idempotency-key': newName('key') } };
    const opened = { enabled: true, source: 'node', changed: true };
    expect(await operator.ok('market_skill_gate', { value: true }, keyed)).toEqual(opened);
    expect(await elsewhere.ok('market_skill_gate')).toMatchObject({ enabled: true });
    expect(await elsewhere.ok('market_skill_gate', { value: true }, keyed)).toEqual(opened);
    expect(await gate({ value: true })).toMatchObject({ enabled: true, changed: false });
    const listingId = await offerSkill(seller, '60', { supply: 2 });
    const tradeId = await buySkill(buyer, listingId);
    expect(await set(operator, 'market.skillsEnabled', false)).toMatchObject({ changed: true });
    expect(await elsewhere.ok('market_skill_gate')).toMatchObject({ enabled: false });
    await buyer.caller.refused('E_SKILL_DISABLED', 'market_skill_buy', { listingId, buyerId: buyer.id });
    expect(await buyer.caller.ok('market_skill_status', { listingId })).toMatchObject({ enabled: false });
    await seller.caller.ok('market_skill_deliver', { tradeId, payload: 'kept' });
    const settled = await buyer.caller.ok('market_skill_settle', { tradeId, decision: 'confirm' });
    expect(settled).toMatchObject({ state: 'confirmed', debited: 60 });
    const told = () => ears.heard.filter(({ name }) => name === 'market:gate-changed').map(({ enabled }) => enabled);
    await waitFor(() => told().join().endsWith('true,false'), { what: 'what is told of the gate' });
    expect(told().filter(Boolean)).toEqual([true]);
    await set(operator, 'market.skillsEnabled', null);
  },
  on,
);

verifies(
  'market:trade:timer',
  async ({ place }) => {
    const operator = new Caller(place);
    const { seller, buyer } = await createTraders(place);
    const listingId = await offer(seller, '40');
    const buy = () => buyer.caller.ok('market_trade', { listingId });
    const { tradeId } = await withSettings(operator, { 'market.tradeWindowMs': 1000 }, buy);
    const trade = await waitFor(
      async () => {
        const shown = await buyer.caller.ok('market_getTrade', { tradeId });
        return shown['settlement'] === 'done' ? shown : null;
      },
      { what: 'the end of a trade by itself' },
    );
    expect(trade).toMatchObject({ state: 'completed', closedBy: 'timer' });
    const cancel = { tradeId, agentId: buyer.id };
    expect(await buyer.caller.refused('E_TRADE_CLOSED', 'market_cancelTrade', cancel)).toMatchObject({
      state: 'completed',
    });
    expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 40, pending: 0, available: 960 });
    expect(await purseOf(operator, seller.id)).toMatchObject({ earned: 40 });
  },
  on,
);

verifies(
  'market:skill:expired',
  async ({ place, socket }) => {
    const operator = new Caller(place);
    await operator.ok('market_skill_gate', { value: true });
    // What others left here is not counted with it.
    await operator.ok('market_skill_sweep');
    const { seller, buyer } = await createTraders(place);
    const ears = await socket();
    const listingId = await offerSkill(seller, '60');
    const buy = () => buyer.caller.ok('market_skill_buy', { listingId, buyerId: buyer.id });
    const { tradeId, deliverBy } = await withSettings(operator, { 'market.skillsTradeTtlMs': 1000 }, buy);
    await waitFor(() => Date.now() > Number(deliverBy), { what: 'the end of the time to deliver' });
    const late = await seller.caller.refused('E_SKILL_EXPIRED', 'market_skill_deliver', { tradeId, payload: 'late' });
    expect(late).toMatchObject({ state: 'expired' });
    // A sweep of the node's own may have expired it a moment before, and be about to give the money back.
    const shown = () => buyer.caller.ok('market_getTrade', { tradeId });
    await waitFor(async () => (await shown())['settlement'] === 'done', { what: 'the money given back' });
    expect(await shown()).toMatchObject({ state: 'expired' });
    expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 0, pending: 0, available: 1000 });
    expect(await availableOf(operator, listingId)).toBe(1);
    expect(await operator.ok('market_skill_sweep')).toMatchObject({ swept: 0, expired: [], restored: 0 });
    for (const entityId of [seller.id, buyer.id]) {
      expect(await operator.ok('trust_getScore', { entityId })).toMatchObject({ score: 0.5 });
    }
    await buyer.caller.refused('E_SKILL_EXPIRED', 'market_skill_settle', { tradeId, decision: 'confirm' });
    const isTold = () => ears.heard.some((event) => event.name === 'trade:expired' && event['tradeId'] === tradeId);
    await waitFor(isTold, { what: 'trade:expired' });
  },
  on,
);

verifies(
  'market:consent:required',
  async ({ place }) => {
    const operator = new Caller(place);
    await operator.ok('market_skill_gate', { value: true });
    const { seller, buyer } = await createTraders(place);
    const listingId = await offer(seller, '1');
    const skill = await offerSkill(seller, '1');
    await withSettings(operator, { 'market.requireConsent': true }, async () => {
      await buyer.caller.refused('E_CONSENT', 'market_trade', { listingId });
      await buyer.caller.refused('E_CONSENT', 'market_skill_buy', { listingId: skill, buyerId: buyer.id });
      const context = { consentGiven: true };
      await buyer.caller.ok('market_trade', { listingId, context });
      await buyer.caller.ok('market_skill_buy', { listingId: skill, buyerId: buyer.id, context });
    });
    await operator.ok('market_skill_gate', { value: false });
    await buyer.caller.refused('E_SKILL_DISABLED', 'market_trade', { listingId: skill });
  },
  on,
);
