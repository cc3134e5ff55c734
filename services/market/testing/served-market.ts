/** The market as it is served, on the bed of its store, for the tests of one file. */
import type { Envelope } from '@svc/contract/rpc.ts';
import { startService } from '@svc/runtime/service.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { migratedDatabase } from '@svc/testing/database.ts';
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { afterAll } from 'vitest';
import { marketService } from '../src/service.ts';
import { openMarketBed } from './market-store-bed.ts';

/** Ends with the file. `variables`: of the environment. */
export async function serveMarket(variables: Readonly<Record<string, string>> = {}) {
  const database = await migratedDatabase();
  const bed = await openMarketBed(database, variables);
  const market = await startService(bed.platform, marketService);
  afterAll(async () => {
    await market.stop();
    await bed.stop();
    await database.close();
  });
  const callsOf =
    (service: string) =>
    async (tool: string, args: Fields, over: Partial<Envelope> = {}): Promise<Fields> =>
      (await callTool(bed.platform.bus, service, tool, args, over)).fields;
  return { bed, database, client: poolClient(database.pool), call: callsOf('market'), habitat: callsOf('habitat') };
}
