import { expect, test } from 'vitest';
import { innerCallOf } from './call-form.ts';

const problemsOf = (args: Record<string, unknown>): unknown => {
  try {
    return innerCallOf(args);
  } catch (error) {
    return (error as { details: { problems: unknown } }).details.problems;
  }
};

test('a call inside of svc_call is told everything that is wrong with it', () => {
  expect(innerCallOf({ name: 'brain_list', args: { limit: 1 } })).toEqual({ name: 'brain_list', args: { limit: 1 } });
  expect(problemsOf({ tool: 'brain_list' })).toEqual([
    { path: 'tool', message: 'is not known; a call has name and arguments' },
    { path: 'name', message: 'must be the name of a tool' },
  ]);
  expect(problemsOf({ name: 'svc_call' })).toEqual([{ path: 'name', message: 'must not be svc_call itself' }]);
  expect(problemsOf({ name: 'brain_list', args: 5 })).toMatchObject([{ path: 'args' }]);
});
