/**
 * `node crash.fixture.ts <database> <act> <prefix> <kill before statement>`: prepares a market of its own, acts once in it
 * under a key, and kills itself before the given statement on the tables of the market or the ledger. With 0 it is never
 * killed: it finishes what was cut off, as at a start, acts under the same key, and says what has become of everything.
 * `database` is a URL or a directory.
 */
import { randomBytes } from 'node:crypto';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import type { Database } from '@svc/runtime/database.ts';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { readViolations } from '../src/store/invariants.ts';
import { type MarketBed, openMarketBed } from './market-store-bed.ts';
import { RealMarket } from './model/real-market.ts';

const [, , place = '', act = '', prefix = '', killBefore = '0'] = process.argv;
const log = { warn() {}, fatal() {} };
const OFFER = { seller: 'a', kind: 'skill', price: 40, supply: 2, unsettled: 'confirm' } as const;
/** What time brings round is sent by its own transactions, at any moment. */
const UPKEEP = /outbox_head|audit_batches WHERE|habitat\.|AS waiting/;
const OWN = /\b(market|escrow)"?\./;

const tradeOf = async (market: RealMarket): Promise<string> => Object.keys((await market.state()).trades)[0] ?? '';
const underKey = (market: RealMarket, key: string) =>
  market.call({ principal: 'crash', tool: key, key: `${prefix} ${key}`, argsHash: 'h' });
const buy = (market: RealMarket, key: string) =>
  market.buy(`trd_${prefix}${randomBytes(4).toString('hex')}`, 0, OFFER, 'b', underKey(market, key));

async function prepare(bed: MarketBed, pool: Database['pool']): Promise<RealMarket> {
  const market = await RealMarket.begin(bed, pool, prefix);
  const { taken, trades } = await market.state();
  if (Object.keys(taken).length === 0) await market.list(0, OFFER);
  if (act === 'buy' || Object.keys(trades).length > 0) return market;
  await buy(market, 'prepare');
  if (act === 'confirm') await market.act(await tradeOf(market), 'deliver', 'a');
  return market;
}

async function doAct(market: RealMarket): Promise<string | null> {
  if (act === 'buy') return buy(market, 'act');
  if (act !== 'deliver' && act !== 'confirm' && act !== 'cancel') throw new Error(`no act ${act}`);
  return market.act(await tradeOf(market), act, act === 'deliver' ? 'a' : 'b', underKey(market, 'act'));
}

interface Connection {
  query(...args: unknown[]): unknown;
}

/** Of whoever takes a connection from now on; the statement with the number is never sent, nor is anything after it. */
function killBeforeStatement({ pool }: Database, number: number): void {
  let statements = 0;
  const watched = new WeakSet<object>();
  pool.on('acquire', (client) => {
    if (watched.has(client)) return;
    watched.add(client);
    const connection: Connection = client;
    const query = connection.query.bind(connection);
    connection.query = (...args) => {
      const [what] = args;
      const text = typeof what === 'string' ? what : (what as { readonly text: string }).text;
      if (OWN.test(text) && !UPKEEP.test(text)) statements += 1;
      if (statements === number) process.kill(process.pid, 'SIGKILL');
      return query(...args);
    };
  });
}

const database = place.startsWith('postgresql:')
  ? await openPostgresDatabase({ url: place, log, poolSize: 8 })
  : await openEmbeddedDatabase({ directory: place, log });
// The same for every process: what one has signed the next one reads.
const bed = await openMarketBed(database, { SVC_AUDIT_KEY: 'the-key-of-a-test-that-is-killed-again-and-again' });
const market = await prepare(bed, database.pool);
const violations = () =>
  readViolations(poolClient(database.pool), bed.ports.money, { closedWithinMs: null, graceMs: 0 });
if (Number(killBefore) > 0) {
  await bed.base.outbox.flush();
  killBeforeStatement(database, Number(killBefore));
  await doAct(market);
  // There were fewer: all of it is done, and nobody is told.
  process.kill(process.pid, 'SIGKILL');
}
await market.finish();
const finished = await violations();
const said = await doAct(market);
const { trades, taken, purses, events } = await market.state();
const shown = { finished, said, wrong: await violations(), trades, taken, purses, events };
process.stdout.write(`${JSON.stringify(shown)}\n`);
await bed.stop();
await database.close();
