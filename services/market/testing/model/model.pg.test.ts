import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { runs } from '@svc/testing/counts.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { afterAll, test } from 'vitest';
import { openMarketBed } from '../market-store-bed.ts';
import { runModel } from './run-model.ts';

const server = await lendPostgres();
afterAll(() => server?.stop());
const log = { warn() {}, fatal() {} };

test.skipIf(server === null)(
  'random sequences of trades do what the reference says: PostgreSQL',
  { timeout: 300_000 },
  async () => {
    const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 16 });
    const bed = await openMarketBed(database);
    try {
      await runModel({ pool: database.pool, bed }, { sequences: runs(100), maxSteps: 40 });
    } finally {
      await bed.stop();
      await database.close();
    }
  },
);
