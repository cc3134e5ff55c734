/** Who hears of money that moved, and where it is written down. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import type { EventSocket } from '../instruments/event-socket.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { createPool } from '../instruments/pools.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

async function listen({ place, socket }: Pick<Scenario, 'place' | 'socket'>, id: string): Promise<EventSocket> {
  const { token } = await new Caller(place).ok('svc_habitat_mintToken', { agentId: id });
  const listener = await socket({ gateway: 1, auth: { token: String(token) } });
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
      withinMs: 10_000,
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
