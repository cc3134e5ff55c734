/** What is still there after everything has ended, the registry by kill -9: it is laid out, one restart is for all of it. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { layWork } from '../instruments/lasting-work.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { withSettings } from '../instruments/node-settings.ts';
import { buySkill, createTraders, offer, offerSkill, purseOf, skillsOn } from '../instruments/traders.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { mint } from '../instruments/workspaces.ts';
import type { RequirementId } from '../requirements.ts';
import { breakable, type OwnTarget, type TargetPlace } from '../targets/target.ts';
import { KEYED, newName, ownTarget, REGISTRY_APART, verifies } from '../verifies.ts';

const target = ownTarget(KEYED, { apart: REGISTRY_APART });

/** Lays something out and answers with what must hold of it afterwards. */
type LayOut = (place: TargetPlace) => Promise<() => Promise<void>>;

async function restart({ everybody, habitats, servers }: OwnTarget): Promise<void> {
  await Promise.all(everybody.map((one) => (habitats.includes(one) ? one.kill() : one.stop())));
  if (servers !== null) await breakable(target.get(), 'redis').restart();
  await Promise.all(everybody.map((one) => one.start()));
}

const identities: LayOut = async (place) => {
  const operator = new Caller(place);
  let turn = 0;
  const call = (tool: string, args: Fields = {}) => operator.ok(tool, args, { gateway: (turn += 1) });
  const [workspaceId, userId, resource] = [newName('w'), newName('u'), newName('doc')];
  await call('svc_habitat_createWorkspace', { workspaceId });
  await call('svc_habitat_addRole', { workspaceId, userId, role: 'editor' });
  await call('svc_habitat_setPolicy', { resource, policy: { container: workspaceId, readableBy: ['role:editor'] } });
  const [live, revoked] = [await mint(place, userId), await mint(place, userId)];
  const valid = async (token: string) => (await call('svc_habitat_verifyToken', { token })).valid;
  expect([await valid(revoked), await valid(revoked)]).toEqual([true, true]);
  expect(await call('svc_habitat_revokeToken', { tokenOrHash: revoked })).toEqual({ revoked: true });
  expect([await valid(revoked), await valid(revoked)]).toEqual([false, false]);
  const { token: application } = await call('auth_create', { userId, roles: ['editor'] });
  const session = { session: newName('s') };
  await new Caller(place, session).ok('svc_habitat_setWorkspace', { workspaceId });
  const state = async () => ({
    roles: (await call('svc_habitat_getUserRoles', { workspaceId, userId })).roles,
    boundary: ((await call('svc_habitat_getBoundaries', { limit: 1000 })).boundaries as Fields)[resource],
    // When a token was last used changes by looking at it.
    tokens: ((await call('svc_habitat_listTokens', { agentId: userId })).tokens as Fields[]).map(
      ({ lastUsedAt: _used, ...token }) => token,
    ),
    payload: (await call('auth_verify', { token: application })).payload,
  });
  const before = await state();
  expect((await new Caller(place, session).ok('svc_habitat_status')).currentWorkspace).toBe(workspaceId);
  return async () => {
    expect(await state()).toEqual(before);
    expect([await valid(live), await valid(revoked)]).toEqual([true, false]);
    expect(await call('svc_habitat_revokeToken', { tokenOrHash: revoked })).toEqual({ revoked: false });
    expect(await call('auth_require', { token: application, permission: 'write' })).toMatchObject({ allowed: true });
    expect((await new Caller(place, session).ok('svc_habitat_status')).currentWorkspace).toBe('default');
  };
};

const tasksOfAgents: LayOut = async (place) => {
  const operator = new Caller(place);
  const team = newName('t').replaceAll('-', '');
  const spawned = async () => String((await operator.ok('agent_spawn', { team })).agentId);
  const [id, idle] = [await spawned(), await spawned()];
  const key = { headers: { 'idempotency-key': newName('key') } };
  const task = { id, task: 'count the stars' };
  const first = await operator.ok('svc_agents_delegate_mcp', task, key);
  expect(first).toMatchObject({ delegated: true, agentId: id, stream: `agent:${id}`, status: 'queued' });
  return async () => {
    const after = new Caller(place, { session: operator.session });
    expect(await after.ok('svc_agents_delegate_mcp', task, key)).toEqual(first);
    const { agents } = await after.ok('agent_list', { workspace: `org-${team}` });
    const states = (agents as Fields[]).map((agent) => [agent.id, agent.state]);
    expect(Object.fromEntries(states)).toEqual({ [id]: 'working', [idle]: 'idle' });
  };
};

