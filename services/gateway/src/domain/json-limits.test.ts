import { expect, test } from 'vitest';
import { assertBounded } from './json-limits.ts';

const HUGE = Number.POSITIVE_INFINITY; // as 1e400 is read

test.each([
  [{ params: { name: 'svc_budget', arguments: { budget: HUGE } } }, 'budget: is too large for a number'],
  [{ params: { args: { list: [1, { deep: HUGE }] } } }, 'list.1.deep: is too large for a number'],
  [{ tool: 'svc_budget', args: { budget: HUGE } }, 'budget: is too large for a number'],
  [{ params: { arguments: JSON.parse('{"constructor": 1}') } }, 'constructor: is not allowed as a key'],
  [{ params: { _meta: { progressToken: HUGE } } }, 'params._meta.progressToken: is too large for a number'],
  [{ params: { arguments: HUGE } }, 'params.arguments: is too large for a number'],
])('what is wrong with %j is told where its sender wrote it', (body, said) => {
  expect(() => assertBounded(body)).toThrow(expect.objectContaining({ message: said }));
});
