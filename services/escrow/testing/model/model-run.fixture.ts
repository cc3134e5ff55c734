/** `node model-run.fixture.ts <database> <mutant or -1> <seed>`: runs the model test on source with a mistake in it. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { openPostgresDatabase } from '@svc/runtime/database.postgres.ts';
import { runs } from '@svc/testing/counts.ts';
import { type Edit, MUTANTS } from './mutants.ts';

const SEQUENCES = 60;
const MAX_STEPS = 60;
const [, , url = '', mutant = '-1', seed = '1'] = process.argv;
const edits = MUTANTS[Number(mutant)]?.edits ?? [];
const source = join(import.meta.dirname, '..', '..', 'src');

for (const { file, from } of edits) {
  if (!readFileSync(join(source, file), 'utf8').includes(from)) throw new Error(`${file} has no "${from}" any more`);
}

function edited(text: string, path: string): string {
  const mistakes = edits.filter(({ file }) => join(source, file) === path);
  return mistakes.reduce((code: string, { from, to }: Edit) => code.replaceAll(from, to), text);
}

registerHooks({
  load(address, context, nextLoad) {
    const loaded = nextLoad(address, context);
    if (!address.startsWith('file:') || !(loaded.source instanceof Uint8Array)) return loaded;
    return { ...loaded, source: edited(Buffer.from(loaded.source).toString(), fileURLToPath(address)) };
  },
});

const { openModelPlace } = await import('./model-place.ts');
const { runModel } = await import('./run-model.ts');
const database = await openPostgresDatabase({ url, log: { warn() {}, fatal() {} }, poolSize: 16 });
const place = await openModelPlace(database);
try {
  const sequences = edits.length > 0 ? SEQUENCES : runs(SEQUENCES);
  await runModel(place, { sequences, maxSteps: MAX_STEPS, seed: Number(seed), shrink: false });
  process.stdout.write('nothing noticed\n');
} catch (error) {
  process.stdout.write(`noticed: ${inspect(error)}\n`);
}
await database.close();
