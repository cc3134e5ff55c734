import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EscrowNode, registryOf, startEscrowNode } from '../../testing/escrow-test-bed.ts';
import { readViolations } from './invariants.ts';

const database = await migratedDatabase();
const client = poolClient(database.pool);
const registry = registryOf({ acme: { ann: ['admin'], bob: ['viewer'] } });
let node: EscrowNode;
beforeAll(async () => {
  node = await startEscrowNode(database, { registry });
});
afterAll(async () => {
  await node.stop();
  await database.close();
});

let names = 0;

/** An account with a payment, a live hold and a chain of entries. */
async function usedAccount(): Promise<string> {
  const account = `used${(names += 1)}`;
  await node.call('escrow_create', { org: account });
  await node.market.debit({ payer: { agent: account }, amount: 10, payee: `paid${names}`, ref: `d ${account}` });
  await node.call('escrow_hold', {
    holdId: `hold/${account}`,
    condition: { amount: 5, agent: account, ttlMs: 600_000 },
  });
  return account;
}

const ENTRY = "account = $1 AND kind = 'spend'";
const CORRUPTIONS = [
  ['balances', 'UPDATE escrow.accounts SET spent = spent + 1 WHERE account_id = $1'],
  ['balances', 'UPDATE escrow.accounts SET earned = earned + 1 WHERE account_id = $1'],
  ['pending', 'UPDATE escrow.accounts SET pending = pending + 1 WHERE account_id = $1'],
  ['pending', "UPDATE escrow.holds SET state = 'released' WHERE account = $1"],
  ['chain', `UPDATE escrow.entries SET amount = amount + 1 WHERE ${ENTRY}`],
  ['chain', `UPDATE escrow.entries SET memo = 'never said' WHERE ${ENTRY}`],
  ['chain', "DELETE FROM escrow.entries WHERE account = $1 AND kind = 'limit'"],
  ['chain-end', `DELETE FROM escrow.entries WHERE ${ENTRY}`],
] as const;

