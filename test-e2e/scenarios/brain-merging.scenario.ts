/** Merging branches, the conflicts of it, and branches that are renamed and deleted. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { brainServed } from '../instruments/served.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { MERGE_KILL_ROUNDS } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { brainFolder, worktreeFolder } from '../targets/target.ts';
import { newName, ownTarget, verifies } from '../verifies.ts';

const FILES = 600;

const contentOf = async (user: Caller, name: string, where: Fields = {}) =>
  (await user.ok<{ content: string }>('brain_read', { name, branch: 'main', ...where })).content;

/** Both branches changed `x`, and `side` something else too. */
async function diverge(user: Caller): Promise<void> {
  await user.ok('brain_write', { name: 'x', content: 'one\ntwo\nthree\n' });
  await user.ok('svc_commit', { message: 'base' });
  await user.ok('svc_create_branch', { name: 'side' });
  await user.ok('brain_write', { name: 'x', content: 'theirs\ntwo\nthree, theirs\n', branch: 'side' });
  await user.ok('brain_write', { name: 'new', content: 'new narwhal', branch: 'side' });
  await user.ok('svc_commit', { message: 'theirs', branch: 'side' });
  await user.ok('brain_write', { name: 'x', content: 'ours\ntwo\nthree\n' });
}

verifies('merging:branch', async ({ fresh, socket, place }) => {
  const { user, brain } = await fresh();
  await diverge(user);
  const listener = await socket();
  const forecast = await user.ok('svc_branch_merge', { from: 'side', dryRun: true });
  expect(forecast).toMatchObject({ merged: false, after: null, uncommitted: 1 });
  expect(await contentOf(user, 'x')).toBe('ours\ntwo\nthree\n');
  const merged = await user.ok('svc_branch_merge', { from: 'side', message: 'both sides' });
  expect(merged).toMatchObject({ merged: true, status: 'merged-with-conflicts', committed: 1, branch: 'main' });
  expect(await contentOf(user, 'x')).toBe('ours\ntwo\nthree, theirs\n');
  expect(await user.ok('svc_search', { query: 'narwhal' })).toMatchObject({ results: [{ file: 'new.md' }] });
  const folder = brainFolder(place, brain);
  expect(git(folder, 'log', '-1', '--format=%s', 'main')).toBe('both sides');
  expect(git(folder, 'status', '--porcelain')).toBe('');
  const told = () => listener.heard.filter((event) => event['brain'] === brain);
  await waitFor(() => told().filter(({ name, source }) => name === 'branch:merged' || source === 'merge').length >= 3, {
    what: 'the events of a merge',
  });
  expect(told().find(({ name }) => name === 'branch:merged')).toMatchObject({ from: 'side', commit: merged['after'] });
  expect(await user.ok('svc_branch_merge', { from: 'side' })).toMatchObject({ status: 'up-to-date', conflicts: [] });
  await user.refused('E_REF_ABSENT', 'svc_branch_merge', { from: 'nowhere' });
});

verifies('merging:conflicts', async ({ fresh }) => {
  const { user } = await fresh();
  await diverge(user);
  const { rescue } = await user.ok('svc_branch_merge', { from: 'side' });
  const { conflicts } = await user.ok<{ conflicts: Fields[] }>('svc_conflicts');
  expect(conflicts).toMatchObject([{ file: 'x.md', kind: 'content', rescue, resolvedAt: null }]);
  const id = conflicts[0]?.['id'];
  expect(await user.ok('svc_conflict_read', { id })).toMatchObject({
    base: { text: 'one\ntwo\nthree\n' },
    ours: { text: 'ours\ntwo\nthree\n' },
    theirs: { text: 'theirs\ntwo\nthree, theirs\n' },
  });
  await user.refused('E_CONFLICT', 'svc_conflict_resolve', { id, take: 'theirs', ifMatch: 'none' });
  expect(await user.ok('svc_conflict_resolve', { id, take: 'content', content: 'agreed' })).toMatchObject({
    resolved: true,
    changed: true,
    file: 'x.md',
  });
  expect(await contentOf(user, 'x')).toBe('agreed');
  expect(await user.ok('svc_conflicts')).toMatchObject({ conflicts: [] });
  expect(await user.ok('svc_conflicts', { resolved: true })).toMatchObject({ conflicts: [{ id }] });
  await user.refused('E_NOT_FOUND', 'svc_conflict_read', { id: 'cfl_0' });
});

