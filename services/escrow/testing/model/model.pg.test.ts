import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { runs } from '@svc/testing/counts.ts';
import { afterAll, test } from 'vitest';
import { openModelPlace } from './model-place.ts';
import { runModel } from './run-model.ts';

const server = await lendPostgres();
afterAll(() => server?.stop());
const log = { warn() {}, fatal() {} };

test.skipIf(server === null)(
  'random sequences of steps do what the reference says: PostgreSQL',
  { timeout: 300_000 },
  async () => {
    const database = await openPostgresDatabase({ url: server?.url ?? '', log, poolSize: 16 });
    await runModel(await openModelPlace(database), {
      sequences: runs(100),
      maxSteps: 60,
    });
    await database.close();
  },
);
