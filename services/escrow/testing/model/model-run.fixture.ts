/** `node model-run.fixture.ts <database> <mutant or -1> <seed>`: runs the model test on source with a mistake in it. */
import { join } from 'node:path';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { runs } from '@svc/testing/counts.ts';
import { editSource, sayWhatIsNoticed } from '@svc/testing/mutants.ts';
import { MUTANTS } from './mutants.ts';

const SEQUENCES = 60;
const MAX_STEPS = 60;
const [, , url = '', mutant = '-1', seed = '1'] = process.argv;
const edits = MUTANTS[Number(mutant)]?.edits ?? [];
editSource(join(import.meta.dirname, '..', '..', 'src'), edits);

const { openModelPlace } = await import('./model-place.ts');
const { runModel } = await import('./run-model.ts');
const database = await openPostgresDatabase({ url, log: { warn() {}, fatal() {} }, poolSize: 16 });
const place = await openModelPlace(database);
const sequences = edits.length > 0 ? SEQUENCES : runs(SEQUENCES);
await sayWhatIsNoticed(() => runModel(place, { sequences, maxSteps: MAX_STEPS, seed: Number(seed), shrink: false }));
await database.close();
