import { migratedEmbeddedDatabase } from '@svc/testing/database.ts';
import { runs } from '@svc/testing/counts.ts';
import { test } from 'vitest';
import { openModelPlace } from './model-place.ts';
import { runModel } from './run-model.ts';

test('random sequences of steps do what the reference says: embedded', { timeout: 300_000 }, async () => {
  await using database = await migratedEmbeddedDatabase();
  await runModel(await openModelPlace(database), {
    sequences: runs(100),
    maxSteps: 60,
  });
});
