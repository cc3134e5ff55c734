/** Each seeded mistake breaks a law; the source as it is breaks none with the same seed. */
import { join } from 'node:path';
import { noticedBy, triedOf } from '@svc/testing/mutants.ts';
import { describe, expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';

const FIXTURE = join(import.meta.dirname, 'laws-run.fixture.ts');
const SEED = '7';
/** Ends what hangs. With all counts a mistake takes half a minute of a processor, and several are tried at once. */
const LIMIT = { timeout: 600_000 };

const noticed = (mutant: number): Promise<string | null> => noticedBy(FIXTURE, [String(mutant), SEED]);

describe.concurrent('the laws of ledgers', () => {
  test('hold of the source as it is', LIMIT, async () => {
    expect(await noticed(-1)).toBeNull();
  });

  test.each(triedOf(MUTANTS))('notice: %s', LIMIT, async (_name, index) => {
    expect(await noticed(index)).not.toBeNull();
  });
});
