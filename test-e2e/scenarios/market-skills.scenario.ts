/** Skills: bought, delivered and settled, and what their sellers are worth. */
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { createMembers, memberAt, type WorkspaceMember } from '../instruments/members.ts';
import { availableOf, buySkill, createTraders, offer, offerSkill, purseOf, skillsOn } from '../instruments/traders.ts';
import { waitFor } from '../instruments/wait-for.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

const HOLD_LIFE_MS = 522_000_000;

verifies('market:skill:settled', async ({ place, caller }) => {
  const operator = caller();
  await skillsOn(operator);
  const { seller, buyer, other } = await createTraders(place);
  await operator.ok('escrow_create', { agentId: buyer.id, budget: 100 });
  const listingId = await offerSkill(seller, '60', { supply: 2 });
  const bought = await buyer.caller.ok('market_skill_buy', { listingId, buyerId: buyer.id });
  const { tradeId } = bought;
  expect(bought).toMatchObject({ state: 'pending_delivery', held: true, holdId: `trade:${String(tradeId)}` });
  expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 0, pending: 60, available: 40 });
  const poor = await buyer.caller.refused('E_BUDGET', 'market_skill_buy', { listingId, buyerId: buyer.id });
  expect(poor).toMatchObject({ available: 40 });
  expect(await availableOf(buyer.caller, listingId)).toBe(1);
  const deliver = 'market_skill_deliver';
  const settle = 'market_skill_settle';
  await buyer.caller.refused('E_SKILL_NOT_SELLER', deliver, { tradeId, payload: 'mine' });
  await other.caller.refused('E_TRADE_ABSENT', deliver, { tradeId, payload: 'mine' });
  await buyer.caller.refused('E_SKILL_NOT_DELIVERED', settle, { tradeId, decision: 'confirm' });
  const payload = { steps: ['look', 'think'] };
  expect(await seller.caller.ok(deliver, { tradeId, payload })).toMatchObject({ state: 'delivered', bytes: 26 });
  await seller.caller.refused('E_SKILL_ALREADY_DELIVERED', deliver, { tradeId, payload });
  await seller.caller.refused('E_SKILL_NOT_BUYER', settle, { tradeId, decision: 'confirm' });
  await buyer.caller.refused('E_SKILL_DELIVERED', 'market_cancelTrade', { tradeId, agentId: buyer.id });
  expect(await buyer.caller.ok('market_getTrade', { tradeId })).toMatchObject({ state: 'delivered', payload });
  expect(await operator.ok('market_getTrade', { tradeId })).not.toHaveProperty('payload');
  const headers = { 'idempotency-key': newName('key') };
  const confirm = { tradeId, decision: 'confirm' };
  const confirmed = { tradeId, state: 'confirmed', debited: 60 };
  expect(await buyer.caller.ok(settle, confirm, { headers })).toMatchObject(confirmed);
  expect(await buyer.caller.ok(settle, confirm, { headers, gateway: 1 })).toMatchObject(confirmed);
  await buyer.caller.refused('E_SKILL_ALREADY_SETTLED', settle, confirm);
  expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 60, pending: 0, available: 40 });
  expect(await purseOf(operator, seller.id)).toMatchObject({ earned: 60 });
});

verifies('market:skill:refuted', async ({ place, caller }) => {
  const operator = caller();
  await skillsOn(operator);
  const { seller, buyer } = await createTraders(place);
  await operator.ok('escrow_create', { agentId: buyer.id, budget: 100 });
  const listingId = await offerSkill(seller, '60');
  const tradeId = await buySkill(buyer, listingId);
  await seller.caller.ok('market_skill_deliver', { tradeId, payload: null });
  const refuted = await buyer.caller.ok('market_skill_settle', { tradeId, decision: 'refute' });
  expect(refuted).toEqual({ tradeId, state: 'refuted', released: true });
  expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 0, pending: 0, available: 100 });
  expect(await availableOf(operator, listingId)).toBe(0);
  const score = () => operator.ok('trust_getScore', { entityId: seller.id });
  await waitFor(async () => (await score()).score === 0.48, { what: 'the trust of a seller who was refuted' });
});

