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
  const variants = variantsOf(query, feedback, null);
  expect(variants.map(({ source }) => source)).toEqual(['query', ...sources]);
  expect(variants[0]).toEqual({ query, source: 'query' });
  expect(variants.length).toBeLessThanOrEqual(MOST_VARIANTS);
});

test('feedback goes out with the words of the query', () => {
  expect(variantsOf('how to deploy', ['rollback', 'canary'], null).at(-1)).toEqual({
    query: 'deploy rollback canary',
    source: 'feedback',
  });
});

test('what a model writes stands beside the query, up to four in all, each once', () => {
  const written = ['roll out the gateway', '', '?!', 'Deploy!', 'ship it', 'a fourth', 'a fifth'];
  expect(variantsOf('deploy', ['rollback'], written)).toEqual([
    { query: 'deploy', source: 'query' },
    { query: 'roll out the gateway', source: 'model' },
    { query: 'ship it', source: 'model' },
    { query: 'a fourth', source: 'model' },
  ]);
});
