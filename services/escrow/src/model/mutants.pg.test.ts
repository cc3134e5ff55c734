/** Each seeded mistake is noticed by the model test; the source as it is passes with the same seed. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { afterAll, expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';

const FIXTURE = join(import.meta.dirname, 'model-run.fixture.ts');
const SEED = '7';

/** A server each: what one run leaves behind would be found by the next. */
async function modelOn(mutant: number): Promise<string> {
  const server = await startPostgres();
  if (server === null) throw new Error('no PostgreSQL here');
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, server.url, String(mutant), SEED], {
      timeout: 120_000,
    });
    return stdout;
  } finally {
    await server.stop();
  }
}

const probe = await startPostgres();
afterAll(() => probe?.stop());

test.skipIf(probe === null)('the source as it is passes', { timeout: 120_000 }, async () => {
  expect(await modelOn(-1)).toBe('nothing noticed\n');
});

test.skipIf(probe === null).each(MUTANTS.map(({ name }, index) => [name, index] as const))(
  'noticed: %s',
  { timeout: 120_000 },
  async (_name, index) => {
    expect(await modelOn(index)).toMatch(/^noticed: /);
  },
);
