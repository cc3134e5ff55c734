import { embeddedDatabase } from '@svc/testing/database.ts';
import { test } from 'vitest';
import { openModelPlace } from './model-place.ts';
import { runModel } from './run-model.ts';

test('500 sequences of steps do what the reference says: embedded', { timeout: 300_000 }, async () => {
  await using database = await embeddedDatabase();
  await runModel(await openModelPlace(database), { sequences: 500, maxSteps: 60 });
});