verifies('merging:delete', async ({ fresh, caller, place }) => {
  const { user, brain } = await fresh();
  await diverge(user);
  await user.ok('brain_write', { name: 'left', content: 'uncommitted', branch: 'side' });
  await user.ok('svc_switch_branch', { name: 'side' });
  const other = caller();
  await other.ok('brain_switch', { name: brain });
  await other.ok('svc_switch_branch', { name: 'side' });
  const deleted = await user.ok('svc_branch_delete', { name: 'side' });
  expect(deleted).toMatchObject({ deleted: true, uncommitted: 1, unmerged: 1, setAside: false, switched: true });
  const rescue = `rescue/${String(deleted['rescue'])}`;
  expect(existsSync(worktreeFolder(place, brain, 'side'))).toBe(false);
  expect(await contentOf(user, 'left', { at: `${rescue}/work` })).toBe('uncommitted');
  await other.refused('E_BRANCH_ABSENT', 'brain_read', { name: 'x' });
  await other.refused('E_BRANCH_ABSENT', 'brain_write', { name: 'x', content: 'y' });
  await user.refused('E_BRANCH_PROTECTED', 'svc_branch_delete', { name: 'main' });
  await user.refused('E_BRANCH_ABSENT', 'svc_branch_delete', { name: 'side' });
  await user.ok('svc_create_branch', { name: 'side', from: `${rescue}/work` });
  expect(await contentOf(user, 'left', { branch: 'side' })).toBe('uncommitted');
  assertSound(brainFolder(place, brain));
});

verifies('merging:rename', async ({ fresh, caller, place }) => {
  const { user, brain } = await fresh();
  await diverge(user);
  await user.ok('brain_write', { name: 'left', content: 'uncommitted', branch: 'side' });
  const other = caller();
  await other.ok('brain_switch', { name: brain });
  await other.ok('svc_switch_branch', { name: 'side' });
  await user.ok('svc_branch_rename', { name: 'side', to: 'kept/it' });
  expect(await contentOf(user, 'left', { branch: 'kept/it' })).toBe('uncommitted');
  expect(git(worktreeFolder(place, brain, 'kept/it'), 'status', '--porcelain')).toBe('?? left.md');
  await other.refused('E_BRANCH_ABSENT', 'brain_read', { name: 'x' });
  await user.refused('E_BRANCH_EXISTS', 'svc_branch_rename', { name: 'kept/it', to: 'MAIN' });
  await user.refused('E_BRANCH_PROTECTED', 'svc_branch_rename', { name: 'main', to: 'other' });
  expect(await user.ok('svc_list_branches')).toMatchObject({ names: ['kept/it', 'main'] });
});

