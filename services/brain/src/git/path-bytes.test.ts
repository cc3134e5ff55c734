import { expect, it } from 'vitest';
import { decodePath, encodePath, isSpeakable, nulEnded, shownPath } from './path-bytes.ts';

const bytes = (latin1: string) => Buffer.from(latin1, 'latin1');

it('gives every path back byte for byte, and shows what is no UTF-8 as the disk does', () => {
  for (const path of ['a/b.md', 'caf\xe9.md', 'd\xe9p/\xff\xfe', 'a/\xc3\xa9/\xe9', '', '\x80', '\xed\xa0\x80'])
    expect(encodePath(decodePath(bytes(path)))).toEqual(bytes(path));
  const path = decodePath(Buffer.concat([Buffer.from('é/', 'utf8'), bytes('caf\xe9')]));
  expect([path.startsWith('é/'), isSpeakable(path), shownPath(path)]).toEqual([true, false, 'é/caf\uFFFD']);
  expect([isSpeakable('é/😀'), shownPath('é/😀')]).toEqual([true, 'é/😀']);
});

it('tells names apart that are shown alike, in one answer of git', () => {
  const paths = [...nulEnded(bytes('a/\xff\0a/\xfe\0b\0\0cut'))].map(decodePath);
  expect(new Set(paths).size).toBe(4);
  expect(paths.map(shownPath)).toEqual(['a/\uFFFD', 'a/\uFFFD', 'b', '']);
  expect(encodePath(paths.join('\0'))).toEqual(bytes('a/\xff\0a/\xfe\0b\0'));
});
