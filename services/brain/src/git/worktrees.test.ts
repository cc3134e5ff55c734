import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  AT,
  commitFiles,
  makeTestBed,
  mustRead,
  personGit,
  saveFiles,
  type TestBed,
} from '../../testing/git-test-bed.ts';
import { createBranch } from './refs.ts';
import { RepositoryProblem } from './repository.ts';
import { isOnBranch, readWorktreeState } from './worktree-state.ts';
import { discardWorktree, listWorktrees, openWorktree, relinkWorktrees } from './worktrees.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

describe('working trees', () => {
  it('opens one per branch, keeps it, and makes it again when it was deleted by hand', async () => {
    const { repository, worktreesDir } = bed;
    await saveFiles(repository, { 'a/x.md': '1' });
    await createBranch(repository, { branch: 'f/one', commit: await mustRead(repository, 'main'), at: AT });
    const dir = await openWorktree(repository, worktreesDir, 'f/one');
    expect(dir).toBe(join(worktreesDir, 'f+one'));
    expect(await readFile(join(dir, 'a/x.md'), 'utf8')).toBe('1');
    expect((await personGit(dir).status()).isClean()).toBe(true);
    await writeFile(join(dir, 'a/x.md'), 'dirty');
    expect(await openWorktree(repository, worktreesDir, 'f/one')).toBe(dir);
    expect(await readFile(join(dir, 'a/x.md'), 'utf8')).toBe('dirty');
    await commitFiles(repository, 'f/one', { 'a/x.md': 'dirty' }, { worktree: dir });
    expect((await personGit(dir).status()).isClean()).toBe(true);
    expect(await listWorktrees(worktreesDir)).toEqual(new Map([['f/one', dir]]));
    await rm(dir, { recursive: true });
    await openWorktree(repository, worktreesDir, 'f/one');
    expect(await readFile(join(dir, 'a/x.md'), 'utf8')).toBe('dirty');
    await discardWorktree(repository, dir);
    expect(existsSync(dir)).toBe(false);
  });

  it('finishes a half-made one, and sets aside files whose link to the repository is gone', async () => {
    const { repository, worktreesDir } = bed;
    await saveFiles(repository, { 'x.md': '1' });
    await createBranch(repository, { branch: 'feat', commit: await mustRead(repository, 'main'), at: AT });
    const dir = await openWorktree(repository, worktreesDir, 'feat');
    await rm(join(repository.gitDir, 'worktrees', 'feat', 'index'));
    await rm(join(dir, 'x.md'));
    await openWorktree(repository, worktreesDir, 'feat');
    expect(await readFile(join(dir, 'x.md'), 'utf8')).toBe('1');
    await writeFile(join(dir, 'x.md'), 'not committed');
    await rm(join(dir, '.git'));
    await openWorktree(repository, worktreesDir, 'feat');
    expect(await readFile(join(dir, 'x.md'), 'utf8')).toBe('1');
    const lost = (await readdir(worktreesDir)).find((name) => name.startsWith('.lost-feat-')) ?? '';
    expect(await readFile(join(worktreesDir, lost, 'x.md'), 'utf8')).toBe('not committed');
    expect([...(await listWorktrees(worktreesDir)).keys()]).toEqual(['feat']);
  });

  it('leaves foreign entries out and the status clean', async () => {
    const { repository, worktreesDir } = bed;
    const person = personGit(repository.dir);
    await symlink('/etc/passwd', join(repository.dir, 'link.md'));
    await writeFile(join(repository.dir, '.gitattributes'), '* filter=x\n');
    await person.add('.').commit('by hand');
    await createBranch(repository, { branch: 'feat', commit: await mustRead(repository, 'main'), at: AT });
    const dir = await openWorktree(repository, worktreesDir, 'feat');
    expect([existsSync(join(dir, '.gitattributes')), existsSync(join(dir, 'link.md'))]).toEqual([false, false]);
    expect((await personGit(dir).status()).isClean()).toBe(true);
  });

  it('says which branch a tree is on and what a person left unfinished', async () => {
    const { repository } = bed;
    const person = personGit(repository.dir);
    await saveFiles(repository, { 'x.md': '1' });
    const state = () => readWorktreeState(repository, repository.dir);
    expect(isOnBranch(await state(), 'main')).toBe(true);
    await person.checkoutLocalBranch('side');
    expect(await state()).toEqual({ branch: 'side', unfinished: null });
    await saveFiles(repository, { 'x.md': '2' });
    await person.checkout('main');
    await person.raw(['commit', '--allow-empty', '-m', 'x']);
    await commitFiles(repository, 'side', { 'x.md': '3' });
    await saveFiles(repository, { 'x.md': '4' });
    await person.merge(['side']).catch(() => undefined);
    expect(await state()).toEqual({ branch: 'main', unfinished: 'merge' });
    await person.merge(['--abort']);
    await person.raw(['bisect', 'start']);
    expect((await state()).unfinished).toBe('bisect');
    await person.raw(['bisect', 'reset']);
    await person.checkout(await mustRead(repository, 'main'));
    expect(await state()).toEqual({ branch: null, unfinished: null });
    await expect(readWorktreeState(repository, bed.root)).rejects.toThrow(RepositoryProblem);
  });

  it('finds its trees again after the data directory was moved', async () => {
    const { repository, root } = bed;
    await createBranch(repository, { branch: 'feat', commit: await mustRead(repository, 'main'), at: AT });
    await mkdir(join(root, 'data'));
    await openWorktree(repository, join(root, 'data', 'worktrees'), 'feat');
    await rename(join(root, 'data'), join(root, 'moved'));
    await relinkWorktrees(repository, join(root, 'moved', 'worktrees'));
    expect((await personGit(join(root, 'moved', 'worktrees', 'feat')).status()).current).toBe('feat');
  });
});
