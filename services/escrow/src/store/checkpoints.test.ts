/** What was read of the ledger once is not read again until its turn comes, and still nothing that contradicts it stays hidden. */
import { poolClient } from '@svc/runtime/transaction.ts';
import type { Database } from '@svc/runtime/database.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { filledDatabase, rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type EscrowNode, startEscrowNode } from '../../testing/escrow-test-bed.ts';
import { catchUp, readOn, readViolations } from './invariants.ts';

/** More than a start reads of a ledger that nobody has read before. */
const MANY = 21_000;

let database: Database;
let node: EscrowNode;
const ended: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  database = await migratedDatabase();
  const mine = database;
  ended.push(() => mine.close());
});
afterAll(async () => {
  for (const end of ended.reverse()) await end();
});

async function start(): Promise<void> {
  node = await startEscrowNode(database);
  const mine = node;
  ended.push(() => mine.stop());
}

/** Accounts with one entry each, as the ledger itself would have written them. */
async function fill(many: number): Promise<void> {
  await database.pool.query(`INSERT INTO escrow.entries (entry_id, account, no, at, kind, "by", payee, amount, hash)
    SELECT 'ent' || n, 'old' || n, 1, to_timestamp(1700000000), 'spend', 'x', 'sink:x', 1, encode(sha256(convert_to(
      json_build_array('ent' || n, 'old' || n, '1', '1700000000000', 'spend', NULL::text, 'x', NULL::text, NULL::text,
        'sink:x', '1', NULL::text, NULL::text)::text, 'UTF8')), 'hex') FROM generate_series(1, ${many}) n`);
  await database.pool.query(`INSERT INTO escrow.accounts
      (account_id, kind, "limit", spent, earned, pending, entry_count, last_hash, version, created_at, created_by)
    SELECT account, 'agent', 10, 1, 0, 0, 1, hash, 1, now(), 'x' FROM escrow.entries`);
  await database.pool.query(`INSERT INTO escrow.sinks VALUES ('sink:x', 0, ${many})`);
  await database.pool.query('ANALYZE');
}

/** As no program of ours could: entries refuse to be changed. */
async function tamper(sql: string): Promise<void> {
  const connection = await database.pool.connect();
  await connection.query(`SET session_replication_role = replica; ${sql}; SET session_replication_role = DEFAULT`);
  connection.release();
}

const pay = (agent: string, ref: string) => node.market.debit({ payer: { agent }, amount: 1, payee: 'paid', ref });

test('an entry that was altered after it was read is found when the whole ledger is read again, and its account frozen', async () => {
  await start();
  await node.call('escrow_create', { org: 'sick' });
  await node.call('escrow_create', { org: 'well' });
  for (const ref of ['one', 'two', 'three']) await pay('sick', ref);
  expect(await node.deps.audit.run()).toEqual([]);
  await tamper("UPDATE escrow.entries SET memo = 'never said' WHERE ref = 'two'");
  await pay('well', 'four');
  expect(await node.deps.audit.run()).toEqual([]);
  expect(await node.deps.audit.readWhole()).toContainEqual({ invariant: 'chain', account: 'sick' });
  expect(await pay('sick', 'five')).toMatchObject({ code: 'E_LEDGER_FROZEN' });
  expect(await node.deps.audit.holds()).toBe(false);
  await tamper("UPDATE escrow.entries SET memo = NULL WHERE ref = 'two'");
  await node.call('escrow_create', { org: 'sick' });
  expect(await pay('sick', 'six')).toMatchObject({ ok: true });
  expect([await node.deps.audit.run(), await node.deps.audit.readWhole()]).toEqual([[], []]);
  expect(await node.deps.audit.holds()).toBe(true);
});