verifies('market:skill:cancelled', async ({ place, caller }) => {
  await skillsOn(caller());
  const { seller, buyer } = await createTraders(place);
  const listingId = await offerSkill(seller, '60');
  const tradeId = await buySkill(buyer, listingId);
  const cancelled = await buyer.caller.ok('market_cancelTrade', { tradeId, agentId: buyer.id });
  expect(cancelled).toMatchObject({ cancelled: true, released: true });
  expect(await availableOf(buyer.caller, listingId)).toBe(1);
  await seller.caller.refused('E_SKILL_CANCELLED', 'market_skill_deliver', { tradeId, payload: 'late' });
  await buyer.caller.refused('E_SKILL_CANCELLED', 'market_skill_settle', { tradeId, decision: 'confirm' });
});

verifies('market:skill:payload', async ({ place, caller }) => {
  await skillsOn(caller());
  const { seller, buyer } = await createTraders(place);
  const tradeId = await buySkill(buyer, await offerSkill(seller, null));
  const text = (bytes: number) => 'x'.repeat(bytes - 2);
  await seller.caller.refused('E_SKILL_PAYLOAD', 'market_skill_deliver', { tradeId, payload: text(65_537) });
  await seller.caller.refused('E_SKILL_LAUNCH', 'market_skill_deliver', { tradeId, payload: { exec: 'rm' } });
  expect(await buyer.caller.ok('market_getTrade', { tradeId })).toMatchObject({ state: 'pending_delivery' });
  const delivered = await seller.caller.ok('market_skill_deliver', { tradeId, payload: text(65_536) });
  expect(delivered).toMatchObject({ state: 'delivered', bytes: 65_536 });
});

verifies('market:skill:launch', async ({ place, caller }) => {
  await skillsOn(caller());
  const { seller, buyer } = await createTraders(place);
  const title = newName('s').replaceAll('-', '');
  for (const wish of [{ payloadKind: 'Launch' }, { context: { launch: true } }]) {
    await seller.caller.refused('E_SKILL_LAUNCH', 'market_skill_list', { title, ...wish });
  }
  await seller.caller.refused('E_CONSENT', 'market_skill_list', { title, context: { consentGiven: false } });
  expect(await seller.caller.ok('market_search', { query: title })).toEqual({ results: [] });
  const listingId = await offer(seller, '1');
  await buyer.caller.refused('E_NOT_SKILL', 'market_skill_buy', { listingId, buyerId: buyer.id });
  await buyer.caller.refused('E_NOT_SKILL', 'market_skill_status', { listingId });
});

verifies('market:skill:hold', async ({ place, caller }) => {
  const operator = caller();
  await skillsOn(operator);
  const { seller, buyer } = await createTraders(place);
  const tradeId = await buySkill(buyer, await offerSkill(seller, '60'));
  const { createdAt } = await buyer.caller.ok('market_getTrade', { tradeId });
  const holdId = `trade:${tradeId}`;
  const status = await operator.ok<{ holds: Record<string, Fields> }>('escrow_status', { org: buyer.id });
  const hold = Object.entries(status.holds).find(([id]) => id.startsWith(holdId))?.[1];
  const life = Number(hold?.['expiresAt']) - Number(createdAt);
  expect(life).toBeGreaterThanOrEqual(HOLD_LIFE_MS);
  expect(life).toBeLessThan(HOLD_LIFE_MS + 60_000);
  for (const who of [buyer.caller, operator]) {
    const reply = await who.call('escrow_release', { holdId });
    expect(JSON.stringify(reply.body)).toContain('"released":false');
  }
  expect(await purseOf(operator, buyer.id)).toMatchObject({ pending: 60 });
});

interface Deal {
  readonly buyer: WorkspaceMember;
  readonly price: string;
  readonly decision: 'confirm' | 'refute';
}

