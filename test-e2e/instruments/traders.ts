/** Agents that trade: one who sells and others who buy, and what each of them has. */
import { type Caller, type Fields } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName } from '../verifies.ts';
import { createMembers, memberAt, type WorkspaceMember } from './members.ts';
import { budgetOf } from './pools.ts';

export interface Traders {
  readonly workspace: string;
  readonly seller: WorkspaceMember;
  readonly buyer: WorkspaceMember;
  /** Belongs to the same workspace and to no trade. */
  readonly other: WorkspaceMember;
}

export async function createTraders(place: TargetPlace): Promise<Traders> {
  const created = await createMembers(place, 'editor', 'editor', 'editor');
  const [seller, buyer, other] = [0, 1, 2].map((index) => memberAt(created, index));
  if (seller === undefined || buyer === undefined || other === undefined) throw new Error('three were created');
  return { workspace: created.workspace, seller, buyer, other };
}

/** The id of something for sale. */
export async function offer(seller: WorkspaceMember, price: string | null, context: Fields = {}): Promise<string> {
  const { id } = await seller.caller.ok('market_list', { type: 'knowledge', title: newName('offer'), price, context });
  return String(id);
}

/** Nobody on a shared target turns it off again. */
export async function skillsOn(operator: Caller): Promise<void> {
  await operator.ok('market_skill_gate', { value: true });
}

export async function offerSkill(seller: WorkspaceMember, price: string | null, context: Fields = {}): Promise<string> {
  const { id } = await seller.caller.ok('market_skill_list', { title: newName('skill'), price, context });
  return String(id);
}

export async function buySkill({ caller, id }: WorkspaceMember, listingId: string): Promise<string> {
  const { tradeId } = await caller.ok('market_skill_buy', { listingId, buyerId: id });
  return String(tradeId);
}

export interface Purse {
  readonly spent: number;
  readonly pending: number;
  readonly available: number;
  readonly earned: number;
}

export async function purseOf(operator: Caller, agentId: string): Promise<Purse> {
  const { spent, pending, available, earned } = (await budgetOf(operator, agentId)) ?? {};
  return { spent: Number(spent), pending: Number(pending), available: Number(available), earned: Number(earned) };
}

export async function availableOf(caller: Caller, listingId: string): Promise<unknown> {
  return (await caller.ok('market_get', { listingId })).available;
}
