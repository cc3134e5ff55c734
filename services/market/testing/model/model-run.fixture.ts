/** `node model-run.fixture.ts <database> <mutant or -1> <seed>`: runs the model test on source with a mistake in it. */
import { join } from 'node:path';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { runs } from '@svc/testing/counts.ts';
import { editSource, sayWhatIsNoticed } from '@svc/testing/mutants.ts';
import { MUTANTS } from './mutants.ts';

const SEQUENCES = 200;
const MAX_STEPS = 40;
const [, , url = '', mutant = '-1', seed = '1'] = process.argv;
const edits = MUTANTS[Number(mutant)]?.edits ?? [];
editSource(join(import.meta.dirname, '..', '..', 'src'), edits);

const { openMarketBed } = await import('../market-store-bed.ts');
const { runModel } = await import('./run-model.ts');
const database = await openPostgresDatabase({ url, log: { warn() {}, fatal() {} }, poolSize: 16 });
const bed = await openMarketBed(database);
const place = { pool: database.pool, bed };
/** A mistake ends the run where it shows; where there is none a part of the sequences has to do. */
const sequences = edits.length > 0 ? SEQUENCES : runs(60);
await sayWhatIsNoticed(() => runModel(place, { sequences, maxSteps: MAX_STEPS, seed: Number(seed), shrink: false }));
await bed.stop();
await database.close();
