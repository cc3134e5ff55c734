/** A person works in the same repository: with an editor, with git, and with bad intent. */
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { filesAt, git } from '../instruments/git.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { promised } from '../settings.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

/** Planted while the brain is open: not refused before it opens again, but never run either. */
const LIVE_CONFIG = [
  ['filter.evil.clean', 'touch CANARY'],
  ['filter.evil.smudge', 'touch CANARY'],
  ['core.fsmonitor', 'touch CANARY'],
  ['merge.evil.driver', 'touch CANARY'],
  ['diff.evil.command', 'touch CANARY'],
  ['core.hooksPath', '.git/hooks'],
  ['core.editor', 'touch CANARY'],
  ['gpg.program', 'touch CANARY'],
  ['commit.gpgSign', 'true'],
] as const;

const HOOKS = [
  'pre-commit',
  'post-commit',
  'reference-transaction',
  'post-checkout',
  'post-index-change',
  'pre-push',
  'post-merge',
  'prepare-commit-msg',
  'commit-msg',
  'update',
];

verifies('brain:git:inert', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  const canary = join(place.root, `canary-${brain}`);
  mkdirSync(join(folder, '.git/hooks'), { recursive: true });
  for (const hook of HOOKS) {
    const file = join(folder, '.git/hooks', hook);
    writeFileSync(file, `#!/bin/sh\ntouch ${canary}\nexit 1\n`);
    chmodSync(file, 0o755);
  }
  writeFileSync(
    join(folder, '.gitattributes'),
    '* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16\n',
  );
  for (const [name, value] of LIVE_CONFIG) git(folder, 'config', name, value.replace('CANARY', canary));
  await user.ok('brain_write', { name: 'x', content: '$Id$\nline\n' });
  await user.ok('svc_commit', { message: 'm' });
  await user.ok('svc_create_branch', { name: 'feat', switch: true });
  await user.ok('brain_write', { name: 'x', content: '$Id$\nother\n' });
  await user.ok('svc_commit', { message: 'm2' });
  expect(await user.ok('brain_read', { name: 'x', branch: 'main' })).toMatchObject({ content: '$Id$\nline\n' });
  expect(git(folder, 'cat-file', 'blob', 'main:x.md')).toBe('$Id$\nline');
  expect(existsSync(canary)).toBe(false);
});

verifies('brain:external:removed', async ({ fresh, place, socket }) => {
  const listener = await socket();
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  mkdirSync(join(folder, 'hand'));
  writeFileSync(join(folder, 'hand/made.md'), 'made by hand');
  expect(await user.ok('brain_read', { name: 'hand/made' })).toMatchObject({ content: 'made by hand' });
  await listener.until(
    'creation',
    (event) => event.brain === brain && event.change === 'created' && event.source === 'external',
  );
  await waitFor(async () => (await user.ok<{ total: number }>('svc_search', { query: 'hand' })).total === 1, {
    withinMs: promised(2000),
    what: 'the new file to be found',
  });
  rmSync(join(folder, 'hand/made.md'));
  await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'hand/made' });
  await listener.until(
    'deletion',
    (event) => event.brain === brain && event.change === 'deleted' && event.source === 'external',
  );
  await waitFor(async () => (await user.ok<{ total: number }>('svc_search', { query: 'hand' })).total === 0, {
    withinMs: promised(2000),
    what: 'the removed file to be forgotten',
  });
});

verifies('brain:git:person-commit', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_write', { name: 'mine', content: 'service' });
  await user.ok('svc_commit', { message: 'service' });
  writeFileSync(join(folder, 'theirs.md'), 'person');
  git(folder, 'add', 'theirs.md');
  git(folder, 'commit', '-q', '-m', 'person');
  await user.ok('brain_write', { name: 'mine', content: 'service again' });
  const { commit } = await user.ok<{ commit: string }>('svc_commit', { message: 'service again' });
  expect(git(folder, 'log', '--format=%s', commit).split('\n').slice(0, 3)).toEqual([
    'service again',
    'person',
    'service',
  ]);
  expect(filesAt(folder, 'main')).toEqual(['mine.md', 'theirs.md']);
  expect(git(folder, 'status', '--porcelain')).toBe('');
});

verifies('brain:diverted', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_write', { name: 'x', content: 'one' });
  await user.ok('svc_commit', { message: 'm' });
  git(folder, 'checkout', '-q', '-b', 'persons-own');
  for (const [tool, args] of [
    ['brain_write', { name: 'x', content: 'two' }],
    ['svc_commit', { message: 'm' }],
    ['brain_delete_file', { name: 'x' }],
  ] as const) {
    await user.refused('E_BRAIN_DIVERTED', tool, args);
  }
  expect(await user.ok('brain_read', { name: 'x' })).toMatchObject({ content: 'one' });
  const health = await user.ok<{ problems: unknown[]; brains: Fields[] }>('svc_health');
  expect(JSON.stringify([health.problems, health.brains.find(({ name }) => name === brain)?.problems])).toContain(
    'E_BRAIN_DIVERTED',
  );
  git(folder, 'checkout', '-q', 'main');
  await user.ok('brain_write', { name: 'x', content: 'two' });
  await user.ok('svc_commit', { message: 'm2' });

  git(folder, 'checkout', '-q', 'persons-own');
  writeFileSync(join(folder, 'x.md'), 'three');
  git(folder, 'commit', '-qam', 'clash');
  git(folder, 'checkout', '-q', 'main');
  expect(() => git(folder, 'merge', '-q', 'persons-own')).toThrow();
  await user.refused('E_BRAIN_DIVERTED', 'brain_write', { name: 'y', content: 'in a merge' });
  git(folder, 'merge', '--abort');
  await user.ok('brain_write', { name: 'y', content: 'after the merge' });
});
