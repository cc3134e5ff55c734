/** Pools of workspaces: limits for all, limits for members, and who sets them. */
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import { createPool, memberFunds, poolFunds } from '../instruments/pools.ts';
import { callerOf } from '../instruments/tenants.ts';
import { newName, verifies } from '../verifies.ts';

const ROUNDS = 10;

verifies('escrow:pool:race', async ({ place }) => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { workspace, members } = await createPool(place, 500, 2);
    const replies = await Promise.all(
      members.map(({ caller }, gateway) =>
        caller.call('escrow_workspaceRecordSpend', { workspaceId: workspace, amount: 400 }, { gateway }),
      ),
    );
    expect(replies.map((reply) => codeOf(reply) ?? 'recorded').sort()).toEqual(['E_POOL_EXCEEDED', 'recorded']);
    expect(await poolFunds(new Caller(place), workspace)).toMatchObject({ spent: 400, available: 100 });
  }
});

verifies('escrow:pool:limits', async ({ place }) => {
  const { workspace, admin, members } = await createPool(place, 500, 2);
  const [a1, a2] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const workspaceId = workspace;
  expect(await a1.caller.ok('escrow_workspaceRecordSpend', { workspaceId, amount: 100, memo: 'paper' })).toEqual({
    recorded: true,
    spent: 100,
    poolSpent: 100,
    available: 400,
    poolAvailable: 400,
    entryId: expect.stringMatching(/^ent_/),
  });
  const canSpend = (amount: number) =>
    a2.caller.ok('escrow_workspaceCanSpend', { workspaceId, amount }, { gateway: 1 });
  expect(await canSpend(450)).toEqual({
    allowed: false,
    reason: 'workspace_pool_exceeded',
    layer: 'Escrow',
    available: 500,
    poolAvailable: 400,
  });
  expect(await canSpend(400)).toMatchObject({ allowed: true, reason: 'budget_available' });
  expect(
    await a2.caller.refused('E_POOL_EXCEEDED', 'escrow_workspaceRecordSpend', { workspaceId, amount: 450 }),
  ).toMatchObject({ recorded: false, reason: 'workspace_pool_exceeded' });
  const capped = await admin.caller.ok('escrow_setWorkspaceMemberLimit', { workspaceId, agentId: a2.id, limit: 25 });
  expect(capped).toMatchObject({ ok: true, adminId: admin.id, member: { spent: 0, limit: 25, available: 25 } });
  expect(await canSpend(30)).toMatchObject({ allowed: false, reason: 'member_limit_exceeded', available: 25 });
  await a2.caller.refused('E_MEMBER_LIMIT', 'escrow_workspaceRecordSpend', { workspaceId, amount: 30 });
  expect(await a2.caller.ok('escrow_workspaceRecordSpend', { workspaceId, amount: 20 })).toMatchObject({
    poolAvailable: 380,
  });
  expect(
    await a2.caller.refused('E_MEMBER_LIMIT', 'escrow_workspaceRecordSpend', { workspaceId, amount: 10 }),
  ).toMatchObject({
    reason: 'member_limit_exceeded',
  });
  const seen = await memberFunds(admin.caller, workspace);
  expect([seen.get(a1.id), seen.get(a2.id)]).toEqual([
    { spent: 100, limit: 500, available: 400, pending: 0 },
    { spent: 20, limit: 25, available: 5, pending: 0 },
  ]);
  expect([...(await memberFunds(a2.caller, workspace)).keys()]).toEqual([a2.id]);
  expect(await poolFunds(a1.caller, workspace)).toMatchObject({ spent: 120, available: 380 });
  await admin.caller.refused('E_LIMIT_BELOW_COMMITTED', 'escrow_setWorkspaceBudget', { workspaceId, amount: 119 });
  await admin.caller.refused('E_LIMIT_BELOW_COMMITTED', 'escrow_setWorkspaceMemberLimit', {
    workspaceId,
    agentId: a2.id,
    limit: 19,
  });
  await admin.caller.ok('escrow_setWorkspaceBudget', { workspaceId, amount: 120 });
  expect(await canSpend(1)).toMatchObject({ allowed: false, reason: 'workspace_pool_exceeded', poolAvailable: 0 });
});

