/** What of the trades of a workspace others can count: on a node of its own, where nothing else is counted. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { createMembers, memberAt, type WorkspaceMember } from '../instruments/members.ts';
import { buySkill, createTraders, offerSkill } from '../instruments/traders.ts';
import { ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { only: 'embedded', fresh: {} });
const on = { on: target };

verifies(
  'market:scoped:counts',
  async ({ place }) => {
    const operator = new Caller(place);
    await operator.ok('market_skill_gate', { value: true });
    const { workspace, seller, buyer } = await createTraders(place);
    const stranger = memberAt(await createMembers(place, 'admin'), 0);
    const open = await offerSkill(seller, '5', { supply: 2 });
    await trade(buyer, seller, open);
    const stats = ({ caller }: WorkspaceMember) => caller.ok<Counted>('market_stats');
    const worth = async ({ caller }: WorkspaceMember) =>
      (await caller.ok<{ reputation: Fields }>('market_skill_status', { listingId: open })).reputation;
    const [before, known] = [await stats(stranger), await worth(stranger)];
    const ofMember = await stats(buyer);
    const hidden = await offerSkill(seller, '7', { workspace, supply: 2 });
    await buyer.caller.ok('market_bid', { listingId: hidden, price: '6' });
    await trade(buyer, seller, hidden);
    expect(await stats(stranger)).toEqual(before);
    const after = await stats(buyer);
    expect(after).toMatchObject({ listings: ofMember.listings + 1, bids: ofMember.bids + 1 });
    expect(after.volume).toBe(ofMember.volume + 7);
    // What the trust of the seller is in all the registry says, to everybody.
    expect(await worth(stranger)).toEqual({ ...known, legacy: expect.any(Number) });
    expect(await worth(buyer)).toMatchObject({ settled: Number(known['settled']) + 1 });
    await stranger.caller.refused('E_LISTING_ABSENT', 'market_skill_status', { listingId: hidden });
  },
  on,
);

interface Counted {
  readonly listings: number;
  readonly bids: number;
  readonly volume: number;
}

async function trade(buyer: WorkspaceMember, seller: WorkspaceMember, listingId: string): Promise<void> {
  const tradeId = await buySkill(buyer, listingId);
  await seller.caller.ok('market_skill_deliver', { tradeId, payload: 'what was bought' });
  await buyer.caller.ok('market_skill_settle', { tradeId, decision: 'confirm' });
}
