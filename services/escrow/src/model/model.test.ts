import { migratedDatabase } from '@svc/testing/database.ts';
import { test } from 'vitest';
import { openModelPlace } from './model-place.ts';
import { runModel } from './run-model.ts';

test('random sequences of steps do what the reference says: embedded', { timeout: 300_000 }, async () => {
  await using database = await migratedDatabase();
  await runModel(await openModelPlace(database), {
    sequences: Number(process.env['MODEL_SEQUENCES'] ?? 100),
    maxSteps: 60,
  });
});
