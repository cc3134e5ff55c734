import { expect, it } from 'vitest';
import { toldReason } from './brain-opening.ts';

it.each([
  ['.git/packed-refs is a directory', '.git/packed-refs is a directory'],
  ["fatal: not a git repository: '/data/brains/b/.git'", "fatal: not a git repository: 'brains/b/.git'"],
  ['error: could not open /proc/25704/fd/12: gone', 'error: could not open …/12: gone'],
  ["fatal: unable to read '/home/somebody/.gitconfig'", "fatal: unable to read '…/.gitconfig'"],
  ['missing blob 1234\nand more', 'missing blob 1234'],
  ['bad line 3/4 in refs/heads/main', 'bad line 3/4 in refs/heads/main'],
])('tells of %j what is of the brain, and nothing of the machine', (message, told) => {
  expect(toldReason(message, '/data')).toBe(told);
});
