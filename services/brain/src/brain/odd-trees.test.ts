/** Commits that a person, or an old tool, made by plumbing: names in them that git puts into no working tree. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { gitIn } from '../../testing/brain-state.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';

const bed = await bedOfFile();
const node = await bed.start();
const { ok } = testCaller(() => node, null);

const root = (brain: string) => join(bed.dataDir, 'brains', brain);
const git = (brain: string, ...args: string[]) =>
  gitIn(root(brain), '-c', 'user.name=Person', '-c', 'user.email=person@example.org', ...args);
const namesIn = (brain: string, commit: string) => git(brain, 'ls-tree', '-r', '--name-only', commit).split('\n');

/** The tree of `main` with one file more, whatever its name. */
function commitBeside(brain: string, name: string): string {
  const mktree = (input: string) =>
    execFileSync('git', ['mktree'], { cwd: root(brain), input, encoding: 'utf8' }).trim();
  const blob = git(brain, 'rev-parse', 'main:a/x.md');
  const tree = mktree(`${git(brain, 'ls-tree', 'main')}\n100644 blob ${blob}\t${name}\n`);
  return git(brain, 'commit-tree', '-p', 'main', '-m', 'by plumbing', tree);
}

it.each(['git~1', '.git', '..', '.g\u200cit'])('keeps %j in every commit, and in a backup', async (name) => {
  const brain = `odd-${Buffer.from(name).toString('hex')}`;
  await ok('brain_load', { brains: brain, create: true });
  await ok('brain_save', { brain, name: 'a/x', content: 'x' });
  const odd = commitBeside(brain, name);
  const shown = namesIn(brain, odd);
  git(brain, 'update-ref', 'refs/heads/side', odd);
  await ok('brain_save', { brain, branch: 'side', name: 'a/y', content: 'y' });
  await ok('svc_branch_merge', { brain, from: 'side', into: 'main' });
  for (const branch of ['side', 'main']) {
    await ok('brain_save', { brain, branch, name: 'a/z', content: branch });
    expect(namesIn(brain, branch), branch).toEqual(expect.arrayContaining([...shown, 'a/y.md', 'a/z.md']));
    const { files, left } = await ok('svc_branch_is_dirty', { brain, branch });
    expect({ files, left }, branch).toMatchObject({
      files: [],
      left: [{ file: name, problem: 'has a name that git puts into no working tree' }],
    });
    await ok('brain_write', { brain, branch, name: 'a/z', content: 'uncommitted' });
  }
  const { path } = await ok('svc_brain_backup', { brain });
  await ok('svc_brain_restore', { path, brain: `${brain}-again` });
  const refs = ['for-each-ref', '--format=%(objectname) %(refname)'];
  expect(git(`${brain}-again`, ...refs)).toBe(git(brain, ...refs));
  expect(await ok('brain_read', { brain: `${brain}-again`, branch: 'side', name: 'a/z' })).toMatchObject({
    content: 'uncommitted',
  });
});
