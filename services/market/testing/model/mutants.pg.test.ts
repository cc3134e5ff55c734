/** Each seeded mistake is noticed by the model test; the source as it is passes with the same seed. */
import { join } from 'node:path';
import { noticedOn, triedOf } from '@svc/testing/mutants.ts';
import { lendPostgres } from '@svc/testing/servers/run-postgres.ts';
import { afterAll, expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';

const FIXTURE = join(import.meta.dirname, 'model-run.fixture.ts');
const SEED = 7;

const server = await lendPostgres();
afterAll(() => server?.stop());
const noticed = (mutant: number): Promise<string | null> =>
  noticedOn({ url: server?.url ?? '' }, { fixture: FIXTURE, mutant, seed: SEED });

test.skipIf(server === null)('the source as it is passes', async () => {
  expect(await noticed(-1)).toBeNull();
});

test.skipIf(server === null).each(triedOf(MUTANTS))('noticed: %s', async (_name, index) => {
  expect(await noticed(index)).not.toBeNull();
});
