/** Who is told that it may not do a thing is told who may. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const PROJECT = join(import.meta.dirname, '..');
const BARE = /(?:new CallError|fail|deny)\('FORBIDDEN'\)/;

test('FORBIDDEN has a sentence wherever it is thrown', () => {
  const sources = globSync('{services,shared}/*/src/**/*.ts', { cwd: PROJECT }).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  expect(sources.length).toBeGreaterThan(500);
  expect(sources.filter((file) => BARE.test(readFileSync(join(PROJECT, file), 'utf8')))).toEqual([]);
});
