/** Many callers of one account: how they are folded, and that nobody's answer is somebody else's. */
import { migratedDatabase } from '@svc/testing/database.ts';
import { afterAll, describe, expect, it } from 'vitest';
import { callWith, openStoreBed } from '../../testing/escrow-store-bed.ts';
import { createLedgerWriter } from './ledger-writer.ts';
import type { Move, Outcome } from './move.ts';

const CREDIT = 1_000_000n;
const database = await migratedDatabase();
afterAll(() => database.close());
const bed = await openStoreBed(database);
const { ledger } = bed;

const payer = (account: string) => ({ account, member: null, opensWith: null });
const debit = (account: string, amount: bigint, over = {}) =>
  ledger.debit(callWith(over), {
    payer: payer(account),
    amount,
    payee: 'sink:spend',
    payeeOpensWith: 0n,
    by: 'tester',
    memo: null,
    reference: null,
  });
const limit = (account: string, credits: bigint) =>
  ledger.setLimit(callWith(), { account, limit: credits * CREDIT, opensWith: 0n, by: 'tester', repairs: false });
const transactions = async () => {
  const { rows } = await database.pool.query<{ n: number }>(
    'SELECT count(DISTINCT xmin::text)::int AS n FROM escrow.entries',
  );
  return rows[0]?.n ?? 0;
};

describe('folding', () => {
  it('takes few transactions for many callers, and each has its own answer', async () => {
    await limit('hot', 1000n);
    const before = await transactions();
    const done = await Promise.all(Array.from({ length: 500 }, () => debit('hot', CREDIT)));
    const left = done.flatMap(({ decision }) => (decision.ok ? [decision.value.available] : []));
    expect(new Set(left).size).toBe(500);
    expect(Math.min(...left)).toBe(500);
    expect((await transactions()) - before).toBeLessThan(20);
  });

  it('refuses what does not fit and lets through what does, in the order of arrival', async () => {
    await limit('mixed', 10n);
    const amounts = [6n, 6n, 4n, 1n];
    const done = await Promise.all(amounts.map((amount) => debit('mixed', amount * CREDIT)));
    expect(done.map(({ decision }) => (decision.ok ? decision.value.available : decision.code))).toEqual([
      4,
      'E_BUDGET',
      0,
      'E_BUDGET',
    ]);
  });

  it('gives twins of one key one outcome, and others of the transaction theirs', async () => {
    await limit('keyed', 100n);
    const scope = (argsHash: string) => ({
      idempotency: { principal: 'p', tool: 't', key: 'same', argsHash },
    });
    const [one, twin, other, stranger] = await Promise.allSettled([
      debit('keyed', CREDIT, scope('h')),
      debit('keyed', CREDIT, scope('h')),
      debit('keyed', 2n * CREDIT, scope('different')),
      debit('keyed', 3n * CREDIT),
    ]);
    expect(one).toMatchObject({ value: { replayed: false, decision: { ok: true } } });
    expect(twin).toMatchObject({ value: { replayed: true, decision: { ok: true } } });
    expect(other).toMatchObject({ reason: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(stranger).toMatchObject({ value: { decision: { ok: true, value: { available: 96 } } } });
  });

  it('lets nobody suffer from the mistake of another one', async () => {
    await limit('innocent', 10n);
    const poison = ledger.placeHold(callWith(), {
      holdId: 'poison',
      payer: null,
      amount: 0n,
      condition: { text: 'a\0b' },
      ttlMs: 1000,
      deadlineAt: null,
      ownerKind: 'caller',
      owner: 'p',
      bodyHash: null,
    });
    const [bad, good] = await Promise.allSettled([poison, debit('innocent', CREDIT)]);
    expect(bad).toMatchObject({ status: 'rejected' });
    expect(good).toMatchObject({ status: 'fulfilled', value: { decision: { ok: true } } });
  });

  it('does not begin what is late already', async () => {
    await limit('late', 10n);
    await expect(debit('late', CREDIT, { deadlineAt: Date.now() - 1 })).rejects.toMatchObject({ code: 'TIMEOUT' });
  });
});

it('a queue has an end', async () => {
  const release = Promise.withResolvers<void>();
  const writer = createLedgerWriter({
    lanes: 1,
    clock: bed.platform.clock,
    async commit(moves: readonly Move[]) {
      await release.promise;
      return moves.map((): Outcome => ({ decision: { ok: true, value: null }, replayed: false }));
    },
  });
  const move = { call: callWith(), needs: {}, decide: () => ({ ok: false as const, code: 'E_BUDGET' as const }) };
  const sent = Array.from({ length: 12_000 }, async () => writer.submit(move));
  release.resolve();
  const done = await Promise.allSettled(sent);
  const refused = done.filter((one) => one.status === 'rejected');
  expect(refused.length).toBeGreaterThan(1000);
  expect(refused[0]).toMatchObject({ reason: { code: 'E_BUSY' } });
  expect(done.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(10_000);
});
