/**
 * `node crash.fixture.ts <database> <action> <buyer> <kill before statement>`: prepares a buyer with a hold, acts once on
 * the ledger and says what it was told. The process kills itself before the given statement of the action (0 = never);
 * `database` is a URL or a directory.
 */
import type { Database } from '@svc/runtime/database.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { callWith, openStoreBed } from './escrow-store-bed.ts';
import type { LedgerStore } from '../src/store/ledger-store.ts';

const [, , place = '', action = '', buyer = '', killBefore = '0'] = process.argv;
const log = { warn() {}, fatal() {} };
const CREDIT = 1_000_000n;
const payer = { account: buyer, member: null, opensWith: null };
const holdId = `trade:${buyer}`;

async function prepare(ledger: LedgerStore): Promise<void> {
  const limit = { account: buyer, limit: 1000n * CREDIT, opensWith: 0n, by: 'test', repairs: false };
  await ledger.setLimit(callWith(), limit);
  await ledger.placeHold(callWith(), {
    holdId,
    payer,
    amount: 50n * CREDIT,
    condition: null,
    ttlMs: 600_000,
    deadlineAt: null,
    ownerKind: 'service',
    owner: 'market',
    bodyHash: 'h',
  });
}

const ACTIONS: Readonly<Record<string, (ledger: LedgerStore) => Promise<unknown>>> = {
  capture: (ledger) =>
    ledger.capture(callWith(), {
      holdId,
      owner: 'market',
      amount: null,
      payee: `seller of ${buyer}`,
      payeeOpensWith: 0n,
    }),
  void: (ledger) => ledger.voidHold(callWith(), { holdId, owner: 'market' }),
  spend: (ledger) => ledger.debit(keyedCall(`once ${buyer}`), spending(10n)),
  /** One spend after the other, each under a key of its own, until the process is killed. */
  async storm(ledger) {
    const start = Date.now();
    for (let n = 0; ; n += 1) {
      const key = `${start}-${n}`;
      const { decision } = await ledger.debit(keyedCall(key), spending(1n));
      if (decision.ok) process.stdout.write(`${key} ${decision.value.entryId}\n`);
    }
  },
};

function keyedCall(key: string) {
  return callWith({ idempotency: { principal: 'p', tool: 't', key, argsHash: 'h' } });
}

function spending(credits: bigint) {
  const amount = credits * CREDIT;
  return { payer, amount, payee: 'sink:spend', payeeOpensWith: 0n, by: 'test', memo: null, reference: null };
}

interface Connection {
  query(...args: unknown[]): Promise<unknown>;
}

/** Statement after statement of whoever connects from now on; the one with the number is never sent. */
function killBeforeStatement(pool: Database['pool'], number: number): void {
  const connect = pool.connect.bind(pool) as () => Promise<Connection>;
  let statements = 0;
  const counted = async (): Promise<Connection> => {
    const client = await connect();
    const query = client.query.bind(client);
    const watched = async (...args: unknown[]): Promise<unknown> => {
      statements += 1;
      if (statements === number) process.kill(process.pid, 'SIGKILL');
      const result = await query(...args);
      // After the last statement nothing more is sent: the answer to COMMIT is what the caller never gets.
      if (args[0] === 'COMMIT' && number > statements) process.kill(process.pid, 'SIGKILL');
      return result;
    };
    return Object.assign(client, { query: watched });
  };
  Object.assign(pool, { connect: counted });
}

const database = place.startsWith('postgresql:')
  ? await openPostgresDatabase({ url: place, log, poolSize: 4 })
  : await openEmbeddedDatabase({ directory: place, log });
const { base, ledger } = await openStoreBed(database);
const act = ACTIONS[action];
if (act === undefined) throw new Error(`no action ${action}`);
await prepare(ledger);
// What the preparation tells is relayed by transactions of its own, which would be taken for those of the action.
await base.outbox.flush();
if (Number(killBefore) > 0) killBeforeStatement(database.pool, Number(killBefore));
process.stdout.write(`${JSON.stringify(await act(ledger))}\n`);
await database.close();
