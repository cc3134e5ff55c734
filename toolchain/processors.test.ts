import { cpus } from 'node:os';
import { expect, test } from 'vitest';
import { watchProcessors } from './processors.ts';

test('one that works without a pause is counted, and no more than there are', () => {
  const busy = watchProcessors();
  const until = performance.now() + 400;
  while (performance.now() < until);
  expect(busy()).toBeGreaterThan(0.5);
  expect(busy()).toBeLessThanOrEqual(cpus().length);
});