verifies(
  'escrow:pool:limits',
  async ({ place }) => {
    const { workspace, admin, members } = await createPool(place, 100, 3);
    const { id, caller } = memberAt({ workspace, members }, 0);
    const condition = { amount: 60, workspace, agent: id };
    const holdId = newName('h');
    expect(await caller.ok('escrow_hold', { holdId, condition })).toMatchObject({ held: true, reserved: 60 });
    expect(await poolFunds(admin.caller, workspace)).toEqual({
      spent: 0,
      limit: 100,
      available: 40,
      pending: 60,
      earned: 0,
    });
    await caller.refused('E_POOL_EXCEEDED', 'escrow_hold', { holdId: newName('h'), condition });
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        memberAt({ workspace, members }, n % 3).caller.call(
          'escrow_workspaceRecordSpend',
          { workspaceId: workspace, amount: 2 },
          { gateway: n },
        ),
      ),
    );
    const codes = replies.map(codeOf);
    expect(codes.filter((code) => code === null)).toHaveLength(20);
    expect(codes.filter((code) => code === 'E_POOL_EXCEEDED')).toHaveLength(10);
    const funds = [...(await memberFunds(admin.caller, workspace)).values()];
    expect(funds.reduce((sum, { spent }) => sum + spent, 0)).toBe(40);
    await caller.ok('escrow_release', { holdId });
    expect(await poolFunds(admin.caller, workspace)).toMatchObject({ spent: 40, available: 60, pending: 0 });
  },
  { title: 'A hold for a member reserves in the pool, and members together never draw more than is left.' },
);

verifies(
  'escrow:amounts',
  async ({ place }) => {
    const { workspace, members } = await createPool(place, 1, 1);
    const { caller } = memberAt({ workspace, members }, 0);
    for (let n = 0; n < 10; n += 1) {
      await caller.ok('escrow_workspaceRecordSpend', { workspaceId: workspace, amount: 0.1 }, { gateway: n });
    }
    expect(await poolFunds(caller, workspace)).toMatchObject({ spent: 1, available: 0 });
    const tooMuch = { workspaceId: workspace, amount: 0.000001 };
    await caller.refused('E_POOL_EXCEEDED', 'escrow_workspaceRecordSpend', tooMuch);
  },
  { title: 'Ten tenths are exactly one.' },
);

