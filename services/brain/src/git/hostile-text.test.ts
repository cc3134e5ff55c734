import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDamage } from './boot-repair.ts';
import { commitChanges } from './commits.ts';
import { AT, makeTestBed, mustRead, readLog, type TestBed, text } from '../../testing/git-test-bed.ts';
import { readTree } from './objects.ts';
import { createBranch, readHeads, readRefs } from './refs.ts';
import { RepositoryProblem } from './repository.ts';
import { GitError } from './run.ts';
import { openWorktree } from './worktrees.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

describe('hostile text', () => {
  const canary = 'svc-canary';
  const names = [
    `--upload-pack=touch ${canary}`,
    `-vu touch ${canary}`,
    `--receive-p=touch ${canary}`,
    '-',
    '--',
    '-d',
    '-D',
    '--exec=x',
    '@',
    '@{-1}',
    '@{u}',
    'HEAD',
    'HEAD^',
    'main:',
    'main^{}',
    'a..b',
    '../x',
    '/abs',
    'a//b',
    'a/',
    '/',
    '.',
    '..',
    '.git',
    '.git/config',
    'a/.git/b',
    'a.lock',
    'a/b.lock/c',
    'x.',
    'a b',
    'a\tb',
    'a\nb',
    'a\rb',
    'a\0b',
    'a\u001bb',
    'a~1',
    'a^',
    'a:b',
    'a?b',
    'a*b',
    'a[b',
    'a\\b',
    'refs/heads/main ',
    ' main',
    ':(glob)**',
    ':!x',
    ':/',
    'ext::sh',
    '$(touch x)',
    '`touch x`',
    ';touch x',
    '|x',
    '&x',
    '>x',
    "'x'",
    '"x"',
    '%s',
    'é',
    '\u202e',
    '\u200c.git',
    '.g\u200cit',
    'git~1',
    '.GIT/x',
    'CON',
    '\ufeffx',
    '\ud800',
    'x'.repeat(300),
  ];

  it('as a branch name: refused or made exactly, and nothing else moves', async () => {
    const { repository } = bed;
    const commit = await mustRead(repository, 'main');
    expect(names.length).toBeGreaterThan(60);
    for (const branch of names) {
      const before = await readRefs(repository, 'refs/');
      const outcome = await createBranch(repository, { branch, commit, at: AT }).catch((error: unknown) => error);
      if (outcome instanceof GitError) expect(await readRefs(repository, 'refs/'), branch).toEqual(before);
      else expect((await readHeads(repository)).has(branch), branch).toBe(true);
      await openWorktree(repository, bed.worktreesDir, branch).catch((error: unknown) =>
        expect(
          error instanceof GitError || error instanceof RepositoryProblem,
          `${branch} ${String(error)} ${JSON.stringify(error)}`,
        ).toBe(outcome !== 'created'),
      );
    }
    expect(existsSync(join(repository.dir, canary))).toBe(false);
  });

  it('as a path, message, author and agent: refused by git or kept exactly', async () => {
    const { repository } = bed;
    for (const name of names) {
      const expectedHead = await mustRead(repository, 'main');
      const request = {
        branch: 'main',
        worktree: null,
        expectedHead,
        author: { name, email: name },
        agent: name,
        at: AT,
      };
      const result = await commitChanges(repository, {
        ...request,
        changes: [{ path: name, content: text('x') }],
        message: name,
      }).catch((error: unknown) => error);
      if (result instanceof Error) expect(result, name).toBeInstanceOf(GitError);
      else
        expect((await readTree(repository, await mustRead(repository, 'main'))).has(name.toWellFormed()), name).toBe(
          true,
        );
      const [entry] = await readLog(repository, { from: await mustRead(repository, 'main'), limit: 1 });
      if (!(result instanceof Error)) expect(entry?.message).toBe(name.toWellFormed());
    }
    expect(await findDamage(repository, 'strict')).toBeNull();
    expect(existsSync(join(repository.dir, canary))).toBe(false);
  });
});
