import { expect, it } from 'vitest';
import { BRAIN_LIMITS, decideGrowth, resized } from './brain-size.ts';

const { files, bytes } = BRAIN_LIMITS;

it.each([
  ['the last file', { files: files - 1, bytes: 0 }, null, 1, true],
  ['a file too many', { files, bytes: 0 }, null, 0, false],
  ['another text of one of the last file', { files, bytes: 5 }, 5, 9, true],
  ['the last byte', { files: 0, bytes: bytes - 1 }, null, 1, true],
  ['a byte too many', { files: 0, bytes: bytes - 1 }, null, 2, false],
  ['as many bytes as it replaces', { files: 1, bytes }, 7, 7, true],
  ['a byte more than it replaces', { files: 1, bytes }, 7, 8, false],
  ['fewer bytes than it replaces, of more than there may be', { files: 1, bytes: bytes + 9 }, 7, 6, true],
  ['as many bytes as it replaces, of more than there may be', { files: 1, bytes: bytes + 9 }, 7, 7, true],
  ['a byte more than it replaces, of more than there may be', { files: 1, bytes: bytes + 9 }, 7, 8, false],
  ['an empty file, where there are more bytes than may be', { files: 1, bytes: bytes + 9 }, null, 0, false],
  ['a file more than there may be, which is there already', { files: files + 3, bytes: 9 }, 9, 1, true],
])('%s', (_what, held, before, after, isTaken) => {
  expect(decideGrowth(held, before, after).ok).toBe(isTaken);
});

it('counts what comes, what goes and what is replaced', () => {
  const held = { files: 3, bytes: 30 };
  expect(resized(held, null, 5)).toEqual({ files: 4, bytes: 35 });
  expect(resized(held, 10, null)).toEqual({ files: 2, bytes: 20 });
  expect(resized(held, 10, 4)).toEqual({ files: 3, bytes: 24 });
});