verifies('escrow:money-admins', async ({ keyed: place }) => {
  const operator = new Caller(place);
  const acme = await createMembers(place, 'admin', 'viewer', 'editor');
  const beta = await createMembers(place, 'admin', 'editor');
  const [admin, viewer, editor] = [memberAt(acme, 0), memberAt(acme, 1), memberAt(acme, 2)];
  const both = await addMember(place, beta.workspace, 'admin');
  await operator.ok('svc_habitat_addRole', { workspaceId: acme.workspace, userId: both.id, role: 'admin' });
  const workspaceId = acme.workspace;
  const budget = { workspaceId, amount: 10 };
  const member = { workspaceId, agentId: editor.id, limit: 5 };
  const denied = async (caller: Caller, code: string, more: Fields = {}): Promise<void> => {
    await caller.fails(code, 'escrow_setWorkspaceBudget', { ...budget, ...more });
    await caller.fails(code, 'escrow_setWorkspaceMemberLimit', { ...member, ...more });
  };
  await denied(memberAt(beta, 0).caller, 'RLS_DENIED', { adminId: admin.id });
  await denied(viewer.caller, 'RLS_DENIED', { adminId: admin.id });
  await denied(editor.caller, 'RLS_DENIED');
  await denied(operator, 'RLS_DENIED');
  await denied(operator, 'RLS_DENIED', { adminId: viewer.id });
  await denied(operator, 'RLS_DENIED', { adminId: newName('nobody') });
  await denied(new Caller(place, { key: null }), 'UNAUTHORIZED', { adminId: admin.id });
  const unknown = await operator.fails('RLS_DENIED', 'escrow_setWorkspaceBudget', {
    ...budget,
    workspaceId: newName('w'),
  });
  const foreign = await memberAt(beta, 0).caller.fails('RLS_DENIED', 'escrow_setWorkspaceBudget', budget);
  expect(unknown.message).toBe(foreign.message);
  expect(await operator.ok('escrow_getWorkspacePool', { workspaceId })).toMatchObject({ exists: false });

  expect(await both.caller.ok('escrow_setWorkspaceBudget', budget)).toMatchObject({
    adminId: both.id,
    pool: { limit: 10 },
  });
  expect(await operator.ok('escrow_setWorkspaceBudget', { ...budget, adminId: admin.id })).toMatchObject({
    adminId: admin.id,
  });
  await operator.ok('svc_habitat_removeRole', { workspaceId, userId: both.id, role: 'admin' });
  await both.caller.fails('RLS_DENIED', 'escrow_setWorkspaceBudget', budget, { gateway: 1 });
  expect(await admin.caller.ok('escrow_setWorkspaceBudget', budget)).toMatchObject({ ok: true });
});

verifies(
  'escrow:money-admins',
  async ({ place }) => {
    const operator = new Caller(place);
    const { workspace, admin } = await createPool(place, 10, 1);
    const elsewhere = await createPool(place, 10, 0);
    const userId = admin.id;
    await operator.ok('svc_habitat_addRole', { workspaceId: elsewhere.workspace, userId, role: 'admin' });
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId: userId, workspace: elsewhere.workspace });
    const bound = callerOf(place, String(token));
    await bound.ok('escrow_setWorkspaceBudget', { workspaceId: elsewhere.workspace, amount: 11 });
    await bound.fails('RLS_DENIED', 'escrow_setWorkspaceBudget', { workspaceId: workspace, amount: 11 });
    await bound.refused('E_UNKNOWN_WORKSPACE', 'escrow_getWorkspacePool', { workspaceId: workspace });
    const { pools } = await bound.ok<{ pools: Fields[] }>('escrow_listWorkspacePools');
    expect(pools.map(({ workspaceId }) => workspaceId)).toEqual([elsewhere.workspace]);
    const both = await admin.caller.ok<{ pools: Fields[] }>('escrow_listWorkspacePools');
    expect(new Set(both.pools.map(({ workspaceId }) => workspaceId))).toEqual(
      new Set([workspace, elsewhere.workspace]),
    );
  },
  { title: 'A token bound to another workspace sets no limit and sees no pool here.' },
);

verifies(
  'escrow:money-admins',
  async ({ place }) => {
    const operator = new Caller(place);
    const { workspace, admin } = await createPool(place, 10, 0);
    const second = await addMember(place, workspace, 'admin');
    // Without any role its token would end.
    await operator.ok('svc_habitat_addRole', { workspaceId: workspace, userId: admin.id, role: 'viewer' });
    for (let round = 0; round < 100; round += 1) {
      const change = round % 2 === 0 ? 'svc_habitat_removeRole' : 'svc_habitat_addRole';
      await operator.ok(change, { workspaceId: workspace, userId: admin.id, role: 'admin' }, { gateway: round });
      const reply = await admin.caller.call(
        'escrow_setWorkspaceBudget',
        { workspaceId: workspace, amount: round + 1 },
        { gateway: round + 1 },
      );
      expect(codeOf(reply)).toBe(round % 2 === 0 ? 'RLS_DENIED' : null);
    }
    expect(await poolFunds(second.caller, workspace)).toMatchObject({ limit: 100 });
  },
  {
    title: 'A role removed through one gateway ends the right at the very next call through another.',
  },
);
