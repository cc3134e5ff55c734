/** Budgets and holds of callers. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { budgetOf } from '../instruments/pools.ts';
import { newName, verifies } from '../verifies.ts';

verifies('escrow:create', async ({ caller }) => {
  const [one, other] = [caller(), caller({ gateway: 1 })];
  const org = newName('o');
  const fresh = { spent: 0, limit: 1000, available: 1000, pending: 0, earned: 0 };
  expect(await one.ok('escrow_create', { org })).toEqual({ ok: true, org, budget: fresh, created: true });
  await other.ok('escrow_hold', { holdId: newName('h'), condition: { amount: 200, agent: org } });
  expect(await other.ok('escrow_create', { org, budget: 300 })).toEqual({
    ok: true,
    org,
    budget: { spent: 0, limit: 300, available: 100, pending: 200, earned: 0 },
    created: false,
  });
  await one.refused('E_LIMIT_BELOW_COMMITTED', 'escrow_create', { org, budget: 100 });
  expect(await one.ok('escrow_create', { agentId: org })).toMatchObject({ budget: { limit: 300 }, created: false });
  for (const reserved of ['ws:acme', 'sink:spend', '-x', 'a b', '']) {
    await one.fails('VAF_INPUT_INVALID', 'escrow_create', { org: reserved });
  }
});

verifies(
  'escrow:create',
  async ({ caller }) => {
    const org = newName('o');
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, gateway) => caller({ gateway }).ok('escrow_create', { org, budget: 5 })),
    );
    expect(replies.filter(({ created }) => created === true)).toHaveLength(1);
    expect(await budgetOf(caller(), org)).toMatchObject({ limit: 5, available: 5 });
  },
  { title: 'Created by twenty at once, it is created once.' },
);

verifies('escrow:hold:reserves', async ({ caller }) => {
  const [one, other] = [caller(), caller({ gateway: 1 })];
  const org = newName('o');
  const [first, second] = [newName('h'), newName('h')];
  const condition = { amount: 600, agent: org };
  await one.ok('escrow_create', { org });
  expect(await one.ok('escrow_hold', { holdId: first, condition })).toMatchObject({ held: true, reserved: 600 });
  expect(await budgetOf(other, org)).toEqual({ spent: 0, limit: 1000, available: 400, pending: 600, earned: 0 });
  expect(await other.ok('escrow_canSpend', { agent: org, amount: 600 })).toEqual({
    allowed: false,
    reason: 'budget_exceeded',
    layer: 'Escrow',
    available: 400,
  });
  expect(await other.refused('E_BUDGET', 'escrow_hold', { holdId: second, condition })).toMatchObject({
    held: false,
    holdId: second,
    reason: 'budget_exceeded',
    available: 400,
  });
  const { holds } = await one.ok<{ holds: Fields }>('escrow_status', { org });
  expect(Object.keys(holds)).toEqual([first]);
  expect(await other.ok('escrow_release', { holdId: second })).toEqual({ released: false, holdId: second });
  expect(await other.ok('escrow_release', { holdId: first })).toEqual({ released: true, holdId: first });
  expect(await budgetOf(one, org)).toMatchObject({ available: 1000, pending: 0, spent: 0 });
  expect(await other.ok('escrow_hold', { holdId: second, condition })).toMatchObject({ held: true });
});

verifies(
  'escrow:hold:reserves',
  async ({ caller }) => {
    const org = newName('o');
    await caller().ok('escrow_create', { org, budget: 100 });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, gateway) =>
        caller({ gateway }).call('escrow_hold', { holdId: newName('h'), condition: { amount: 10, org } }),
      ),
    );
    const contents = answers.map(({ body }) => body.result?.content as Fields);
    expect(contents.filter(({ held }) => held === true)).toHaveLength(10);
    expect(contents.filter(({ code }) => code === 'E_BUDGET')).toHaveLength(40);
    const { budget, holds } = await caller().ok<{ budget: Fields; holds: Fields }>('escrow_status', { org });
    expect([budget.pending, budget.available, Object.keys(holds).length]).toEqual([100, 0, 10]);
    const released = await Promise.all(
      Object.keys(holds).flatMap((holdId) =>
        [0, 1, 2].map((gateway) => caller({ gateway }).ok('escrow_release', { holdId })),
      ),
    );
    expect(released.filter((answer) => answer.released === true)).toHaveLength(10);
    expect(await budgetOf(caller(), org)).toMatchObject({ pending: 0, available: 100 });
  },
  { title: 'Fifty holds at once reserve no more than there is; each is released once.' },
);

verifies('escrow:hold:one-id', async ({ caller }) => {
  const [one, other] = [caller(), caller({ gateway: 1 })];
  const org = newName('o');
  await one.ok('escrow_create', { org });
  const args = { holdId: newName('h'), condition: { amount: 1, agent: org } };
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, gateway) => caller({ gateway }).call('escrow_hold', args)),
  );
  const contents = replies.map(({ body }) => body.result?.content as Fields);
  expect(contents.filter(({ held }) => held === true)).toHaveLength(1);
  expect(contents.filter(({ code, reason }) => code === 'E_HOLD_EXISTS' && reason === 'hold_exists')).toHaveLength(9);
  await other.ok('escrow_release', { holdId: args.holdId });
  expect(await one.ok('escrow_hold', args)).toMatchObject({ held: true });
  expect(await budgetOf(one, org)).toMatchObject({ pending: 1 });
});

verifies('escrow:hold:own-ids', async ({ place, caller }) => {
  const members = await createMembers(place, 'editor', 'editor', 'viewer');
  const [first, second, third] = [memberAt(members, 0), memberAt(members, 1), memberAt(members, 2)];
  const [taken, free] = [newName('h'), newName('h')];
  const hold = (who: typeof first, holdId: string, amount: number) =>
    who.caller.call('escrow_hold', { holdId, condition: { amount, agent: who.id } });
  const shape = async (who: typeof first, holdId: string) => {
    const { status, body } = await hold(who, holdId, 3);
    return [status, { ...(body.result?.content as Fields), holdId: '', expiresAt: 0 }];
  };
  await hold(first, taken, 10);
  expect(await shape(second, taken)).toEqual(await shape(second, free));
  expect(await shape(second, taken)).toEqual(await shape(second, free));
  expect(await third.caller.ok('escrow_release', { holdId: taken })).toEqual({ released: false, holdId: taken });
  await third.caller.fails('FORBIDDEN', 'escrow_release', { holdId: taken, agent: first.id });
  await third.caller.fails('FORBIDDEN', 'escrow_release', { holdId: newName('h'), agent: first.id });

  const [operator, other] = [caller(), caller({ gateway: 1 })];
  const ambiguous = await operator.refused('E_AMBIGUOUS', 'escrow_release', { holdId: taken });
  expect(ambiguous).toMatchObject({ released: false, holdId: taken });
  const named = { holdId: taken, agent: second.id };
  expect(await other.ok('escrow_release', named)).toEqual({ released: true, holdId: taken });
  expect(await operator.ok('escrow_release', named)).toEqual({ released: false, holdId: taken });
  expect(await budgetOf(first.caller, first.id)).toMatchObject({ pending: 10 });
  expect(await operator.ok('escrow_release', { holdId: taken })).toEqual({ released: true, holdId: taken });
  expect(await budgetOf(first.caller, first.id)).toMatchObject({ pending: 0 });
  expect(await budgetOf(second.caller, second.id)).toMatchObject({ pending: 3 });
});

verifies('escrow:hold:record', async ({ caller }) => {
  const user = caller();
  const org = newName('o');
  await user.ok('escrow_create', { org });
  const [record, short] = [newName('h'), newName('h')];
  const before = Date.now();
  const held = await user.ok('escrow_hold', { holdId: record, condition: { agent: org, type: 'approval', note: [1] } });
  expect(held).toMatchObject({ held: true, reserved: 0 });
  expect(Number(held.expiresAt) - before).toBeGreaterThanOrEqual(299_000);
  expect(Number(held.expiresAt) - Date.now()).toBeLessThanOrEqual(301_000);
  await user.ok('escrow_hold', { holdId: short, condition: { agent: org, amount: 7, ttlMs: 300 } });
  const { budget, holds } = await user.ok<{ budget: Fields; holds: Fields }>('escrow_status', { org });
  expect(budget).toMatchObject({ available: 993, pending: 7 });
  expect(holds[record]).toEqual({
    held: true,
    condition: { agent: org, type: 'approval', note: [1] },
    amount: 0,
    expiresAt: held.expiresAt,
  });
  await delay(350);
  expect(await user.ok('escrow_release', { holdId: short })).toEqual({ released: false, holdId: short });
  expect(await user.ok('escrow_canSpend', { agent: org, amount: 1000 })).toMatchObject({ allowed: true });
  const after = await user.ok<{ holds: Fields }>('escrow_status', { org });
  expect(Object.keys(after.holds)).toEqual([record]);
});

verifies('escrow:foreign', async ({ place, caller }) => {
  const members = await createMembers(place, 'editor', 'editor', 'admin');
  const [first, second, admin] = [memberAt(members, 0), memberAt(members, 1), memberAt(members, 2)];
  const nobody = newName('nobody');
  const holdId = newName('h');
  await first.caller.ok('escrow_hold', { holdId, condition: { amount: 10, agent: first.id } });
  const told = new Set<string>();
  for (const agent of [second.id, admin.id, nobody]) {
    const condition = { amount: 1, agent };
    const failures = [
      await first.caller.fails('FORBIDDEN', 'escrow_hold', { holdId: newName('h'), condition }),
      await first.caller.fails('FORBIDDEN', 'escrow_canSpend', { agent }),
      await first.caller.fails('FORBIDDEN', 'escrow_workspaceRecordSpend', {
        workspaceId: members.workspace,
        agentId: agent,
        amount: 1,
      }),
    ];
    told.add(failures.map(({ message }) => message).join('\n'));
    expect(await first.caller.ok('escrow_status', { org: agent })).toEqual({
      ok: true,
      org: agent,
      budget: null,
      holds: {},
    });
  }
  // Whoever it is, and whether there is one: a tool says the same.
  expect(told.size).toBe(1);
  await first.caller.fails('FORBIDDEN', 'escrow_create', { org: first.id });
  expect(await second.caller.ok('escrow_status', { org: first.id })).toMatchObject({ budget: null, holds: {} });
  expect(await second.caller.ok('escrow_release', { holdId })).toEqual({ released: false, holdId });
  expect(await first.caller.ok('escrow_status', { org: first.id })).toMatchObject({
    budget: { limit: 1000, pending: 10 },
    holds: { [holdId]: { amount: 10 } },
  });
  expect(await first.caller.ok('escrow_status')).toMatchObject({ budgets: 1, holds: 1, approvals: 0 });
  expect(await second.caller.ok('escrow_status')).toMatchObject({ budgets: 0, holds: 0, workspacePools: [] });
  expect(await caller().ok('escrow_release', { holdId })).toEqual({ released: true, holdId });
});

verifies(
  'escrow:foreign',
  async ({ place, caller }) => {
    const members = await createMembers(place, 'admin', 'editor', 'editor', 'editor');
    const [owner, spender] = [memberAt(members, 0), memberAt(members, 1)];
    const [reader, stranger] = [memberAt(members, 2), memberAt(members, 3)];
    const { id } = await owner.caller.ok('teams_createOrg', { name: newName('org') });
    const org = String(id);
    const { id: role } = await owner.caller.ok('teams_createRole', { name: 'buyer', org, permissions: ['spend'] });
    await owner.caller.ok('teams_assign', { agentId: spender.id, org, role: String(role) });
    await owner.caller.ok('teams_assign', { agentId: reader.id, org });
    const hold = { condition: { amount: 1, org } };
    for (const who of [owner, spender]) {
      expect(await who.caller.ok('escrow_hold', { holdId: newName('h'), ...hold })).toMatchObject({ reserved: 1 });
    }
    await reader.caller.fails('FORBIDDEN', 'escrow_hold', { holdId: newName('h'), ...hold });
    await stranger.caller.fails('FORBIDDEN', 'escrow_hold', { holdId: newName('h'), ...hold });
    for (const who of [owner, spender, reader]) expect(await budgetOf(who.caller, org)).toMatchObject({ pending: 2 });
    expect(await budgetOf(stranger.caller, org)).toBeNull();
    await stranger.caller.fails('FORBIDDEN', 'escrow_canSpend', { org });
    expect(await budgetOf(caller(), org)).toMatchObject({ limit: 1000, available: 998 });
  },
  { title: 'The money of an organisation is spent by its owner and those it trusts, and seen by its members.' },
);