async function traded(seller: WorkspaceMember, { buyer, price, decision }: Deal): Promise<void> {
  const tradeId = await buySkill(buyer, await offerSkill(seller, price));
  await seller.caller.ok('market_skill_deliver', { tradeId, payload: 'known' });
  await buyer.caller.ok('market_skill_settle', { tradeId, decision });
}

async function trusted(place: TargetPlace, operator: Caller, score: number): Promise<WorkspaceMember> {
  const member = memberAt(await createMembers(place, 'editor'), 0);
  const step = Math.round((score - 0.5) * 1000) / 1000;
  if (step !== 0) {
    const type = step < 0 ? 'failure' : 'task';
    await operator.ok('trust_record', { entityId: member.id, type, value: Math.abs(step) });
  }
  await operator.ok('escrow_create', { agentId: member.id, budget: 1_000_000 });
  return member;
}

/** What the seller is worth in the end. */
async function worth(seller: WorkspaceMember, operator: Caller): Promise<Fields> {
  const listingId = await offerSkill(seller, '1');
  return (await operator.ok<{ reputation: Fields }>('market_skill_status', { listingId })).reputation;
}

verifies('market:reputation', async ({ place, caller }) => {
  const operator = caller();
  await skillsOn(operator);
  const { seller } = await createTraders(place);
  const buyer = await trusted(place, operator, 0.5);
  for (let time = 0; time < 25; time += 1) await traded(seller, { buyer, price: '100', decision: 'confirm' });
  const shown = await waitFor(
    async () => {
      const reputation = await worth(seller, operator);
      return reputation['legacy'] === 1 ? reputation : null;
    },
    { what: 'the trust of 25 trades', everyMs: 500 },
  );
  expect(shown).toMatchObject({ shillResistant: 0.6, counterparties: 1, settled: 25 });
  expect(shown).toMatchObject({ refuted: 0, concentration: { share: 1, flagged: true } });
});

verifies(
  'market:reputation',
  async ({ place, caller }) => {
    const operator = caller();
    await skillsOn(operator);
    const vectors = [
      { buyers: [0.7, 0.7, 0.7, 0.7, 0.7], prices: ['100'], score: 0.8571 },
      { buyers: [0.3, 0.3, 0.3, 0.3, 0.3], prices: ['100'], score: 0.5 },
      { buyers: [0.9], prices: ['1000000'], score: 0.6667 },
      { buyers: [0.7], prices: ['50', '-100'], score: 0.4286 },
    ];
    for (const { buyers, prices, score } of vectors) {
      const { seller } = await createTraders(place);
      for (const trust of buyers) {
        const buyer = await trusted(place, operator, trust);
        for (const price of prices) {
          const decision = price.startsWith('-') ? 'refute' : 'confirm';
          await traded(seller, { buyer, price: price.replace('-', ''), decision });
        }
      }
      expect(await worth(seller, operator)).toMatchObject({ shillResistant: score });
    }
  },
  { title: 'Many partners, distrusted ones, one great trade, one that was refuted: the scores of the contract.' },
);

verifies('market:events:skills', async ({ place, caller, socket }) => {
  const operator = caller();
  await skillsOn(operator);
  const { seller, buyer } = await createTraders(place);
  const ears = await socket({ gateway: 1 });
  const deals = [];
  for (const decision of ['confirm', 'refute']) {
    const tradeId = await buySkill(buyer, await offerSkill(seller, '1'));
    await seller.caller.ok('market_skill_deliver', { tradeId, payload: 'a secret of the trade' });
    await buyer.caller.ok('market_skill_settle', { tradeId, decision });
    deals.push({ tradeId, closing: `trade:${decision === 'confirm' ? 'confirmed' : 'refuted'}` });
  }
  for (const { tradeId, closing } of deals) {
    const heard = () => ears.heard.filter((event) => event['tradeId'] === tradeId).map(({ name }) => name);
    await waitFor(() => heard().includes('trade:settled'), { what: 'the events of a skill' });
    expect(heard()).toEqual(['trade:opened', 'trade:delivered', closing, 'trade:settled']);
  }
  expect(JSON.stringify(ears.heard)).not.toContain('a secret of the trade');
});
