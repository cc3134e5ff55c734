/** Who hears of money that moved, and where it is written down. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import { createPool } from '../instruments/pools.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

type Sockets = Pick<Scenario, 'place' | 'socket'>;

async function listen({ place, socket }: Sockets, id: string, gateway = 1): Promise<EventSocket> {
  const { token } = await new Caller(place).ok('svc_habitat_mintToken', { agentId: id });
  const listener = await socket({ gateway, auth: { token: String(token) } });
  expect(await listener.subscribe()).toMatchObject({ ok: true });
  return listener;
}

const moneyOf = ({ heard }: EventSocket): Fields[] => heard.filter(({ name }) => name.startsWith('escrow:'));

verifies('escrow:events', async (scenario) => {
  const operator = scenario.caller();
  const { workspace, admin, members } = await createPool(scenario.place, 100, 2);
  const [spender, other] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const stranger = memberAt(await createMembers(scenario.place, 'admin'), 0);
  const inside = await Promise.all([admin, spender, other].map(({ id }) => listen(scenario, id)));
  const outside = await listen(scenario, stranger.id);
  const node = await scenario.socket();
  await node.subscribe();

  const draw = { workspaceId: workspace, amount: 2.5 };
  const { entryId } = await spender.caller.ok('escrow_workspaceRecordSpend', draw);
  await spender.caller.refused('E_POOL_EXCEEDED', 'escrow_workspaceRecordSpend', { ...draw, amount: 1000 });
  const holdId = newName('h');
  await spender.caller.ok('escrow_hold', { holdId, condition: { agent: spender.id, amount: 7 } });
  await spender.caller.ok('escrow_release', { holdId });
  // What comes last is heard last: by then everything before it has been.
  const ends = { held: newName('end'), account: stranger.id };
  await stranger.caller.ok('escrow_hold', { holdId: ends.held, condition: { agent: ends.account, amount: 1 } });
  const last = (event: Fields): boolean => event.holdId === ends.held;
  await outside.until('the end', last);
  await node.until('the end', last);
  await operator.ok('escrow_release', { holdId: ends.held });
  await admin.caller.ok('escrow_setWorkspaceBudget', { workspaceId: workspace, amount: 99 });
  for (const one of inside) {
    await one.until('the new limit', ({ name, amount }) => name === 'escrow:budgeted' && amount === 99);
  }

  const spent = { name: 'escrow:spent', account: `ws:${workspace}`, entryId, amount: 2.5, workspace };
  for (const one of [...inside, node])
    expect(one.heard.filter((event) => event.entryId === entryId)).toEqual([expect.objectContaining(spent)]);
  const ofHold = (one: EventSocket) => one.heard.filter((event) => event.holdId === holdId).map(({ name }) => name);
  expect([...inside.map(ofHold), ofHold(outside)]).toEqual([[], ['escrow:held', 'escrow:released'], [], []]);
  expect(moneyOf(outside).filter(({ account }) => account !== stranger.id)).toEqual([]);
});

/** Everybody of one workspace, and an operator, at several gateways; the limit of its pool is what all of them hear last. */
async function audience(scenario: Sockets, others: number) {
  const pool = await createPool(scenario.place, 100, others);
  const { workspace, admin } = pool;
  const node = await scenario.socket();
  await node.subscribe();
  return {
    workspace,
    member: (index: number) => memberAt(pool, index),
    node,
    listenAll: (ids: readonly string[]) => Promise.all(ids.map((id, gateway) => listen(scenario, id, gateway))),
    async untilTheEnd(sockets: readonly EventSocket[]) {
      const amount = 99;
      await admin.caller.ok('escrow_setWorkspaceBudget', { workspaceId: workspace, amount });
      const isEnd = (event: Fields): boolean => event.account === `ws:${workspace}` && event.amount === amount;
      for (const one of sockets) await one.until('the end', isEnd);
      for (const { heard } of sockets) for (const event of heard) expect(event).not.toHaveProperty('parties');
    },
  };
}

const namesOf = (account: string, { heard }: EventSocket) =>
  heard.filter((event) => event.account === account).map(({ name }) => name);

