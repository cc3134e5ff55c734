import { expect, test } from 'vitest';
import { MOST_VARIANTS, variantsOf } from './variants.ts';

test.each([
  ['how do we deploy the gateway', [], []],
  ['deploy gateway', [], []],
  ['deploy gateway', ['rollback'], ['feedback']],
  ['deploy the gateway and restore a backup', ['tide'], ['part', 'part', 'feedback']],
  ['first deploy, then check logs; or roll back quickly, or ask somebody kind', ['tide'], ['part', 'part', 'feedback']],
  ['bread and butter', [], []],
  ['the of', [], []],
  ['?!', [], []],
])('%j is asked in these other ways', (query, feedback, sources) => {
  const variants = variantsOf(query, feedback);
  expect(variants.map(({ source }) => source)).toEqual(['query', ...sources]);
  expect(variants[0]).toEqual({ query, source: 'query' });
  expect(variants.length).toBeLessThanOrEqual(MOST_VARIANTS);
});

test('feedback goes out with the words of the query', () => {
  expect(variantsOf('how to deploy', ['rollback', 'canary']).at(-1)).toEqual({
    query: 'deploy rollback canary',
    source: 'feedback',
  });
});
