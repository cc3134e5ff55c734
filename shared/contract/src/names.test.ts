import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BrainName,
  branchNameProblem,
  candidatePaths,
  filePathProblem,
  foldCase,
  hasExtension,
  isFilePath,
} from './names.ts';

describe('file paths', () => {
  it.each(['x', 'a/x.md', 'v1.2', 'My Notes/1st idea.md', 'a/b/c/d/e/f/g/h.json', 'x'.repeat(100)])(
    'takes %j',
    (path) => {
      expect(filePathProblem(path)).toBeNull();
    },
  );

  it.each([
    '',
    '/x',
    'x/',
    'a//b',
    '../x',
    'a/../x',
    '.git/config',
    '.GIT/x',
    'a/.hidden',
    '-v',
    'x.',
    'x ',
    ' x',
    'a..b',
    'CON',
    'con.md',
    'a/LPT1.txt',
    'git~1/x',
    'a\\b',
    'a:b',
    'a\0b',
    'a\nb',
    'é.md',
    '.g\u200cit/x',
    '１.md',
    'x'.repeat(101),
    'a/b/c/d/e/f/g/h/i',
    `${'long-segment-'.repeat(7)}/`.repeat(6) + 'x',
  ])('refuses %j', (path) => {
    expect(filePathProblem(path)).not.toBeNull();
  });

  it('takes nothing that leaves its directory or means something to git, whatever it is made of', () => {
    const parts = constantFrom('a', 'B', '.', '..', '/', '-', ' ', '~1', 'git', '.git', 'NUL', '\\', '\u202e', 'md');
    assert(
      property(array(parts, { maxLength: 12 }), (pieces) => {
        const path = pieces.join('');
        if (!isFilePath(path)) return;
        for (const segment of path.split('/')) {
          expect(segment).toMatch(/^[A-Za-z0-9]/);
          expect(segment.toLowerCase()).not.toBe('.git');
          expect(segment).not.toContain('..');
        }
      }),
    );
  });

  it('means a Markdown file when the name has no extension', () => {
    expect(candidatePaths('a/x')).toEqual(['a/x', 'a/x.md']);
    expect(candidatePaths('a/v1.2')).toEqual(['a/v1.2', 'a/v1.2.md']);
    expect(candidatePaths('a.b/data.json')).toEqual(['a.b/data.json']);
    expect([hasExtension('a.md/x'), hasExtension('x.toolongextension')]).toEqual([false, false]);
  });
});

describe('branch names', () => {
  it.each(['main', 'feature/one', 'a.b-c_d', 'x'.repeat(64)])('takes %j', (name) =>
    expect(branchNameProblem(name)).toBeNull(),
  );

  it.each([
    'HEAD',
    'head',
    'brain',
    'brain/x',
    'rescue/1',
    'a.lock',
    'a/b.lock/c',
    'a.',
    'a..b',
    '-x',
    '/a',
    'a//b',
    '@{-1}',
    'a b',
    '--upload-pack=touch canary',
    'x'.repeat(101),
  ])('refuses %j', (name) => expect(branchNameProblem(name)).not.toBeNull());
});

it('names brains so that they are directories everywhere', () => {
  for (const good of ['svc', 'my.brain-1', 'A']) expect(BrainName.safeParse(good).success).toBe(true);
  for (const bad of ['', '.git', 'a/b', 'nul', 'a.', 'a..b', 'x.lock', 'x'.repeat(65)]) {
    expect(BrainName.safeParse(bad).success, bad).toBe(false);
  }
});

it('folds what file systems may confuse', () => {
  expect(foldCase('ＡＢＣ.md')).toBe('abc.md');
});
