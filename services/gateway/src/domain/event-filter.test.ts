import { expect, test } from 'vitest';
import { EVERYTHING, isWanted, withoutSubscription, withSubscription } from './event-filter.ts';

const hears = (filter: typeof EVERYTHING, ...names: string[]) =>
  names.filter((name) => isWanted(filter, name, undefined));
const NAMES = ['brain:change', 'brain:save', 'lock:acquired'];

test('a name can be taken out of an area, and be put back alone or with the area', () => {
  const area = withSubscription(EVERYTHING, ['brain:*'], undefined);
  const without = withoutSubscription(area, ['brain:change']);
  expect(hears(without, ...NAMES)).toEqual(['brain:save']);
  expect(hears(withSubscription(without, ['brain:change'], undefined), ...NAMES)).toEqual([
    'brain:change',
    'brain:save',
  ]);
  expect(hears(withSubscription(without, ['brain:*'], undefined), ...NAMES)).toEqual(['brain:change', 'brain:save']);
  expect(hears(withSubscription(without, ['lock:*'], undefined), ...NAMES)).toEqual(['brain:save', 'lock:acquired']);
});

test('an area is taken out with the names in it', () => {
  const names = withSubscription(EVERYTHING, ['brain:change', 'lock:acquired'], undefined);
  expect(hears(withoutSubscription(names, ['brain:*']), ...NAMES)).toEqual(['lock:acquired']);
});
