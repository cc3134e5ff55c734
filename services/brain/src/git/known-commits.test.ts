import { LRUCache } from 'lru-cache';
import { expect, it } from 'vitest';
import { knownOrRead } from './known-commits.ts';

const known = new LRUCache<string, { readonly of: string }>({ max: 10 });
const asked: string[][] = [];
const read = (items: readonly string[]) =>
  knownOrRead(known, items, {
    keyOf: (item) => item,
    async read(unknown) {
      asked.push([...unknown]);
      return unknown.map((of) => ({ of }));
    },
  });

it('reads what is not known, once and together, and keeps the order', async () => {
  expect(await read(['b', 'd'])).toEqual([{ of: 'b' }, { of: 'd' }]);
  expect(await read(['a', 'b', 'c', 'd'])).toEqual(['a', 'b', 'c', 'd'].map((of) => ({ of })));
  expect(await read(['d', 'a'])).toEqual([{ of: 'd' }, { of: 'a' }]);
  expect(asked).toEqual([
    ['b', 'd'],
    ['a', 'c'],
  ]);
});