const grantsOfTasks: LayOut = async (place) => {
  const operator = new Caller(place);
  const owner = memberAt(await createMembers(place, 'editor'), 0).caller;
  const { taskId } = await owner.ok('svc_sudo_createTask', { scopes: [] });
  const { expiresAt } = await operator.ok('svc_sudo_grant', { taskId, scope: 'exec' });
  await owner.ok('svc_sudo_escalate', { taskId, scope: 'network' });
  const held = () => owner.ok('svc_sudo_can', { taskId, scope: 'exec' });
  return async () => {
    expect(await held()).toMatchObject({ allowed: true, expiresAt });
    expect(await owner.ok('svc_sudo_getTask', { taskId })).toMatchObject({
      scopes: ['exec'],
      requests: [{ scope: 'network', state: 'pending' }],
    });
    expect(await operator.ok('svc_sudo_revoke', { taskId, scope: 'exec' })).toMatchObject({ revoked: true });
    expect(await held()).toMatchObject({ allowed: false });
  };
};

const sessions: LayOut = async (place) => {
  const user = new Caller(place);
  const brain = newName('b');
  await user.ok('brain_switch', { name: brain, create: true });
  await user.ok('svc_create_branch', { name: 'work', switch: true });
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const keyed = { headers: { 'idempotency-key': newName('key') } };
  const before = await user.call('svc_commit', { message: 'once' }, keyed);
  const stack = await user.ok('brain_stack');
  expect(stack).toMatchObject({
    current: brain,
    entries: expect.arrayContaining([expect.objectContaining({ brain, branch: 'work' })]),
  });
  return async () => {
    const after = await user.call('svc_commit', { message: 'once' }, keyed);
    expect([after.text, after.headers['idempotency-replayed']]).toEqual([before.text, 'true']);
    await user.fails('IDEMPOTENCY_KEY_REUSED', 'svc_commit', { message: 'other' }, keyed);
    expect(await user.ok('brain_stack')).toEqual(stack);
    expect(await user.ok('brain_current')).toMatchObject({ current: brain, branch: 'work' });
  };
};

const money: LayOut = async (place) => {
  const operator = new Caller(place);
  const members = await createMembers(place, 'admin', 'editor');
  const { workspace: workspaceId } = members;
  const [admin, editor] = [memberAt(members, 0), memberAt(members, 1)];
  const org = newName('o');
  const [headers, refusedKey] = [{ 'idempotency-key': newName('key') }, { 'idempotency-key': newName('key') }];
  await operator.ok('escrow_create', { org, budget: 77.000001 });
  await admin.caller.ok('escrow_setWorkspaceBudget', { workspaceId, amount: 500 });
  await admin.caller.ok('escrow_setWorkspaceMemberLimit', { workspaceId, agentId: editor.id, limit: 40.5 });
  const drawn = { workspaceId, amount: 12.25, memo: 'once' };
  const hold = { holdId: newName('h'), condition: { org, amount: 7, ttlMs: 3_600_000, note: 'kept' } };
  const tooMuch = { ...hold, condition: { org, amount: 900 } };
  const send = async () => [
    await editor.caller.call('escrow_workspaceRecordSpend', drawn, { headers }),
    await operator.call('escrow_hold', hold, { headers }),
    await operator.call('escrow_hold', tooMuch, { headers: refusedKey }),
  ];
  const shown = async (): Promise<Fields[]> => [
    await operator.ok('escrow_status', { org }),
    await admin.caller.ok('escrow_getWorkspacePool', { workspaceId }),
    await editor.caller.ok('escrow_getWorkspacePool', { workspaceId }),
    await operator.ok('escrow_listWorkspacePools'),
  ];
  const replies = await send();
  const before = await shown();
  return async () => {
    expect(await shown()).toEqual(before);
    const again = await send();
    expect(again.map(({ text }) => text)).toEqual(replies.map(({ text }) => text));
    expect(again.map((reply) => reply.headers['idempotency-replayed'])).toEqual(['true', 'true', 'true']);
    expect(await shown()).toEqual(before);
    expect(before[0]).toMatchObject({
      budget: { limit: 77.000001, pending: 7 },
      holds: { [hold.holdId]: { amount: 7 } },
    });
    expect(await operator.ok('escrow_release', { holdId: hold.holdId })).toMatchObject({ released: true });
  };
};