let bare = '';
const withRemote = ownTarget(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-merging-'));
  bare = join(folder, 'remote.git');
  git(folder, 'init', '-q', '--bare', '-b', 'main', bare);
  return {
    environment: { SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `r=file://${bare}` },
    async dispose() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

verifies(
  'merging:in-the-way',
  async ({ fresh, place }) => {
    const { user, brain } = await fresh();
    const folder = brainFolder(place, brain);
    writeFileSync(join(folder, '.gitignore'), 'ignored.md\n');
    git(folder, 'add', '.gitignore');
    git(folder, 'commit', '-q', '-m', 'by hand');
    await user.ok('brain_write', { name: 'x', content: 'x' });
    await user.ok('svc_commit', { message: 'base' });
    await user.ok('svc_sync', { remote: 'r', direction: 'push' });
    const clone = join(bare, '..', 'clone');
    const branch = git(bare, 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads');
    git(join(bare, '..'), 'clone', '-q', '-b', branch, bare, clone);
    for (const name of ['link.md', 'ignored.md', 'big.md', 'fine.md'])
      writeFileSync(join(clone, name), `their ${name}`);
    git(clone, 'add', '-A', '-f');
    git(clone, 'commit', '-q', '-m', 'theirs');
    git(clone, 'push', '-q');
    const mine = 'mine\n'.repeat(400_000);
    symlinkSync('x.md', join(folder, 'link.md'));
    writeFileSync(join(folder, 'ignored.md'), 'mine');
    writeFileSync(join(folder, 'big.md'), mine);
    const pulled = await user.ok<{ conflicts: Fields[]; rescue: string }>('svc_sync', {
      remote: 'r',
      direction: 'pull',
    });
    expect(pulled.conflicts.map(({ file, kind }) => `${String(file)} ${String(kind)}`).toSorted()).toEqual([
      'big.md content',
      'ignored.md in-the-way',
      'link.md in-the-way',
    ]);
    expect(readlinkSync(join(folder, 'link.md'))).toBe('x.md');
    expect(readFileSync(join(folder, 'ignored.md'), 'utf8')).toBe('mine');
    expect(readFileSync(join(folder, 'big.md'), 'utf8')).toBe(mine);
    expect(await contentOf(user, 'fine')).toBe('their fine.md');
    for (const name of ['link.md', 'ignored.md', 'big.md'])
      expect(git(folder, 'show', `refs/rescue/${pulled.rescue}/theirs:${name}`)).toBe(`their ${name}`);
    expect(filesAt(folder, 'main')).toEqual(['.gitignore', 'big.md', 'fine.md', 'ignored.md', 'link.md', 'x.md']);
    assertSound(folder);
  },
  { on: withRemote },
);

verifies(
  'merging:killed',
  async ({ place, random, report }) => {
    const { brains, whole } = withRemote.get();
    const user = new Caller(place);
    const brain = newName('b');
    await user.ok('brain_switch', { name: brain, create: true });
    const folder = brainFolder(place, brain);
    let finished = 0;
    for (let round = 0; round < MERGE_KILL_ROUNDS; round += 1) {
      for (let file = 0; file < FILES; file += 1) put(folder, `d${file % 20}/f${file}.md`, `${round} base ${file}`);
      await user.ok('svc_commit', { message: 'base' });
      await user.ok('svc_create_branch', { name: `side${round}`, switch: false });
      await user.ok('brain_write', { name: 'seed', content: `${round}`, branch: `side${round}` });
      const side = worktreeFolder(place, brain, `side${round}`);
      for (let file = 0; file < FILES; file += 1) {
        const path = join(side, `d${file % 20}/f${file}.md`);
        if (file % 3 === 0) rmSync(path);
        else writeFileSync(path, `${round} theirs ${file}`);
        if (file % 3 === 1) put(side, `new${round}/${file}.md`, 'new');
      }
      await user.ok('svc_commit', { message: 'theirs', branch: `side${round}` });
      mkdirSync(join(folder, `new${round}`));
      symlinkSync('mine', join(folder, `new${round}`, '1.md'));
      const before = git(folder, 'rev-parse', 'main');
      const merge = { from: `side${round}`, into: 'main' };
      const merging = user.call('svc_branch_merge', merge).catch(() => undefined);
      // Every other time at the moment the branch has moved, when its files are still to follow.
      if (round % 2 === 0) await waitFor(() => headOf(folder) !== before, { what: 'the branch to move', everyMs: 2 });
      await delay(random.int(0, 60));
      await killed(brains);
      await merging;
      await whole();
      await brainServed(user, brain);
      const head = git(folder, 'rev-parse', 'main');
      if (head !== before) finished += 1;
      const status = git(folder, 'status', '--porcelain');
      expect(status).toBe(head === before ? `?? new${round}/` : ` T new${round}/1.md`);
      const again = await user.ok('svc_branch_merge', { from: `side${round}`, into: 'main' });
      expect(again.status).toBe(head === before ? 'fast-forward' : 'up-to-date');
      expect(readFileSync(join(folder, 'd1/f1.md'), 'utf8')).toBe(`${round} theirs 1`);
      expect(existsSync(join(folder, 'd0/f0.md'))).toBe(false);
      expect(readlinkSync(join(folder, `new${round}/1.md`))).toBe('mine');
      assertSound(folder);
    }
    expect(finished).toBeGreaterThanOrEqual(MERGE_KILL_ROUNDS / 2);
    report(`${MERGE_KILL_ROUNDS} kills during merges of ${FILES} files, ${finished} after the branch had moved`);
  },
  { on: withRemote, timeoutMs: 300_000 + MERGE_KILL_ROUNDS * 60_000 },
);

function headOf(folder: string): string {
  return readFileSync(join(folder, '.git', 'refs', 'heads', 'main'), 'utf8').trim();
}

function put(folder: string, path: string, content: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), content);
}
