import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeTestBed, type TestBed } from '../../testing/git-test-bed.ts';
import { maintainRepository, packWhenDue } from './maintenance.ts';
import { layoutProblem } from './repository-layout.ts';
import { openRepository, RepositoryProblem } from './repository.ts';
import { createGit } from './run.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

const inGit = (path: string) => join(bed.repository.gitDir, path);

/** Why it does not open; null = it does. */
async function refusal(): Promise<string | null> {
  try {
    (await openRepository(createGit(), bed.repository.dir))[Symbol.dispose]();
    return null;
  } catch (error) {
    if (error instanceof RepositoryProblem) return error.message;
    throw error;
  }
}

function clear(path: string): string {
  rmSync(inGit(path), { recursive: true, force: true });
  mkdirSync(dirname(inGit(path)), { recursive: true });
  return inGit(path);
}

it.each([
  'config',
  'HEAD',
  'shallow',
  'objects/info/alternates',
  'objects/pack/pack-1.idx',
  'refs/heads/x',
  'svc/running-x',
])('starts no git where %s is a pipe, for which it would wait', async (path) => {
  execFileSync('mkfifo', [clear(path)]);
  expect(await refusal()).toBe(`.git/${path} is no plain file`);
});

it('starts none where a link leads to what has no end', async () => {
  symlinkSync('/dev/zero', clear('HEAD'));
  expect(await refusal()).toBe('.git/HEAD is no plain file');
});

it.each([
  'objects',
  'refs',
  'logs',
  'worktrees',
  'info',
  'packed-refs',
  'shallow',
  'objects/info/alternates',
  'refs/heads/x',
])('neither reads nor clears up what %s leads to outside', async (path) => {
  const outside = join(bed.root, 'outside');
  if (existsSync(inGit(path))) renameSync(inGit(path), outside);
  else writeFileSync(outside, '');
  symlinkSync(outside, clear(path));
  expect(await refusal()).toBe(`.git/${path} leads out of the repository`);
  rmSync(outside, { recursive: true });
  expect(await refusal()).toBe(`.git/${path} leads out of the repository`);
});

it('opens no repository of which only the link is there', async () => {
  renameSync(bed.repository.gitDir, join(bed.root, 'git'));
  symlinkSync(join(bed.root, 'git'), bed.repository.gitDir);
  expect(await refusal()).toBe('.git is not a directory');
});

it('clears nothing up that was linked in while it is open', async () => {
  const objects = inGit('objects');
  const outside = join(bed.root, 'outside');
  renameSync(objects, outside);
  symlinkSync(outside, objects);
  const before = readdirSync(outside);
  await expect(maintainRepository(bed.repository)).rejects.toThrow(RepositoryProblem);
  await expect(packWhenDue(bed.repository, { loose: 0, packs: 0 })).rejects.toThrow(RepositoryProblem);
  expect(readdirSync(outside)).toEqual(before);
});

it('takes links of people that lead nowhere, stay inside, or are about what no git of ours reads', async () => {
  symlinkSync(bed.root, clear('hooks'));
  symlinkSync('main', inGit('refs/heads/linked'));
  symlinkSync('nowhere', inGit('refs/heads/gone'));
  symlinkSync('/etc/hostname', clear('info/exclude'));
  expect(await refusal()).toBeNull();
});

it('names a directory of git that the service may not read', async () => {
  chmodSync(inGit('refs'), 0o300);
  chmodSync(bed.root, 0o755);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    expect(await layoutProblem(bed.repository.gitDir)).toBe('.git/refs may not be read by the service');
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
});
