import { expect, it } from 'vitest';
import { candidatePaths, decideRead, decideWrite, filesOfStem, hasExtension } from './extension-rule.ts';

it('knows an extension by its letter', () => {
  expect(['a.md', 'a.b2', 'v1.2', 'x.toolongextension', 'a.md/x', 'Äpfel.日本', 'C++'].map(hasExtension)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

it('means a Markdown file when a name has no extension', () => {
  expect(candidatePaths('a/x')).toEqual(['a/x', 'a/x.md']);
  expect(candidatePaths('a/v1.2')).toEqual(['a/v1.2', 'a/v1.2.md']);
  expect(candidatePaths('a.b/data.json')).toEqual(['a.b/data.json']);
});

const read = (path: string, ...files: string[]) =>
  decideRead(
    path,
    (wanted) => files.includes(wanted),
    () => files,
  );

it.each([
  ['the exact name', 'a/x', ['a/x', 'a/x.md', 'a/x.json'], 'a/x'],
  ['Markdown', 'a/x', ['a/x.json', 'a/x.md'], 'a/x.md'],
  [
    'the one file of the stem',
    'facts/answer',
    ['facts/answer.json', 'facts/other.json', 'answer.md'],
    'facts/answer.json',
  ],
  ['the one file of a stem with a dot', 'v1.2', ['v1.2.yaml', 'v1.3.yaml', 'v1.2.d/x.md'], 'v1.2.yaml'],
])('a read finds %s', (_what, path, files, found) => {
  expect(read(path, ...files)).toEqual({ path: found });
});

it.each([
  ['several of the stem', 'a/x', ['a/x.yaml', 'a/x.json', 'a/xy.md', 'b/x.txt'], ['a/x.json', 'a/x.yaml']],
  ['another directory', 'x', ['a/x.json'], []],
  ['more than an extension', 'x', ['x.tar.gz', 'x.1'], []],
  ['a name that has one', 'x.md', ['x.md.json', 'x.json'], []],
])('a read of %s finds nothing', (_what, path, files, candidates) => {
  expect(read(path, ...files)).toEqual({ path: null, candidates });
});

it('a write goes to the file of the name, else to a Markdown file', () => {
  const target = (path: string, ...files: string[]) => decideWrite(path, (wanted) => files.includes(wanted));
  expect(target('x', 'x', 'x.md')).toBe('x');
  expect(target('x', 'x.md', 'x.json')).toBe('x.md');
  expect(target('x', 'x.json')).toBe('x.md');
  expect(target('x.json')).toBe('x.json');
});

it('names no more candidates than a reader looks at', () => {
  const many = Array.from({ length: 50 }, (_, index) => `x.e${index}`);
  expect(filesOfStem('x', many)).toHaveLength(50);
  expect(read('x', ...many)).toMatchObject({ path: null, candidates: { length: 20 } });
});
