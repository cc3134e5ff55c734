import { expect, test } from 'vitest';
import { Triggers } from '../domain/island/island.ts';

test('a trigger that is far too long costs what it is long', () => {
  const spent = (length: number): number => {
    const before = process.cpuUsage().user;
    expect(Triggers.safeParse(['\u0301\u0323'.repeat(length)]).success).toBe(false);
    return process.cpuUsage().user - before;
  };
  spent(1000);
  expect(spent(200_000)).toBeLessThan(50 * Math.max(spent(20_000), 10_000));
});
