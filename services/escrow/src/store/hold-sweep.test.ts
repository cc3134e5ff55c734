import { setTimeout as delay } from 'node:timers/promises';
import { startService } from '@svc/runtime/service.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { rowsLookedAt } from '@svc/testing/rows-looked-at.ts';
import { expect, it } from 'vitest';
import { callWith, openStoreBed } from '../../testing/escrow-store-bed.ts';
import { escrowService } from '../service.ts';
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
  const sweep = () => Promise.all(sweepers.map((one) => sweepHolds(base.client, one, platform)));
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

it('holds that cannot be closed, however many, keep none of the others open', async () => {
  await using database = await migratedDatabase();
  const { base, ledger, platform } = await openStoreBed(database);
  const errors: unknown[] = [];
  const place = (holdId: string, account: string) =>
    ledger.placeHold(callWith(), {
      holdId,
      payer: { account, member: null, opensWith: 1000n * CREDIT },
      amount: CREDIT,
      condition: null,
      ttlMs: MINIMUM_MS,
      deadlineAt: null,
      ownerKind: 'service',
      owner: 'market',
      bodyHash: null,
    });
  for (let n = 0; n < 120; n += 1) await place(`broken:${n}`, `broken-${n}`);
  await place('sound', 'whole');
  await database.pool.query(`DELETE FROM escrow.accounts WHERE account_id LIKE 'broken-%'`);
  await delay(2 * MINIMUM_MS);
  const log = { error: (said: unknown) => void errors.push(said) };
  await sweepHolds(base.client, ledger, { clock: platform.clock, log });
  const { rows } = await database.pool.query('SELECT state, count(*)::int FROM escrow.holds GROUP BY 1 ORDER BY 1');
  expect(rows).toEqual([
    { state: 'expired', count: 1 },
    { state: 'held', count: 120 },
  ]);
  expect(errors).toHaveLength(120);
  // A start sweeps too.
  const service = await startService(platform, escrowService);
  await service.stop();
});

it('looks at what is due, however much is not', async () => {
  await using database = await migratedDatabase();
  const { base, ledger, platform } = await openStoreBed(database);
  await database.pool.query(
    `INSERT INTO escrow.holds (hold_id, amount, state, owner_kind, owner, held_at, expires_at)
     SELECT 'h' || n, 0, 'held', 'caller', 'ann', now(), now() + interval '1 day' FROM generate_series(1, 2000) n`,
  );
  await database.pool.query('ANALYZE escrow.holds');
  expect(await rowsLookedAt(base.client, (client) => sweepHolds(client, ledger, platform))).toBe(0);
});
