/** Spends of the ledger on PostgreSQL, beside the bare guarded UPDATE that they replace, on one account and on many. */
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import type { Database } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { callWith, openStoreBed, type StoreBed } from '../services/escrow/testing/escrow-store-bed.ts';
import { markdownTable, median, quantile, shown } from './figures.ts';

const CALLERS = 64;
const ACCOUNTS = 1000;
const POOL_SIZE = 16;
const WARMUP_MS = 1000;
const LIMIT = 1_000_000_000_000_000n;
const log = { warn() {}, fatal() {} };

type Act = (account: string) => Promise<unknown>;

interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const CASES = [
  { title: 'one account', accounts: 1, aim: '>= 3 x' },
  { title: `${shown(ACCOUNTS)} accounts`, accounts: ACCOUNTS, aim: '>= 50 %' },
];

/** Resolves with a Markdown table, or with why there is none. */
export async function measureMoney(seconds: number, rounds: number): Promise<string> {
  const server = await startPostgres();
  if (server === null) return 'no PostgreSQL: spends were not measured';
  const database = await openPostgresDatabase({ url: server.url, log, poolSize: POOL_SIZE });
  try {
    const bed = await openStoreBed(database);
    const bare = await bareUpdates(database);
    const spends = await ledgerSpends(bed);
    const rows: string[][] = [];
    for (const { title, accounts, aim } of CASES) {
      const base: Rate[] = [];
      const ours: Rate[] = [];
      for (let round = 0; round < rounds; round += 1) {
        base.push(await rateOf(bare, accounts, seconds));
        ours.push(await rateOf(spends, accounts, seconds));
      }
      const factor = medianOf(ours, 'perSecond') / medianOf(base, 'perSecond');
      rows.push(row(`guarded UPDATE, ${title}`, base, '', ''));
      rows.push(row(`spend of the ledger, ${title}`, ours, `${shown(factor, 2)} x`, aim));
    }
    return markdownTable([`${CALLERS} callers`, 'a second', 'p50 ms', 'p99 ms', 'ratio', 'aim'], rows);
  } finally {
    await database.close();
    await server.stop();
  }
}

function medianOf(rates: readonly Rate[], field: keyof Rate): number {
  return median(rates.map((rate) => rate[field]));
}

function row(title: string, rates: readonly Rate[], ratio: string, aim: string): string[] {
  return [
    title,
    shown(medianOf(rates, 'perSecond')),
    shown(medianOf(rates, 'p50Ms'), 2),
    shown(medianOf(rates, 'p99Ms'), 2),
    ratio,
    aim,
  ];
}

function nameOf(index: number): string {
  return `account-${index}`;
}

async function bareUpdates({ pool }: Database): Promise<Act> {
  await pool.query('CREATE TABLE bare (id text PRIMARY KEY, "limit" bigint NOT NULL, spent bigint NOT NULL)');
  await pool.query(`INSERT INTO bare SELECT 'account-' || n, $1, 0 FROM generate_series(0, $2) AS n`, [
    LIMIT,
    ACCOUNTS,
  ]);
  const client = poolClient(pool);
  return (account) =>
    client.$executeRawUnsafe(
      'UPDATE bare SET spent = spent + $2::bigint WHERE id = $1 AND "limit" - spent >= $2::bigint',
      account,
      1,
    );
}

async function ledgerSpends({ ledger }: StoreBed): Promise<Act> {
  const limits = Array.from({ length: ACCOUNTS }, (_, index) =>
    ledger.setLimit(callWith(), {
      account: nameOf(index),
      limit: LIMIT,
      opensWith: 0n,
      by: 'bench',
      repairs: false,
    }),
  );
  await Promise.all(limits);
  return (account) =>
    ledger.debit(callWith(), {
      payer: { account, member: null, opensWith: null },
      amount: 1n,
      payee: 'sink:spend',
      payeeOpensWith: 0n,
      by: 'bench',
      memo: null,
      reference: null,
    });
}

async function rateOf(act: Act, accounts: number, seconds: number): Promise<Rate> {
  const beginsAt = performance.now() + WARMUP_MS;
  const endsAt = beginsAt + seconds * 1000;
  const times: number[] = [];
  const caller = async (number: number): Promise<void> => {
    for (let turn = number; performance.now() < endsAt; turn += 1) {
      const startedAt = performance.now();
      // each caller goes round the accounts in steps of its own, so that no two keep meeting
      await act(nameOf((turn * (2 * number + 1)) % accounts));
      const doneAt = performance.now();
      if (startedAt >= beginsAt && doneAt <= endsAt) times.push(doneAt - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)));
  return { perSecond: times.length / seconds, p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) };
}
