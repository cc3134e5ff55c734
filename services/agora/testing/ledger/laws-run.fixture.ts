/** `node laws-run.fixture.ts <mutant or -1> <seed>`: tries the laws on source with a mistake in it. */
import { join } from 'node:path';
import { editSource, sayWhatIsNoticed } from '@svc/testing/mutants.ts';
import { MUTANTS } from './mutants.ts';

const RUNS = 300;
const [, , mutant = '-1', seed = '1'] = process.argv;
editSource(join(import.meta.dirname, '..', '..', 'src', 'ledger', 'domain'), MUTANTS[Number(mutant)]?.edits ?? []);

const { LAWS } = await import('./laws.ts');
await sayWhatIsNoticed(async () => {
  for (const { check } of LAWS) check({ numRuns: RUNS, seed: Number(seed), endOnFailure: true });
});