describe('the audit of the ledger', () => {
  it('finds nothing where nothing was done', async () => {
    await usedAccount();
    expect(await readViolations(client)).toEqual([]);
    expect(await node.deps.audit.run()).toEqual([]);
  });

  it.each(CORRUPTIONS)('freezes an account whose %s do not hold (%s), and no other', async (invariant, sql) => {
    const fresh = await migratedDatabase();
    const own = await startEscrowNode(fresh, { registry });
    try {
      for (const org of ['sick', 'well']) {
        await own.call('escrow_create', { org });
        await own.market.debit({ payer: { agent: org }, amount: 10, ref: `d ${org}` });
        await own.call('escrow_hold', { holdId: org, condition: { amount: 5, agent: org, ttlMs: 600_000 } });
      }
      const connection = await fresh.pool.connect();
      await connection.query('SET session_replication_role = replica');
      await connection.query(sql, ['sick']);
      await connection.query('SET session_replication_role = DEFAULT');
      connection.release();
      const found = await own.deps.audit.run();
      expect(found.map(({ invariant: name }) => name)).toContain(invariant);
      expect(await own.market.debit({ payer: { agent: 'sick' }, amount: 1, ref: 'x' })).toMatchObject({
        code: 'E_LEDGER_FROZEN',
      });
      expect(await own.call('escrow_hold', { holdId: 'n', condition: { amount: 1, agent: 'sick' } })).toMatchObject({
        held: false,
        code: 'E_LEDGER_FROZEN',
      });
      expect(await own.call('escrow_create', { org: 'sick', budget: 5000 })).toMatchObject({ code: 'E_LEDGER_FROZEN' });
      expect(await own.call('escrow_canSpend', { agent: 'sick' })).toMatchObject({ allowed: false, reason: 'frozen' });
      expect(await own.call('escrow_status', { org: 'sick' })).toMatchObject({ ok: true, org: 'sick' });
      expect(await own.market.debit({ payer: { agent: 'well' }, amount: 1, ref: 'y' })).toMatchObject({ ok: true });
      expect(await own.deps.audit.holds()).toBe(false);
    } finally {
      await own.stop();
      await fresh.close();
    }
  });

  it('tells of a freeze once, and only what an operator repaired is written to again', async () => {
    const account = await usedAccount();
    await database.pool.query('UPDATE escrow.accounts SET spent = spent + 7 WHERE account_id = $1', [account]);
    await node.deps.audit.run();
    await node.deps.audit.run();
    const { rows } = await database.pool.query(`SELECT payload FROM escrow.outbox WHERE name = 'escrow:frozen'`);
    expect(rows).toEqual([{ payload: { account, reason: 'balances', parties: [account] } }]);
    expect(await node.call('escrow_release', { holdId: `hold/${account}` })).toMatchObject({ code: 'E_LEDGER_FROZEN' });
    await database.pool.query('UPDATE escrow.accounts SET spent = spent - 7 WHERE account_id = $1', [account]);
    expect(await node.market.debit({ payer: { agent: account }, amount: 1, ref: 'still' })).toMatchObject({
      code: 'E_LEDGER_FROZEN',
    });
    expect(await node.call('escrow_create', { org: account })).toMatchObject({ created: false, budget: { spent: 10 } });
    expect(await node.market.debit({ payer: { agent: account }, amount: 1, ref: 'again' })).toMatchObject({ ok: true });
    const { rows: repairs } = await database.pool.query(
      `SELECT kind FROM escrow.entries WHERE account = $1 ORDER BY no`,
      [account],
    );
    expect(repairs.map(({ kind }) => kind)).toEqual(['limit', 'spend', 'repair', 'spend']);
    expect(await node.deps.audit.run()).toEqual([]);
    expect(await node.deps.audit.holds()).toBe(true);
  });

  it('tells the identity of a scenario that its line is frozen', async () => {
    const account = 'scenario:materialize:ann';
    await node.call('escrow_create', { org: account });
    await database.pool.query('UPDATE escrow.accounts SET spent = spent + 7 WHERE account_id = $1', [account]);
    await node.deps.audit.run();
    const { rows } = await database.pool.query(
      `SELECT payload->'parties' AS parties FROM escrow.outbox WHERE payload->>'account' = $1 AND name = 'escrow:frozen'`,
      [account],
    );
    expect(rows).toEqual([{ parties: ['ann'] }]);
    await database.pool.query('UPDATE escrow.accounts SET spent = spent - 7 WHERE account_id = $1', [account]);
    await node.call('escrow_create', { org: account });
  });

  it('freezes a pool whose members do not add up', async () => {
    await node.call('escrow_setWorkspaceBudget', { workspaceId: 'acme', amount: 10, adminId: 'ann' });
    await node.call('escrow_workspaceRecordSpend', { workspaceId: 'acme', agentId: 'bob', amount: 1 });
    await database.pool.query("UPDATE escrow.members SET spent = spent + 1 WHERE workspace_id = 'acme'");
    expect(await node.deps.audit.run()).toEqual([{ invariant: 'members', account: 'ws:acme' }]);
    const draw = { workspaceId: 'acme', agentId: 'bob', amount: 1 };
    expect(await node.call('escrow_workspaceRecordSpend', draw)).toMatchObject({
      recorded: false,
      code: 'E_LEDGER_FROZEN',
    });
    expect(await node.call('escrow_workspaceCanSpend', draw)).toMatchObject({ allowed: false, reason: 'frozen' });
    const frozen = { code: 'E_LEDGER_FROZEN' };
    const limit = { workspaceId: 'acme', agentId: 'bob', limit: 5, adminId: 'ann' };
    expect(await node.call('escrow_setWorkspaceMemberLimit', limit)).toMatchObject(frozen);
    expect(await node.as('ann')('escrow_setWorkspaceBudget', { workspaceId: 'acme', amount: 20 })).toMatchObject(
      frozen,
    );
    await database.pool.query("UPDATE escrow.members SET spent = spent - 1 WHERE workspace_id = 'acme'");
    expect(
      await node.call('escrow_setWorkspaceBudget', { workspaceId: 'acme', amount: 20, adminId: 'ann' }),
    ).toMatchObject({ pool: { limit: 20 } });
  });

  it('freezes an account whose hold nobody closed, until an operator wants it closed', async () => {
    const account = await usedAccount();
    const late = "UPDATE escrow.holds SET expires_at = now() - interval '61 seconds' WHERE account = $1";
    await database.pool.query(late, [account]);
    expect(await node.deps.audit.run()).toEqual([{ invariant: 'deadlines', account }]);
    expect(await node.market.debit({ payer: { agent: account }, amount: 1, ref: `late ${account}` })).toMatchObject({
      code: 'E_LEDGER_FROZEN',
    });
    expect(await node.call('escrow_create', { org: account })).toMatchObject({ created: false });
    expect(await node.market.debit({ payer: { agent: account }, amount: 1, ref: `mended ${account}` })).toMatchObject({
      ok: true,
    });
    expect(await node.call('escrow_status', { org: account })).toMatchObject({ budget: { pending: 0 }, holds: {} });
    expect(await node.deps.audit.run()).toEqual([]);
  });

  it('finds a sink that is not what was paid into it', async () => {
    await node.market.debit({ payer: { agent: await usedAccount() }, amount: 1, payee: 'sink:odd', ref: 'odd' });
    await database.pool.query("UPDATE escrow.sinks SET earned = earned + 1 WHERE account_id = 'sink:odd'");
    expect(await node.deps.audit.run()).toEqual([{ invariant: 'sinks', account: 'sink:odd' }]);
    expect(await node.deps.audit.holds()).toBe(false);
    await database.pool.query("UPDATE escrow.sinks SET earned = earned - 1 WHERE account_id = 'sink:odd'");
    await node.deps.audit.run();
    expect(await node.deps.audit.holds()).toBe(true);
  });

  it('entries cannot be changed in the ordinary way', async () => {
    const account = await usedAccount();
    for (const sql of ['UPDATE escrow.entries SET amount = 1', 'DELETE FROM escrow.entries']) {
      await expect(database.pool.query(`${sql} WHERE account = '${account}'`)).rejects.toThrow('never changed');
    }
  });
});

describe('a look at one account', () => {
  const MANY = 2000;

  it('is at its own rows and, for what it earned, once at each entry', async () => {
    await using fresh = await migratedDatabase();
    await fresh.pool.query(
      `INSERT INTO escrow.entries (entry_id, account, no, at, kind, "by", payee, amount, hash)
       SELECT 'ent' || n, 'other', n, now(), 'spend', 'x', 'sink:x', 0, '' FROM generate_series(1, ${MANY}) n`,
    );
    await fresh.pool.query('ANALYZE escrow.entries');
    const looked = await rowsLookedAt(poolClient(fresh.pool), (tx) => readViolations(tx, ['one']));
    expect(looked).toBeLessThanOrEqual(MANY);
  });
});
