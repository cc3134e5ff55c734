/** What a trade costs, from the purchase to the money of its seller, beside the same number of spends of the ledger. */
import { type Ask, type Case, CLIENTS, type Cycle, type Cycles } from './cycles.ts';
import { shown } from './figures.ts';

const MANY = 1000;
const PRICE = '0.000001';
const SUPPLY = 1_000_000;
const POOL = 'bench-market-pool';

export const MARKET: Cycles = { unit: 'spends', casesOf };

async function casesOf(ask: Ask): Promise<readonly Case[]> {
  await ask('market_skill_gate', { value: true });
  const skills = await offered(ask, 'market_skill_list', {});
  const goods = await offered(ask, 'market_list', { type: 'favor' });
  const one = (all: readonly string[]): readonly string[] => all.slice(0, 1);
  const many = `${shown(MANY)} listings`;
  return [
    { title: 'spend from a pool', cycle: await spending(ask), aim: '' },
    { title: 'skill trade, one listing', cycle: skillTrade(ask, one(skills)), aim: '<= 4 spends' },
    { title: `skill trade, ${many}`, cycle: skillTrade(ask, skills), aim: '<= 4 spends' },
    {
      title: `skill trade of ${CLIENTS} members of a pool`,
      cycle: skillTrade(ask, skills, { workspace: POOL }),
      aim: '',
    },
    { title: 'skill trade, each call with a key', cycle: skillTrade(ask, skills, { keyed: true }), aim: '' },
    { title: 'buy and confirm, one listing', cycle: plainTrade(ask, one(goods)), aim: '' },
    { title: `buy and confirm, ${many}`, cycle: plainTrade(ask, goods), aim: '' },
  ];
}

const sellerOf = (index: number): string => `bench-seller-${index}`;
const buyerOf = (client: number): string => `bench-buyer-${client}`;
/** Clients go round in steps of their own, so that no two keep meeting. */
const pick = (ids: readonly string[], client: number, turn: number): string =>
  ids[(turn * (2 * client + 1)) % ids.length] ?? '';

async function offered(ask: Ask, tool: string, args: Readonly<Record<string, unknown>>): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const list = async (): Promise<void> => {
    for (let index = next++; index < MANY; index = next++) {
      const context = { seller: sellerOf(index), supply: SUPPLY };
      ids.push(String((await ask(tool, { ...args, title: `Offer ${index}`, price: PRICE, context }))['id']));
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, list));
  return ids;
}

async function spending(ask: Ask): Promise<Cycle> {
  const agentId = buyerOf(0);
  await ask('svc_habitat_createWorkspace', { workspaceId: POOL, options: { owner: agentId } });
  await ask('escrow_setWorkspaceBudget', { workspaceId: POOL, amount: 1_000_000, adminId: agentId });
  for (let client = 1; client < CLIENTS; client += 1) {
    await ask('svc_habitat_addRole', { workspaceId: POOL, role: 'editor', userId: buyerOf(client) });
  }
  return async () => {
    await ask('escrow_workspaceRecordSpend', { workspaceId: POOL, agentId, amount: Number(PRICE) });
  };
}

function plainTrade(ask: Ask, listingIds: readonly string[]): Cycle {
  return async (client, turn) => {
    const buyerId = buyerOf(client);
    const { tradeId } = await ask('market_trade', { listingId: pick(listingIds, client, turn), buyerId });
    await ask('market_trade', { tradeId, buyerId });
  };
}

interface Manner {
  /** Whose pool pays; absent = each buyer itself. */
  readonly workspace?: string;
  readonly keyed?: boolean;
}

function skillTrade(ask: Ask, listingIds: readonly string[], { workspace, keyed = false }: Manner = {}): Cycle {
  const pool = workspace === undefined ? {} : { workspace };
  return async (client, turn) => {
    const agentId = buyerOf(client);
    const listingId = pick(listingIds, client, turn);
    const send: Ask = (tool, args) => ask(tool, args, keyed ? `${tool}-${client}-${turn}` : undefined);
    const { tradeId, seller } = await send('market_skill_buy', { listingId, buyerId: agentId, ...pool });
    await send('market_skill_deliver', { tradeId, payload: { text: 'what was bought' }, agentId: seller });
    await send('market_skill_settle', { tradeId, decision: 'confirm', agentId });
  };
}