/** One trade in each state, as its buyer, its seller and the ledger of money see it. */
const trades: LayOut = async (place) => {
  const operator = new Caller(place);
  await skillsOn(operator);
  const { seller, buyer } = await createTraders(place);
  const listingId = await offerSkill(seller, '2', { supply: 9 });
  const bought = () => buySkill(buyer, listingId);
  const plain = String((await buyer.caller.ok('market_trade', { listingId: await offer(seller, '3') }))['tradeId']);
  const states: Record<string, string> = { pending: plain, pending_delivery: await bought() };
  states['completed'] = String(
    (await buyer.caller.ok('market_trade', { listingId: await offer(seller, '5') }))['tradeId'],
  );
  await buyer.caller.ok('market_trade', { tradeId: states['completed'] });
  // What begins meanwhile is over soon.
  await withSettings(operator, { 'market.skillsTradeTtlMs': 1000 }, async () => {
    states['expired'] = await bought();
  });
  for (const state of ['delivered', 'confirmed', 'refuted', 'cancelled']) states[state] = await bought();
  for (const state of ['delivered', 'confirmed', 'refuted']) {
    await seller.caller.ok('market_skill_deliver', { tradeId: states[state], payload: { of: state } });
  }
  for (const [state, decision] of [
    ['confirmed', 'confirm'],
    ['refuted', 'refute'],
  ] as const) {
    await buyer.caller.ok('market_skill_settle', { tradeId: states[state], decision });
  }
  await buyer.caller.ok('market_cancelTrade', { tradeId: states['cancelled'], agentId: buyer.id });
  const shown = async () => ({
    trades: await Promise.all(
      Object.values(states).map((tradeId) => buyer.caller.ok('market_getTrade', { tradeId }, { gateway: 1 })),
    ),
    money: [
      await operator.ok('escrow_status', { org: buyer.id }),
      await operator.ok('escrow_status', { org: seller.id }),
    ],
  });
  const isOver = async () => (await buyer.caller.ok('market_getTrade', { tradeId: states['expired'] }))['state'];
  await waitFor(async () => (await isOver()) === 'expired', { what: 'the end of the time to deliver' });
  const before = await shown();
  expect(before.trades.map(({ state }) => state)).toEqual(Object.keys(states));
  return async () => {
    expect(await shown()).toEqual(before);
    const cancel = { tradeId: plain, agentId: seller.id };
    expect(await seller.caller.ok('market_cancelTrade', cancel)).toMatchObject({ released: true });
    const { delivered: tradeId } = states;
    await buyer.caller.ok('market_skill_settle', { tradeId, decision: 'confirm' });
    expect(await purseOf(operator, buyer.id)).toMatchObject({ spent: 9, pending: 2 });
  };
};

/** Votes in each state, with what was said in a channel. */
const votes: LayOut = async (place) => {
  const operator = new Caller(place);
  const topicOf = async (ballots: readonly string[], more: Fields = {}): Promise<string> => {
    const topic = newName('topic');
    await operator.ok('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', ...more });
    for (const choice of ballots) await operator.ok('consensus_vote', { topic, choice, agentId: newName('voter') });
    return topic;
  };
  const [open, passed, sealed] = [
    await topicOf(['yes']),
    await topicOf(['no', 'no']),
    await topicOf(['yes'], { sealed: true }),
  ];
  const soon = { deadline: Date.now() + 8000 };
  const [tied, alone] = [await topicOf(['yes', 'no'], soon), await topicOf(['yes'], soon)];
  const channel = newName('channel');
  for (const content of ['one', 'two']) await operator.ok('msg_send', { channel, content, from: 'ann' });
  const shown = async () =>
    Promise.all([
      ...[open, passed, sealed].map((topic) => operator.ok('consensus_get', { topic }, { gateway: 1 })),
      operator.ok('msg_list', { channel }, { gateway: 1 }),
    ]);
  const before = await shown();
  return async () => {
    expect(await shown()).toEqual(before);
    await waitFor(() => Date.now() > soon.deadline, { what: 'the end of two votes' });
    for (const [topic, status] of [
      [tied, 'rejected'],
      [alone, 'expired'],
    ] as const) {
      const decision = { decidedAt: soon.deadline };
      expect(await operator.ok('consensus_get', { topic })).toMatchObject({ status, decision });
    }
    expect(await operator.ok('msg_send', { channel, content: 'three', from: 'ann' })).toMatchObject({ seq: 3 });
  };
};

const SURVIVORS: readonly (readonly [readonly RequirementId[], LayOut])[] = [
  [['habitat:tokens:revoked', 'habitat:restart', 'auth:restart'], identities],
  [['habitat:agents:inbox'], tasksOfAgents],
  [['habitat:sudo:restart'], grantsOfTasks],
  [['gateway:idempotency:reuse', 'brain:session:durable'], sessions],
  [['escrow:restart'], money],
  [['market:restart'], trades],
  [['agora:restart'], votes],
  [['universe:restart'], layWork],
];

let restarted: Promise<ReadonlyMap<LayOut, () => Promise<void>>> | null = null;

async function layOutAndRestart(): Promise<ReadonlyMap<LayOut, () => Promise<void>>> {
  const kept = new Map<LayOut, () => Promise<void>>();
  for (const [, layOut] of SURVIVORS) kept.set(layOut, await layOut(target.get().place));
  await restart(target.get());
  return kept;
}

for (const [ids, layOut] of SURVIVORS) {
  verifies(
    ids,
    async () => {
      const kept = await (restarted ??= layOutAndRestart());
      await kept.get(layOut)?.();
    },
    { on: target },
  );
}
