/** Ids that callers choose: each caller's are its own, so that an answer tells nothing of anybody else's. */
import { createLog } from '@svc/runtime/log.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type EscrowNode, type Fields, registryOf, startEscrowNode } from '../../testing/escrow-test-bed.ts';
import { sweepHolds } from '../store/hold-sweep.ts';
import { readViolations } from '../store/invariants.ts';

const database = await migratedDatabase();
const agents = Array.from({ length: 20 }, (_, n) => `a${n}`);
let node: EscrowNode;
beforeAll(async () => {
  const roles = Object.fromEntries(['ann', 'bob', 'org_x', ...agents].map((agent) => [agent, ['viewer']]));
  const registry = registryOf({ acme: roles });
  registry.addOrganisation('org_x', { spend: ['ann', 'bob'], read: ['ann', 'bob', 'cat'] });
  node = await startEscrowNode(database, { registry });
});
afterAll(async () => {
  expect(await readViolations(poolClient(database.pool))).toEqual([]);
  await node.stop();
  await database.close();
});

let holdId: string;
let names = 0;
beforeEach(() => {
  holdId = `h${(names += 1)}`;
});

const call: EscrowNode['call'] = (...args) => node.call(...args);
const record = (agent: string) => node.as(agent)('escrow_hold', { holdId });
const reserve = (agent: string, payer = agent) =>
  node.as(agent)('escrow_hold', { holdId, condition: { amount: 1, agent: payer } });
const holdsShown = async (who: EscrowNode['call'], org: string) =>
  (await who('escrow_status', { org }))['holds'] as Fields;
const live = async () =>
  (
    await database.pool.query<{ owner: string }>(
      "SELECT owner FROM escrow.holds WHERE hold_id = $1 AND state = 'held' ORDER BY owner",
      [holdId],
    )
  ).rows.map(({ owner }) => owner);

it('an id that another holds under is answered like one that nobody does', async () => {
  await reserve('ann');
  const taken = await reserve('bob');
  const { expiresAt } = taken;
  expect(taken).toEqual({ held: true, holdId, expiresAt, reserved: 1 });
  for (const call of [node.as('cat'), node.as('dan')]) {
    expect(await call('escrow_release', { holdId })).toEqual({ released: false, holdId });
    await expect(call('escrow_release', { holdId, agent: 'ann' })).rejects.toThrow('FORBIDDEN');
    await expect(call('escrow_release', { holdId: 'nobodys', agent: 'ann' })).rejects.toThrow('FORBIDDEN');
  }
  expect(await reserve('ann')).toMatchObject({ held: false, code: 'E_HOLD_EXISTS', reason: 'hold_exists' });
  expect(await node.as('bob')('escrow_release', { holdId })).toEqual({ released: true, holdId });
  expect(await node.as('bob')('escrow_release', { holdId })).toEqual({ released: false, holdId });
  expect(await live()).toEqual(['tok:ann']);
  expect(await node.as('ann')('escrow_release', { holdId, agentId: 'ann' })).toEqual({ released: true, holdId });
  expect(await reserve('ann')).toMatchObject({ held: true });
});

it('twenty who choose the same id at once hold each, and again none', async () => {
  const first = await Promise.all(agents.map(record));
  expect(first.filter(({ held }) => held === true)).toHaveLength(20);
  const again = await Promise.all(agents.map(record));
  expect(again.filter(({ code }) => code === 'E_HOLD_EXISTS')).toHaveLength(20);
  const released = await Promise.all(agents.map((agent) => node.as(agent)('escrow_release', { holdId })));
  expect(released.filter((answer) => answer['released'] === true)).toHaveLength(20);
  expect(await live()).toEqual([]);
});

it('an operator gives back the only one under an id, and names whose where there are several', async () => {
  await reserve('ann');
  expect(await call('escrow_release', { holdId, agent: 'bob' })).toEqual({ released: false, holdId });
  expect(await call('escrow_release', { holdId, agent: 'operator' })).toEqual({ released: false, holdId });
  expect(await call('escrow_release', { holdId })).toEqual({ released: true, holdId });
  await reserve('ann');
  await reserve('bob');
  await call('escrow_hold', { holdId });
  for (const key of ['one', 'other']) {
    expect(await call('escrow_release', { holdId }, { idempotencyKey: `${holdId} ${key}` })).toMatchObject({
      released: false,
      holdId,
      code: 'E_AMBIGUOUS',
      error: expect.stringContaining('name the agent'),
    });
  }
  expect(await live()).toHaveLength(3);
  expect(await call('escrow_release', { holdId, agent: 'operator' })).toEqual({ released: true, holdId });
  expect(await call('escrow_release', { holdId, agent: 'operator' })).toEqual({ released: false, holdId });
  expect(await call('escrow_release', { holdId, agent: 'bob' })).toEqual({ released: true, holdId });
  expect(await live()).toEqual(['tok:ann']);
  const keyed = { idempotencyKey: `${holdId} last` };
  expect(await call('escrow_release', { holdId }, keyed)).toEqual({ released: true, holdId });
  await reserve('bob');
  expect(await call('escrow_release', { holdId }, keyed)).toEqual({ released: true, holdId, replayed: true });
  expect(await live()).toEqual(['tok:bob']);
});

