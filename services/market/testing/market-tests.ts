/** The bed of the tests of one file, which share a database, and for each of them a market of names of its own. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase, type TestDatabase } from '@svc/testing/database.ts';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type MarketBed, openMarketBed } from './market-store-bed.ts';
import { RealMarket } from './model/real-market.ts';

interface MarketTests {
  readonly database: TestDatabase;
  readonly client: SqlClient;
  /** Once the tests run. */
  readonly bed: MarketBed;
  /** Of the test that runs. */
  readonly market: RealMarket;
}

/** `prefix`: of all names, so that who fails is found. Called on top of a file: what it begins ends with the file. */
export async function marketTests(prefix: string): Promise<MarketTests> {
  const database = await migratedDatabase();
  let bed: MarketBed | null = null;
  let market: RealMarket | null = null;
  let names = 0;
  const begun = <Part>(part: Part | null): Part => {
    if (part === null) throw new Error('no test has begun');
    return part;
  };
  beforeAll(async () => {
    bed = await openMarketBed(database);
  });
  afterAll(async () => {
    await bed?.stop();
    await database.close();
  });
  beforeEach(async () => {
    names += 1;
    market = await RealMarket.begin(begun(bed), database.pool, `${prefix}${names}x`);
  });
  return {
    database,
    client: poolClient(database.pool),
    get bed() {
      return begun(bed);
    },
    get market() {
      return begun(market);
    },
  };
}
