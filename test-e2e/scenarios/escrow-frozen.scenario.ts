/** What the ledger does about rows that somebody changed. */
import { expect } from 'vitest';
import { Caller, type Fields, sendTo } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { withDatabase } from '../instruments/stored-rows.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { EACH_APART, newName, ownTarget, verifies } from '../verifies.ts';

const target = ownTarget({}, { apart: EACH_APART });

type Statement = readonly [sql: string, ...values: unknown[]];

/** Somebody who rules the database changes rows while the ledger is away. */
async function tamper(...statements: readonly Statement[]): Promise<void> {
  const { place, escrows } = target.get();
  await Promise.all(escrows.map((one) => one.stop()));
  await withDatabase(place, async (pool) => {
    for (const [sql, ...values] of statements) await pool.query(sql, values);
  });
  for (const one of escrows) one.spawn();
  const operator = new Caller(place);
  await waitFor(() => operator.ok('escrow_status'), {
    what: 'the ledger to answer',
    ignoreErrors: () => true,
  });
}

/** Status of the gateway, and of the ledger as it shows it. */
async function ledgerCheck(caller: Caller): Promise<string> {
  const { status, text } = await sendTo(`${caller.url()}/ready`, { method: 'GET' });
  const { checks } = JSON.parse(text) as { checks: { name: string; status: string }[] };
  return `${status} ${checks.find(({ name }) => name === 'escrow:ledger')?.status}`;
}

verifies(
  'escrow:frozen',
  async ({ socket }) => {
    const { place } = target.get();
    const operator = new Caller(place);
    const [bad, good] = [newName('bad'), newName('good')];
    const members = await createMembers(place, 'admin', 'editor');
    const { workspace: workspaceId } = members;
    const [admin, editor] = [memberAt(members, 0), memberAt(members, 1)];
    const spend = { workspaceId, amount: 1 };
    const limit = { workspaceId, amount: 50, adminId: admin.id };
    const holdId = newName('h');
    const holdOn = (org: string) => ({ holdId: newName('h'), condition: { org, amount: 1 } });
    const before = await socket();
    await before.subscribe();
    for (const org of [bad, good]) await operator.ok('escrow_create', { org });
    const made = await before.until('the budget', ({ account }) => account === bad);
    await operator.ok('escrow_hold', { holdId, condition: { org: bad, amount: 3 } });
    await operator.ok('escrow_setWorkspaceBudget', limit);
    await editor.caller.ok('escrow_workspaceRecordSpend', spend);

    await tamper(['UPDATE escrow.accounts SET spent = spent + 5000000 WHERE account_id = $1', bad]);
    const told = (name: string) => (event: Fields) => event.name === name && event.account === bad;
    // Told while the gateways may have been away too: heard by who goes on where it was.
    const after = await socket();
    expect(await after.subscribe({ after: made.id })).toMatchObject({ ok: true });
    await after.until('the freezing', told('escrow:frozen'));
    expect(await operator.ok('escrow_canSpend', { agent: bad })).toMatchObject({ allowed: false, reason: 'frozen' });
    expect(await operator.refused('E_LEDGER_FROZEN', 'escrow_hold', holdOn(bad))).toMatchObject({ held: false });
    await operator.refused('E_LEDGER_FROZEN', 'escrow_release', { holdId });
    await operator.refused('E_LEDGER_FROZEN', 'escrow_create', { org: bad, budget: 5000 });
    expect(await operator.ok('escrow_status', { org: bad })).toMatchObject({
      budget: { spent: 5, pending: 3, limit: 1000 },
      holds: { [holdId]: { amount: 3 } },
    });
    await operator.ok('escrow_hold', holdOn(good));
    await editor.caller.ok('escrow_workspaceRecordSpend', spend);
    await waitFor(async () => (await ledgerCheck(operator)) === '200 degraded', {
      what: '/ready to show it, and to stay ready',
    });

    await tamper(['UPDATE escrow.members SET spent = spent - 1000000 WHERE workspace_id = $1', workspaceId]);
    expect(await editor.caller.ok('escrow_workspaceCanSpend', { workspaceId })).toMatchObject({ reason: 'frozen' });
    await editor.caller.refused('E_LEDGER_FROZEN', 'escrow_workspaceRecordSpend', spend);
    await operator.ok('escrow_hold', holdOn(good));

    await tamper(
      ['UPDATE escrow.members SET spent = spent + 1000000 WHERE workspace_id = $1', workspaceId],
      ['UPDATE escrow.accounts SET spent = spent - 5000000 WHERE account_id = $1', bad],
    );
    await operator.refused('E_LEDGER_FROZEN', 'escrow_hold', holdOn(bad));
    await admin.caller.refused('E_LEDGER_FROZEN', 'escrow_setWorkspaceBudget', { workspaceId, amount: 50 });
    const atRepair = await socket();
    await atRepair.subscribe();
    expect(await operator.ok('escrow_create', { org: bad })).toMatchObject({ budget: { spent: 0, pending: 3 } });
    await atRepair.until('the repair', told('escrow:repaired'));
    await operator.ok('escrow_setWorkspaceBudget', limit);
    await operator.ok('escrow_hold', holdOn(bad));
    expect(await editor.caller.ok('escrow_workspaceRecordSpend', spend)).toMatchObject({ spent: 3, poolSpent: 3 });
    await waitFor(async () => (await ledgerCheck(operator)) === '200 ok', { what: '/ready to be well' });
    for (const event of ['escrow:frozen', 'escrow:repaired']) {
      const audited = async () => {
        const { entries } = await operator.ok<{ entries: Fields[] }>('svc_audit_list', { event, limit: 100 });
        return entries.filter(({ data }) => (data as Fields).account === bad);
      };
      await waitFor(async () => (await audited()).length > 0, { what: `the audit of ${event}` });
      expect(await audited()).toHaveLength(1);
    }
  },
  { on: target },
);
