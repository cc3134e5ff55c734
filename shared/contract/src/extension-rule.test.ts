import { expect, it } from 'vitest';
import { candidatePaths, decideWrite, filesOfStem, hasExtension } from './extension-rule.ts';

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

it.each([
  ['x', ['x.yaml', 'x.json', 'xy.md', 'b/x.txt', 'x'], ['x.json', 'x.yaml']],
  ['facts/answer', ['facts/answer.json', 'facts/other.json', 'answer.md'], ['facts/answer.json']],
  ['v1.2', ['v1.2.yaml', 'v1.3.yaml', 'v1.2.d/x.md'], ['v1.2.yaml']],
  ['x', ['a/x.json', 'x.tar.gz', 'x.1', 'x.toolongextension'], []],
])('the files of the stem %j among %j are %j', (stem, files, found) => {
  expect(filesOfStem(stem, files)).toEqual(found);
});

it('a write goes to the file of the name, else to a Markdown file', () => {
  const target = (path: string, ...files: string[]) => decideWrite(path, (wanted) => files.includes(wanted));
  expect(target('x', 'x', 'x.md')).toBe('x');
  expect(target('x', 'x.md', 'x.json')).toBe('x.md');
  expect(target('x', 'x.json')).toBe('x.md');
  expect(target('x.json')).toBe('x.json');
});
