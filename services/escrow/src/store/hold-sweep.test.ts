import { setTimeout as delay } from 'node:timers/promises';
import { migratedDatabase } from '@svc/testing/database.ts';
import { expect, it } from 'vitest';
import { callWith, openStoreBed } from '../../testing/escrow-store-bed.ts';
import { sweepHolds } from './hold-sweep.ts';
import { readViolations } from './invariants.ts';
import { LedgerStore } from './ledger-store.ts';

const CREDIT = 1_000_000n;
const HOLDS = 500;
const MINIMUM_MS = 50;
const SPREAD_MS = 450;

it('three sweepers at once close each hold once, none before its time', async () => {
  await using database = await migratedDatabase();
  const { base, ledger, platform } = await openStoreBed(database);
  const sweepers = [ledger, new LedgerStore(base, platform), new LedgerStore(base, platform)];
  const owner = { account: 'o', member: null, opensWith: 1_000_000n * CREDIT };
  const place = (n: number) =>
    ledger.placeHold(callWith(), {
      holdId: `trade:${n}`,
      payer: n % 5 === 0 ? null : owner,
      amount: CREDIT,
      condition: null,
      ttlMs: MINIMUM_MS + (n % SPREAD_MS),
      deadlineAt: null,
      ownerKind: 'service',
      owner: 'market',
      bodyHash: null,
    });
  await Promise.all(Array.from({ length: HOLDS }, (_, n) => place(n)));
  const sweep = () => Promise.all(sweepers.map((one) => sweepHolds(base.client, one, () => Date.now())));
  for (let pause = 0; pause <= MINIMUM_MS + SPREAD_MS; pause += 50) {
    await sweep();
    await delay(50);
  }
  await sweep();
  const { rows } = await database.pool.query(
    `SELECT count(*)::int AS holds, count(*) FILTER (WHERE state = 'expired')::int AS expired,
       count(*) FILTER (WHERE closed_at < expires_at)::int AS early,
       (SELECT count(*)::int FROM escrow.outbox WHERE name = 'escrow:expired') AS told,
       (SELECT pending FROM escrow.accounts WHERE account_id = 'o') AS pending FROM escrow.holds`,
  );
  expect(rows).toEqual([{ holds: HOLDS, expired: HOLDS, early: 0, told: HOLDS, pending: '0' }]);
  expect(await readViolations(base.client)).toEqual([]);
});
