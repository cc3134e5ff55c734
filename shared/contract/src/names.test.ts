import { assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrainName, branchNameProblem, isFilePath, normalPath, ResourceKey } from './names.ts';

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

describe('resource keys', () => {
  it.each([
    'doc',
    '_island:Äpfel',
    "brain:svc/John's `x`.md",
    'brain:b/می\u200cخواهم.md',
    'brain:b/At 1.23\u202fPM.md',
  ])('takes %j', (key) => expect(ResourceKey.parse(key)).toBe(key));

  it.each(['', ' x', 'x ', '__proto__', 'a"b', 'a\\b', 'a\nb', 'a\u2028b', 'a\u202eb', 'a\ud800b', 'x'.repeat(641)])(
    'refuses %j',
    (key) => expect(ResourceKey.safeParse(key).success).toBe(false),
  );

  it('names every file that there can be, in its composed form', () => {
    expect(ResourceKey.parse('brain:b/A\u0308pfel.md')).toBe('brain:b/Äpfel.md');
    assert(
      property(string({ unit: 'binary', minLength: 1, maxLength: 20 }), (text) => {
        const path = normalPath(text);
        if (isFilePath(path)) expect(ResourceKey.parse(`brain:b/${path}`)).toBe(`brain:b/${path}`);
      }),
      { numRuns: 5000 },
    );
  });
});
