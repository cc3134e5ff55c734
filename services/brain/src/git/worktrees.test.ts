import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Worker } from 'node:worker_threads';
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
import { openRepository, RepositoryProblem } from './repository.ts';
import { CheckedOutElsewhere, isInUseElsewhere } from './worktree-links.ts';
import { isOnBranch, readWorktreeState } from './worktree-state.ts';
import { discardWorktree, listWorktrees, openWorktree, relinkWorktrees } from './worktrees.ts';

/** Looks at the links until all are there, as other gits do, and tells what it saw of halves. */
const OBSERVER = `
  const { readdirSync, readFileSync } = require('node:fs');
  const { parentPort, workerData: { links, count } } = require('node:worker_threads');
  const whole = new Set();
  const halves = new Set();
  const deadline = Date.now() + 20000;
  while (whole.size < count && Date.now() < deadline) {
    let names = [];
    try { names = readdirSync(links); } catch {}
    for (const name of names) {
      if (whole.has(name)) continue;
      let isWhole = true;
      for (const file of ['HEAD', 'commondir', 'gitdir']) {
        try { isWhole &&= readFileSync(links + '/' + name + '/' + file, 'utf8').endsWith('\\n'); } catch { isWhole = false; }
      }
      if (isWhole) whole.add(name); else halves.add(name);
    }
  }
  parentPort.postMessage([...halves]);
`;

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

  it('is never seen half made, whoever looks and however many are made at once', async () => {
    const { repository, worktreesDir } = bed;
    const branches = Array.from({ length: 12 }, (_, index) => `b${index}`);
    const commit = await mustRead(repository, 'main');
    for (const branch of branches) await createBranch(repository, { branch, commit, at: AT });
    const links = join(repository.gitDir, 'worktrees');
    const observer = new Worker(OBSERVER, { eval: true, workerData: { links, count: branches.length } });
    const told = Promise.withResolvers<string[]>();
    observer.on('message', told.resolve).on('error', told.reject);
    await once(observer, 'online');
    const person = personGit(repository.dir);
    await Promise.all([
      ...branches.map((branch) => openWorktree(repository, worktreesDir, branch)),
      person.raw(['rev-list', '--all']),
    ]);
    expect(await told.promise).toEqual([]);
    expect((await listWorktrees(worktreesDir)).size).toBe(branches.length);
    expect(await person.raw(['worktree', 'list'])).toContain('[b11]');
  });

  it('takes another name where a link of that name is there', async () => {
    const { repository, root, worktreesDir } = bed;
    await personGit(repository.dir).raw(['worktree', 'add', '-q', join(root, 'feat'), '-b', 'hers']);
    await createBranch(repository, { branch: 'feat', commit: await mustRead(repository, 'main'), at: AT });
    const dir = await openWorktree(repository, worktreesDir, 'feat');
    expect((await personGit(dir).status()).current).toBe('feat');
    expect((await personGit(join(root, 'feat')).status()).current).toBe('hers');
    await createBranch(repository, { branch: 'side', commit: await mustRead(repository, 'main'), at: AT });
    await personGit(join(root, 'feat')).checkout('side');
    await expect(openWorktree(repository, worktreesDir, 'side')).rejects.toThrow(CheckedOutElsewhere);
    const link = join(repository.gitDir, 'worktrees', 'feat');
    await writeFile(join(link, 'gitdir'), `${relative(link, join(root, 'feat', '.git'))}\n`);
    expect(isInUseElsewhere(repository, 'side', join(worktreesDir, 'side'))).toBe(true);
    expect([...(await listWorktrees(worktreesDir)).keys()]).toEqual(['feat']);
  });

  it('makes one anew that a killed process began, also where the repository does not know of it', async () => {
    const { repository, worktreesDir } = bed;
    await saveFiles(repository, { 'x.md': '1' });
    await createBranch(repository, { branch: 'feat', commit: await mustRead(repository, 'main'), at: AT });
    const dir = join(worktreesDir, 'feat');
    for (const files of [{}, { '.git': '' }, { '.git': `gitdir: ${join(repository.gitDir, 'worktrees', 'feat')}\n` }]) {
      await mkdir(dir, { recursive: true });
      for (const [file, content] of Object.entries(files)) await writeFile(join(dir, file), content);
      await relinkWorktrees(repository, worktreesDir);
      await openWorktree(repository, worktreesDir, 'feat');
      expect(await readFile(join(dir, 'x.md'), 'utf8')).toBe('1');
      await discardWorktree(repository, dir);
    }
    expect(await readdir(worktreesDir)).toEqual([]);
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

  it('mends what a person has elsewhere too when the repository was moved with its trees', async () => {
    const { root, repository } = bed;
    await createBranch(repository, { branch: 'feat', commit: await mustRead(repository, 'main'), at: AT });
    await openWorktree(repository, bed.worktreesDir, 'feat');
    await personGit(repository.dir).raw(['worktree', 'add', '-q', join(root, 'hers'), '-b', 'hers']);
    await mkdir(join(root, 'moved'));
    await rename(repository.dir, join(root, 'moved', 'svc'));
    await rename(bed.worktreesDir, join(root, 'moved', 'worktrees'));
    using moved = await openRepository(repository.git, join(root, 'moved', 'svc'));
    await relinkWorktrees(moved, join(root, 'moved', 'worktrees'));
    expect((await personGit(join(root, 'moved', 'worktrees', 'feat')).status()).current).toBe('feat');
    expect((await personGit(join(root, 'hers')).status()).current).toBe('hers');
  });

  it('takes nothing away from the original when a copy of the data directory is opened', async () => {
    const { root, repository: original } = bed;
    await createBranch(original, { branch: 'feat', commit: await mustRead(original, 'main'), at: AT });
    const tree = await openWorktree(original, bed.worktreesDir, 'feat');
    await writeFile(join(tree, 'draft.md'), 'uncommitted');
    await personGit(original.dir).raw(['worktree', 'add', '-q', join(root, 'hers'), '-b', 'hers']);
    await cp(original.dir, join(root, 'copy', 'svc'), { recursive: true });
    await cp(bed.worktreesDir, join(root, 'copy', 'worktrees'), { recursive: true });
    const pointers = async () =>
      Promise.all(
        [join(tree, '.git'), join(root, 'hers', '.git'), join(original.gitDir, 'worktrees', 'feat', 'gitdir')].map(
          (file) => readFile(file, 'utf8'),
        ),
      );
    const before = await pointers();

    using copy = await openRepository(original.git, join(root, 'copy', 'svc'));
    await relinkWorktrees(copy, join(root, 'copy', 'worktrees'));
    const copied = await openWorktree(copy, join(root, 'copy', 'worktrees'), 'feat');

    expect(await pointers()).toEqual(before);
    expect(await readFile(join(copied, 'draft.md'), 'utf8')).toBe('uncommitted');
    expect((await personGit(copied).revparse(['--git-common-dir'])).trim()).toBe(copy.gitDir);
    expect((await personGit(tree).status()).not_added).toEqual(['draft.md']);
  });
});
