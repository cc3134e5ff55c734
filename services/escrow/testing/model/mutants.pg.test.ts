/** Each seeded mistake is noticed by the model test; the source as it is passes with the same seed. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { databaseAt, startPostgres } from '@svc/testing/servers/postgres.ts';
import { afterAll, expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';

const FIXTURE = join(import.meta.dirname, 'model-run.fixture.ts');
const SEED = '7';

const server = await startPostgres();
afterAll(() => server?.stop());

/** A database each: what one run leaves behind would be found by the next. */
async function modelOn(mutant: number): Promise<string> {
  const database = await databaseAt(server?.url ?? '');
  const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, database.url, String(mutant), SEED], {
    timeout: 120_000,
  });
  await database.stop();
  return stdout;
}

test.skipIf(server === null)('the source as it is passes', { timeout: 120_000 }, async () => {
  expect(await modelOn(-1)).toBe('nothing noticed\n');
});

test.skipIf(server === null).each(MUTANTS.map(({ name }, index) => [name, index] as const))(
  'noticed: %s',
  { timeout: 120_000 },
  async (_name, index) => {
    expect(await modelOn(index)).toMatch(/^noticed: /);
  },
);
