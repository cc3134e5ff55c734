import { expect, test } from 'vitest';
import { isRoot, nameOfCopy, namesBelow } from './tree-names.ts';

const PATHS = ['a/b/c.md', 'a/x.md', 'a.md', 'ab/y.png', 'a/b/d/e.md'];

test('a directory lists what lies in it, and each directory once', () => {
  expect(namesBelow(PATHS, '', false).map(({ path, type }) => `${path} ${type}`)).toEqual([
    'a dir',
    'a.md file',
    'ab dir',
  ]);
  expect(namesBelow(PATHS, 'a', false)).toEqual([
    { path: 'a/b', type: 'dir' },
    { path: 'a/x.md', type: 'file' },
  ]);
});

test('everything below a directory is listed with the directories between', () => {
  expect(namesBelow(PATHS, 'a', true).map(({ path }) => path)).toEqual([
    'a/b',
    'a/b/c.md',
    'a/b/d',
    'a/b/d/e.md',
    'a/x.md',
  ]);
  expect(namesBelow(PATHS, 'b', true)).toEqual([]);
});

test('a copy without an extension gets that of the file', () => {
  expect(nameOfCopy('a/x.png', 'b/y')).toBe('b/y.png');
  expect(nameOfCopy('a/x.png', 'b/y.jpg')).toBe('b/y.jpg');
  expect(nameOfCopy('a/LICENSE', 'b/y')).toBe('b/y');
});

test('the root has three names', () => {
  expect(['', '.', '/', 'a', '..'].map(isRoot)).toEqual([true, true, true, false, false]);
});