it('those past their time are not in the way of an operator', async () => {
  await record('ann');
  await record('bob');
  await record('a1');
  await database.pool.query(
    "UPDATE escrow.holds SET expires_at = now() - interval '1 ms' WHERE hold_id = $1 AND owner <> 'tok:bob'",
    [holdId],
  );
  expect(await call('escrow_release', { holdId })).toEqual({ released: true, holdId });
  expect(await record('ann')).toMatchObject({ held: true });
});

it('the status of an organisation shows those of all its spenders, the own one under the plain id', async () => {
  await reserve('ann', 'org_x');
  await reserve('bob', 'org_x');
  const mine = (holds: Fields) =>
    Object.keys(holds)
      .filter((name) => name.startsWith(holdId))
      .sort();
  expect(mine(await holdsShown(node.as('ann'), 'org_x'))).toEqual([holdId, `${holdId}#tok:bob`]);
  expect(mine(await holdsShown(node.as('bob'), 'org_x'))).toEqual([holdId, `${holdId}#tok:ann`]);
  expect(mine(await holdsShown(node.as('cat'), 'org_x'))).toEqual([holdId, `${holdId}#tok:bob`]);
});

it('who has the id of an organisation for a name neither sees nor is seen through it', async () => {
  await reserve('ann', 'org_x');
  const before = await holdsShown(node.as('cat'), 'org_x');
  const own = await node.as('org_x')('escrow_hold', { holdId: `${holdId}/own` });
  expect(own).toMatchObject({ held: true });
  expect(await holdsShown(node.as('cat'), 'org_x')).toEqual(before);
  expect(await node.as('org_x')('escrow_status')).toMatchObject({ budgets: 0, holds: 1 });
  expect(await node.as('org_x')('escrow_status', { org: 'org_x' })).toMatchObject({ budget: null, holds: {} });
});

it('a workspace that a stranger asks about looks like none', async () => {
  const outcomes = await Promise.all(
    ['acme', 'ghost'].map(async (workspaceId) => {
      const stranger = node.as('stranger');
      const condition = { amount: 1, workspace: workspaceId, agent: 'stranger' };
      const [hold, draw, pool] = [
        await stranger('escrow_hold', { holdId, condition }),
        await stranger('escrow_workspaceRecordSpend', { workspaceId, amount: 1 }),
        await stranger('escrow_getWorkspacePool', { workspaceId }),
      ];
      const can = await stranger('escrow_workspaceCanSpend', { workspaceId }).catch(({ message }: Error) => message);
      const limit = { workspaceId, agentId: 'ann', limit: 1 };
      const set = await stranger('escrow_setWorkspaceMemberLimit', limit).catch(({ message }: Error) => message);
      return { hold, draw, pool, can, set };
    }),
  );
  expect(outcomes[0]).toEqual(outcomes[1]);
  expect(outcomes[0]).toMatchObject({ hold: { code: 'E_UNKNOWN_WORKSPACE' }, can: 'FORBIDDEN', set: 'RLS_DENIED' });
});

it("holds that an earlier version wrote go on: repeated, released, swept, and in nobody else's way", async () => {
  await reserve('ann');
  await database.pool.query("UPDATE escrow.holds SET claim = hold_id WHERE hold_id = $1 AND owner = 'tok:ann'", [
    holdId,
  ]);
  expect(await reserve('ann')).toMatchObject({ code: 'E_HOLD_EXISTS' });
  expect(await reserve('bob')).toMatchObject({ held: true });
  expect(await node.as('ann')('escrow_release', { holdId })).toEqual({ released: true, holdId });
  expect(await record('ann')).toMatchObject({ held: true });
  await database.pool.query(
    "UPDATE escrow.holds SET claim = hold_id, expires_at = now() - interval '1 ms' WHERE hold_id = $1 AND owner = 'tok:ann' AND state = 'held'",
    [holdId],
  );
  const { ledger } = node.deps;
  await sweepHolds(poolClient(database.pool), ledger, { clock: Date, log: createLog('silent', {}) });
  expect(await live()).toEqual(['tok:bob']);
});
