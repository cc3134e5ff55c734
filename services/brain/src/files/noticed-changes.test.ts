import { expect, it } from 'vitest';
import type { FileEntry } from './file-entry.ts';
import { NoticedChanges } from './noticed-changes.ts';

const entry = (hash: string): FileEntry => ({
  path: 'a.md',
  onDisk: 'a.md',
  kind: 'text',
  mode: '100644',
  hash,
  blob: hash,
  bytes: 1,
  stat: hash,
  modifiedAt: 0,
  problem: null,
});
const one = entry('1');
const two = entry('2');
const three = entry('3');
const told = (noticed: NoticedChanges) =>
  noticed
    .take()
    .changes()
    .map(({ change, entry: now }) => [change, now?.hash]);

it('tells of each path once, by what was told before and what is there now', () => {
  const noticed = new NoticedChanges();
  noticed.add('a.md', one, two);
  noticed.add('a.md', two, three);
  expect(told(noticed)).toEqual([['updated', '3']]);
  noticed.add('a.md', null, one);
  noticed.add('a.md', one, two);
  expect(told(noticed)).toEqual([['created', '2']]);
  noticed.add('a.md', one, null);
  noticed.add('a.md', null, two);
  expect(told(noticed)).toEqual([['updated', '2']]);
  noticed.add('a.md', one, two);
  noticed.add('a.md', two, null);
  expect(told(noticed)).toEqual([['deleted', undefined]]);
  noticed.add('a.md', null, one);
  noticed.add('a.md', one, null);
  noticed.add('b.md', one, two);
  noticed.add('b.md', two, one);
  expect([told(noticed), noticed.isEmpty]).toEqual([[], true]);
});

it('puts back under what was noticed since', () => {
  const noticed = new NoticedChanges();
  noticed.add('a.md', one, two);
  noticed.addKnown('b.md', two);
  const taken = noticed.take();
  noticed.add('a.md', two, three);
  noticed.putBack(taken);
  expect(told(noticed)).toEqual([
    ['updated', '3'],
    ['known', '2'],
  ]);
  noticed.putBack(taken);
  noticed.add('a.md', two, one);
  noticed.add('b.md', two, null);
  expect(told(noticed)).toEqual([['deleted', undefined]]);
});
