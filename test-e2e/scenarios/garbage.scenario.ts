/** Seeded nonsense at every door: no 5xx, no crash, nothing outside the brain touched. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { assertSound } from '../instruments/git.ts';
import { ACCESS_RULES } from '../instruments/access-rules.ts';
import { type DeclaredTool, fittingCalls, rightArguments, wordsOf } from '../instruments/fitting-calls.ts';
import { garbage, inTurn, nearlyRight, type RightCall } from '../instruments/garbage.ts';
import { withLedger } from '../instruments/ledger-rows.ts';
import { wrongSupplies } from '../instruments/market-rows.ts';
import { createMembers, memberAt, type WorkspaceMember } from '../instruments/members.ts';
import { shootAll } from '../instruments/shooting.ts';
import { buySkill, createTraders, offer, offerSkill, skillsOn } from '../instruments/traders.ts';
import { callsOfUniverse, toolsOfUniverse } from '../instruments/universe-calls.ts';
import { callerOf, createTenant } from '../instruments/tenants.ts';
import { treeHash } from '../instruments/tree-hash.ts';
import { FITTING_REQUESTS, GARBAGE_REQUESTS, MARKET_GARBAGE_REQUESTS, UNIVERSE_GARBAGE_REQUESTS } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { fresh: { gateways: 1, replicas: 1 } });

verifies(
  'gateway:call:garbage',
  async ({ place, random, report }) => {
    const brain = newName('garbage');
    const user = new Caller(place);
    await user.ok('brain_load', { brains: [brain], create: true });
    const { tools } = (await user.get('/tools')).body as unknown as {
      tools: { name: string; inputSchema: { properties: Fields } }[];
    };
    const outside = (): string =>
      treeHash(
        place.root,
        (path) =>
          path === 'logs' ||
          /^data\/(pg|postgres|database|db|cache|journal|audit|events)/.test(path) ||
          new RegExp(`^data/(brains|worktrees)/(${brain}|svc)(/|$)`).test(path),
      );
    const before = outside();
    const shots = garbage(tools, brain, random);
    const told = await shootAll(user, shots, GARBAGE_REQUESTS);
    for (const one of [...target.get().gateways, ...target.get().brains]) one.assertRunning();
    await user.ok('svc_lock', { action: 'force', brain });
    await user.ok('brain_write', { brain, branch: 'main', name: 'still', content: 'alive' });
    assertSound(brainFolder(place, brain));
    expect(outside()).toBe(before);
    report(told);
  },
  { on: target, timeoutMs: 300_000 + GARBAGE_REQUESTS * 8 },
);

/** It would leave nothing as it is for the calls after it. */
const NOT_IN_TURN = ['svc_brain_restore', 'svc_config_set'];

verifies(
  'gateway:call:fitting',
  async ({ place, random, report }) => {
    const operator = new Caller(place);
    await skillsOn(operator);
    const tenants = [await createTenant(place), await createTenant(place)];
    const { tools: all } = (await operator.get('/tools')).body as unknown as { tools: DeclaredTool[] };
    const tools = all.filter(({ name }) => !NOT_IN_TURN.includes(name));
    const right = await rightArguments(tools, ACCESS_RULES, tenants);
    const ground = {
      random,
      words: [...wordsOf(tenants), 'svc', 'main', 'default', 'f0', 'f1', 'a/b.md', 'role:editor'],
    };
    const [own] = tenants;
    const users = [operator, ...[own?.admin, own?.viewer].map((who) => callerOf(place, who?.token ?? ''))];
    const told = await Promise.all(
      users.map((user) => shootAll(user, fittingCalls(tools, right, ground), FITTING_REQUESTS)),
    );
    for (const one of target.get().everybody) one.assertRunning();
    for (const line of told) report(line);
  },
  { on: target, timeoutMs: 300_000 + FITTING_REQUESTS * 60 },
);

