import { embeddedDatabase } from '@svc/testing/database.ts';
import { expect, test } from 'vitest';
import { callWith, openStoreBed } from '../escrow-store-bed.ts';

test('first', async () => {
  await using database = await embeddedDatabase();
  const { ledger, base } = await openStoreBed(database);
  const M = 1_000_000n;
  console.log(
    await ledger.setLimit(callWith(), { account: 'o1', limit: null, opensWith: 1000n * M, by: 'x', repairs: false }),
  );
  const payer = { account: 'o1', member: null, opensWith: null };
  console.log(
    await ledger.placeHold(callWith(), {
      holdId: 'trade:1',
      payer,
      amount: 600n * M,
      condition: { a: 1 },
      ttlMs: 1000,
      ownerKind: 'service',
      owner: 'market',
      bodyHash: 'x',
    }),
  );
  console.log(
    await ledger.capture(callWith(), {
      holdId: 'trade:1',
      owner: 'market',
      amount: null,
      payee: 'seller',
      payeeOpensWith: 0n,
    }),
  );
  const all = await Promise.all(
    Array.from({ length: 500 }, () =>
      ledger.debit(callWith(), {
        payer,
        amount: 1n * M,
        payee: 'sink:spend',
        payeeOpensWith: 0n,
        by: 'x',
        memo: null,
        reference: null,
        drawsPerMinute: 0,
      }),
    ),
  );
  console.log(
    all.filter((o) => o.decision.ok).length,
    all.find((o) => !o.decision.ok),
  );
  console.log(
    (await base.pool.query('select * from escrow.accounts')).rows,
    (await base.pool.query('select count(*) from escrow.postings')).rows,
    (await base.pool.query('select name, payload from escrow.outbox limit 3')).rows,
  );
  expect(1).toBe(1);
});
test('inv', async () => {
  await using database = await embeddedDatabase();
  const { ledger, base, platform } = await openStoreBed(database);
  const M = 1_000_000n;
  await ledger.setLimit(callWith(), { account: 'o1', limit: null, opensWith: 1000n * M, by: 'x', repairs: false });
  const payer = { account: 'o1', member: null, opensWith: null };
  await ledger.debit(callWith(), {
    payer,
    amount: 1n * M,
    payee: 'sink:spend',
    payeeOpensWith: 0n,
    by: 'x"\n\u0001ü😀',
    memo: 'a\\b\u2028',
    reference: null,
    drawsPerMinute: 0,
  });
  const { readViolations } = await import('./invariants.ts');
  console.log(await readViolations(base.client));
  await base.pool.query('update escrow.accounts set spent = spent + 1');
  console.log(await readViolations(base.client));
  const audit = (await import('./ledger-audit.ts')).createLedgerAudit(base, platform);
  console.log(await audit.run(), await audit.holds());
  console.log(
    await ledger.debit(callWith(), {
      payer,
      amount: 1n * M,
      payee: 'sink:spend',
      payeeOpensWith: 0n,
      by: 'x',
      memo: null,
      reference: null,
      drawsPerMinute: 0,
    }),
  );
});
