import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { runs } from '@svc/testing/counts.ts';
import { test } from 'vitest';
import { openMarketBed } from '../market-store-bed.ts';
import { runModel } from './run-model.ts';

test('random sequences of trades do what the reference says: embedded', { timeout: 300_000 }, async () => {
  await using database = await migratedEmbeddedDatabase();
  const bed = await openMarketBed(database);
  try {
    await runModel({ pool: database.pool, bed }, { sequences: runs(25), maxSteps: 40 });
  } finally {
    await bed.stop();
  }
});