verifies(
  'market:garbage',
  async ({ place, random, report }) => {
    const operator = new Caller(place);
    await skillsOn(operator);
    const { seller, buyer } = await createTraders(place);
    const listingId = await offer(seller, '1', { supply: 1_000_000 });
    const skillId = await offerSkill(seller, '1', { supply: 1_000_000 });
    const calls = await rightCalls(seller, buyer, { listingId, skillId });
    const told = await Promise.all(
      [operator, seller.caller, buyer.caller].map((user) =>
        shootAll(user, nearlyRight(calls, random), Math.ceil(MARKET_GARBAGE_REQUESTS / 3)),
      ),
    );
    for (const one of target.get().everybody) one.assertRunning();
    // A call of the operator that was quite right may have turned it off.
    await skillsOn(operator);
    const tradeId = await buySkill(buyer, skillId);
    await seller.caller.ok('market_skill_deliver', { tradeId, payload: 'still' });
    await buyer.caller.ok('market_skill_settle', { tradeId, decision: 'confirm' });
    const wrong = withLedger(target.get(), (pool) => wrongSupplies(pool, { sellers: [seller.id], buyers: [buyer.id] }));
    expect(await wrong).toEqual([]);
    for (const line of told) report(line);
  },
  { on: target, timeoutMs: 300_000 + MARKET_GARBAGE_REQUESTS * 8 },
);

verifies(
  'universe:garbage',
  async ({ place, random, report }) => {
    const operator = new Caller(place);
    const home = await createMembers(place, 'admin');
    const { id, caller: member } = memberAt(home, 0);
    const brain = newName('garbage');
    await operator.ok('brain_push', { name: brain, create: true });
    const tools = await toolsOfUniverse(operator);
    const calls = await callsOfUniverse({ operator, member, workspace: home.workspace, brain, agentId: id });
    expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(tools.map(({ name }) => name)));
    const share = Math.ceil(UNIVERSE_GARBAGE_REQUESTS / 4);
    const told: string[] = [];
    for (const user of [operator, member]) {
      const wrong = inTurn(tools.map((tool) => garbage([tool], brain, random)));
      const almost = inTurn(calls.map((call) => nearlyRight([call], random)));
      for (const shots of [wrong, almost]) told.push(await shootAll(user, shots, share));
    }
    for (const one of target.get().everybody) one.assertRunning();
    const at = { stream: newName('q'), workspace: home.workspace };
    await member.ok('stream_enqueue', { ...at, task: 'still' });
    expect(await member.ok('stream_poll', at)).toMatchObject({ work: { task: 'still' } });
    for (const line of told) report(line);
  },
  { on: target, timeoutMs: 300_000 + UNIVERSE_GARBAGE_REQUESTS * 20 },
);

/** Of each tool of the market, with ids of what is there. */
async function rightCalls(
  seller: WorkspaceMember,
  buyer: WorkspaceMember,
  { listingId, skillId }: { readonly listingId: string; readonly skillId: string },
): Promise<readonly RightCall[]> {
  const { tradeId } = await buyer.caller.ok('market_trade', { listingId });
  const ofSkill = await buySkill(buyer, skillId);
  const { id: bidId } = await buyer.caller.ok('market_bid', { listingId, price: '0.5' });
  const context = { consentGiven: true, seller: seller.id, description: 'x', tags: ['x'], supply: 2 };
  const agentId = buyer.id;
  const right: Readonly<Record<string, readonly Fields[]>> = {
    market_list: [{ type: 'favor', title: 'x', price: '1', context }],
    market_bid: [
      { listingId, price: '1', description: 'x', tags: ['x'], bidderId: agentId },
      { title: 'x', price: '1', agentId },
      { bidId, withdraw: true },
    ],
    market_trade: [
      { listingId, buyerId: agentId, context: {} },
      { bidId, sellerId: seller.id },
      { tradeId, buyerId: agentId },
    ],
    market_search: [{ type: 'favor', tags: ['x'], query: 'x', seller: seller.id, limit: 5, cursor: 'x' }],
    market_stats: [{ x: 1 }],
    market_get: [{ listingId, viewerId: agentId }],
    market_getTrade: [{ tradeId }, { tradeId: ofSkill }],
    market_getBids: [{ listingId, status: 'open', limit: 5, cursor: 'x' }],
    market_cancelTrade: [{ tradeId, agentId }],
    market_skill_list: [{ title: 'x', description: 'x', payloadKind: 'text', price: '1', capabilityTag: 'x', context }],
    market_skill_buy: [{ listingId: skillId, buyerId: agentId, workspace: 'x', context: {} }],
    market_skill_deliver: [{ tradeId: ofSkill, payload: { x: 1 }, agentId: seller.id }],
    market_skill_settle: [{ tradeId: ofSkill, decision: 'confirm', agentId }],
    market_skill_status: [{ listingId: skillId }],
    market_skill_sweep: [{ x: 1 }],
    market_skill_gate: [{ value: 'x' }],
  };
  return Object.entries(right).flatMap(([name, all]) => all.map((args) => ({ name, args })));
}