test('payments and refunds between accounts, read in many looks, come to the balances that they made', async () => {
  await start();
  for (const org of ['ann', 'bob']) await node.call('escrow_create', { org });
  const known = poolClient(database.pool);
  for (const round of [1, 2, 3]) {
    const paid = await node.market.debit({ payer: { agent: 'ann' }, amount: 5, payee: 'bob', ref: `a${round}` });
    await node.market.debit({ payer: { agent: 'bob' }, amount: 2, ref: `b${round}` });
    expect(await node.deps.audit.run()).toEqual([]);
    if (!paid.ok) throw new Error(paid.code);
    await node.market.refund({ entryId: paid.value.entryId, amount: 1, ref: `r${round}` });
    expect(await (round === 2 ? node.deps.audit.readWhole() : node.deps.audit.run())).toEqual([]);
  }
  expect(await readViolations(known)).toEqual([]);
  await database.pool.query("UPDATE escrow.accounts SET earned = earned + 1 WHERE account_id = 'bob'");
  expect(await node.deps.audit.run()).toEqual([{ invariant: 'balances', account: 'bob' }]);
});

test('a start waits for the first entries of a ledger that nobody has read, and the rest is read afterwards', async () => {
  await fill(MANY);
  await start();
  expect(await node.deps.audit.holds()).toBe(false);
  const enough = new AbortController();
  enough.abort();
  await node.deps.audit.run(enough.signal);
  expect(await node.deps.audit.holds()).toBe(false);
  expect(await node.deps.audit.run()).toEqual([]);
  expect(await node.deps.audit.holds()).toBe(true);
});

test('a start reads a short ledger whole, and all accounts of a long one', async () => {
  await fill(100);
  await start();
  expect(await node.deps.audit.holds()).toBe(true);
  const frozen = async () =>
    (await database.pool.query('SELECT account_id FROM escrow.accounts WHERE frozen_at IS NOT NULL ORDER BY 1')).rows;
  await tamper("UPDATE escrow.entries SET memo = 'never said' WHERE account = 'old5'");
  await node.stop();
  // As one that ended in the middle of the next reading left it.
  await database.pool.query(
    "UPDATE escrow.verification SET reading = complete + 1, after_account = 'old6', after_no = 1",
  );
  await start();
  expect(await frozen()).toEqual([{ account_id: 'old5' }]);
  await node.stop();
  await database.pool.query("UPDATE escrow.accounts SET spent = spent + 1 WHERE account_id = 'old6'");
  await start();
  expect(await frozen()).toEqual([{ account_id: 'old5' }, { account_id: 'old6' }]);
});

test('a look at all accounts, and a slice of the whole ledger, cost what they read, however many entries were read before', async () => {
  const accounts = 20;
  const each = 1000;
  const client = await filledDatabase([
    `INSERT INTO escrow.entries (entry_id, account, no, at, kind, "by", payee, amount, hash)
     SELECT a || '-' || n, 'acc' || a, n, now(), 'spend', 'x', 'paid', 1, 'h' || n
     FROM generate_series(1, ${accounts}) a, generate_series(1, ${each}) n`,
    `INSERT INTO escrow.accounts
       (account_id, kind, "limit", spent, earned, pending, entry_count, last_hash, version, created_at, created_by)
     SELECT 'acc' || a, 'agent', ${each}, ${each}, 0, 0, ${each}, 'h${each}', 1, now(), 'x'
     FROM generate_series(1, ${accounts}) a`,
    `INSERT INTO escrow.checkpoints SELECT 1, 'acc' || a, ${each - 1}, 'h${each - 1}', ${each - 1}, 0
     FROM generate_series(1, ${accounts}) a`,
  ]);
  expect(await rowsLookedAt(client, (tx) => catchUp(tx, 1n, []))).toBeLessThan(20 * accounts);
  const slice = { generation: 2n, after: { account: 'acc7', no: 500n }, limit: 10 };
  expect(await rowsLookedAt(client, (tx) => readOn(tx, slice, []))).toBeLessThan(20 * slice.limit);
});