verifies('escrow:events:orgs', async (scenario) => {
  const { place, caller, socket } = scenario;
  const operator = caller();
  const { workspace, member: at, node, listenAll, untilTheEnd } = await audience(scenario, 5);
  const [owner, member, leaver, late, stranger] = [at(0), at(1), at(2), at(3), at(4)];
  const org = String((await owner.caller.ok('teams_createOrg', { name: newName('org') })).id);
  const { id: elsewhere } = await operator.ok('teams_createOrg', { name: newName('org') });
  for (const agentId of [member.id, leaver.id]) await operator.ok('teams_assign', { agentId, org });
  const namesake = await addMember(place, workspace, 'viewer', org);
  const people = [owner, member, leaver, late, stranger, namesake];
  const sockets = await listenAll(people.map(({ id }) => id));

  await operator.ok('escrow_create', { org, budget: 50 });
  const isBudget = (event: Fields): boolean => event.name === 'escrow:budgeted' && event.account === org;
  for (const one of [...sockets.slice(0, 3), node]) await one.until('the budget', isBudget);
  await operator.ok('teams_assign', { agentId: leaver.id, org: elsewhere });
  await operator.ok('teams_assign', { agentId: late.id, org });
  const holdId = newName('h');
  await owner.caller.ok('escrow_hold', { holdId, condition: { org, amount: 7 } });
  await owner.caller.ok('escrow_release', { holdId });
  await untilTheEnd([...sockets, node]);

  const all = ['escrow:budgeted', 'escrow:held', 'escrow:released'];
  expect([node, ...sockets].map((one) => namesOf(org, one))).toEqual([
    all,
    all,
    all,
    all.slice(0, 1),
    all.slice(1),
    [],
    [],
  ]);
  for (const one of sockets.slice(0, 2)) {
    expect(one.heard.filter((event) => event.holdId === holdId)).toEqual([
      expect.objectContaining({ name: 'escrow:held', account: org, amount: 7 }),
      expect.objectContaining({ name: 'escrow:released', account: org, amount: 7 }),
    ]);
  }

  // What a former member missed is not told afterwards either; a new one is told what it may read now.
  const after = String(node.heard.find(isBudget)?.id);
  const missed = async ({ id }: { id: string }) => {
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId: id });
    const back = await socket({ auth: { token: String(token) } });
    await back.subscribe({ after });
    await back.until('the end', ({ account, amount }) => account === `ws:${workspace}` && amount === 99);
    return namesOf(org, back);
  };
  expect([await missed(leaver), await missed(late)]).toEqual([[], all.slice(1)]);
});

verifies('escrow:events:scenarios', async (scenario) => {
  const operator = scenario.caller();
  const { member: at, node, listenAll, untilTheEnd } = await audience(scenario, 2);
  const sockets = await listenAll([at(0).id, at(1).id]);
  const account = `scenario:run:${at(0).id}`;
  const holdId = newName('h');
  await operator.ok('escrow_hold', { holdId, condition: { agent: account, amount: 3 } });
  await operator.ok('escrow_release', { holdId });
  await untilTheEnd([...sockets, node]);
  const all = ['escrow:held', 'escrow:released'];
  expect([node, ...sockets].map((one) => namesOf(account, one))).toEqual([all, all, []]);
  expect(await at(0).caller.ok('escrow_status', { org: account })).toMatchObject({ budget: { available: 1000 } });
  expect(await at(1).caller.ok('escrow_status', { org: account })).toMatchObject({ budget: null });
});

verifies('escrow:audit', async ({ place, caller }) => {
  const operator = caller();
  const { workspace, admin, members } = await createPool(place, 10, 1);
  const { id, caller: spender } = memberAt({ workspace, members }, 0);
  const headers = { 'idempotency-key': newName('key') };
  const spend = { workspaceId: workspace, amount: 3 };
  const { entryId } = await spender.ok('escrow_workspaceRecordSpend', spend, { headers });
  await spender.ok('escrow_workspaceRecordSpend', spend, { headers, gateway: 1 });
  await spender.refused('E_POOL_EXCEEDED', 'escrow_workspaceRecordSpend', { ...spend, amount: 8 });
  await admin.caller.ok('escrow_setWorkspaceMemberLimit', { workspaceId: workspace, agentId: id, limit: 5 });
  await spender.fails('RLS_DENIED', 'escrow_setWorkspaceBudget', { workspaceId: workspace, amount: 1000 });
  const listed = async (event: string) =>
    (await operator.ok<{ entries: Fields[] }>('svc_audit_list', { workspace, event })).entries;
  const limits = await waitFor(
    async () => ((await listed('escrow:budgeted')).length === 2 ? listed('escrow:budgeted') : null),
    {
      what: 'the entries of both limits',
    },
  );
  expect(limits.map(({ data }) => (data as Fields).account)).toEqual([`ws:${workspace}`, `ws:${workspace}`]);
  const spends = await listed('escrow:spent');
  expect(spends.map(({ data, subject }) => [data, subject])).toEqual([
    [
      expect.objectContaining({ account: `ws:${workspace}`, amount: 3, entryId, member: id }),
      expect.objectContaining({ agentId: id, verified: true }),
    ],
  ]);
  expect(await operator.ok('svc_audit_verify', { workspace })).toMatchObject({ ok: true });
});
