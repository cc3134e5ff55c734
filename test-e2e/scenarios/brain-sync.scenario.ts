/** Sync with a bare repository over file://: what is pulled, merged and pushed, and what is told of it. */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { GitRemotes } from '../instruments/git-remotes.ts';
import { brainFolder } from '../targets/target.ts';
import { ownTarget, type Scenario, verifies } from '../verifies.ts';

const REMOTES = 12;

let remotes: GitRemotes | null = null;
const unused = Array.from({ length: REMOTES }, (_, index) => `r${index}`);

const target = ownTarget(async () => {
  const opened = await GitRemotes.open({ filed: unused });
  remotes = opened;
  const settings = opened.settings({ absent: `file://${opened.bare('absent')}` });
  return { environment: settings, dispose: () => opened.close() };
});

function theRemotes(): GitRemotes {
  if (remotes === null) throw new Error('no remotes');
  return remotes;
}

interface Pair {
  readonly user: Caller;
  readonly brain: string;
  readonly remote: string;
  readonly bare: string;
  /** A person's clone of what the brain pushed. */
  readonly person: string;
  /** The brain's branch at the remote. */
  readonly branch: string;
  sync(args?: Fields): Promise<Fields>;
  /** Commits these files as the person and pushes them; null removes. */
  theirs(files: Readonly<Record<string, string | null>>): string;
}

/** A brain with some files, pushed to a remote of its own, and a person who cloned it. */
async function pairUp({ fresh }: Scenario, files: Readonly<Record<string, string>>): Promise<Pair> {
  const { user, brain } = await fresh();
  const { folder } = theRemotes();
  const remote = unused.pop();
  if (remote === undefined) throw new Error('too few remotes');
  const bare = theRemotes().bare(remote);
  for (const [name, content] of Object.entries(files)) await user.ok('brain_write', { name, content });
  await user.ok('svc_commit', { message: 'base' });
  await user.ok('svc_sync', { remote, direction: 'push' });
  const branch = git(bare, 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads');
  const person = join(folder, `person-${remote}`);
  git(folder, 'clone', '-q', '-b', branch, bare, person);
  return {
    user,
    brain,
    remote,
    bare,
    person,
    branch,
    sync: (args = {}) => user.ok('svc_sync', { remote, ...args }),
    theirs(changes) {
      git(person, 'pull', '-q', '--rebase');
      for (const [name, content] of Object.entries(changes)) {
        mkdirSync(join(person, name, '..'), { recursive: true });
        if (content === null) rmSync(join(person, name));
        else writeFileSync(join(person, name), content);
      }
      git(person, 'add', '-A');
      git(person, 'commit', '-q', '-m', 'person');
      git(person, 'push', '-q');
      return git(person, 'rev-parse', 'HEAD');
    },
  };
}

const on = { on: target } as const;
const isForeign = (file: string) => file.startsWith('.') || file.startsWith('link');
const contentOf = async (user: Caller, name: string, at?: string) =>
  (await user.ok<{ content: string }>('brain_read', { name, ...(at === undefined ? {} : { at }) })).content;

verifies(
  'sync:up-to-date',
  async (scenario) => {
    const { user, sync, brain, remote } = await pairUp(scenario, { x: 'one' });
    const result = await sync({ direction: 'pull' });
    expect(result).toMatchObject({
      synced: true,
      status: 'up-to-date',
      brain,
      branch: 'main',
      remote,
      direction: 'pull',
      pulled: { added: 0, updated: 0, deleted: 0 },
      conflicts: [],
      rescue: null,
    });
    expect(result.before).toBe(result.after);
    await user.ok('brain_save', { name: 'x', content: 'ahead' });
    expect(await sync({ direction: 'pull' })).toMatchObject({ status: 'up-to-date' });
    expect(await contentOf(user, 'x')).toBe('ahead');
  },
  on,
);

verifies(
  'sync:fast-forward',
  async (scenario) => {
    const { user, sync, theirs, brain } = await pairUp(scenario, { x: 'one', gone: 'g', kept: 'k' });
    const commit = theirs({ 'x.md': 'two narwhal', 'gone.md': null, 'new/y.md': 'new' });
    expect(await sync({ direction: 'pull' })).toMatchObject({
      status: 'fast-forward',
      after: commit,
      remoteCommit: commit,
      pulled: { added: 1, updated: 1, deleted: 1 },
    });
    expect([await contentOf(user, 'x'), await contentOf(user, 'new/y')]).toEqual(['two narwhal', 'new']);
    await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'gone' });
    expect(await user.ok('svc_search', { query: 'narwhal' })).toMatchObject({ total: 1 });
    const folder = brainFolder(scenario.place, brain);
    expect([git(folder, 'rev-parse', 'main'), git(folder, 'status', '--porcelain')]).toEqual([commit, '']);
  },
  on,
);

verifies(
  'sync:merged',
  async (scenario) => {
    const text = (first: string, last: string) => `${first}\n2\n3\n4\n5\n6\n7\n8\n${last}\n`;
    const { user, sync, theirs, brain } = await pairUp(scenario, {
      'data.json': '{"a": 1, "b": 1, "list": [{"id": "x", "v": 1}]}',
      'text.txt': text('1', '9'),
    });
    theirs({
      'data.json': '{"a": 2, "b": 1, "list": [{"id": "x", "v": 1}, {"id": "t", "v": 3}]}',
      'text.txt': text('their first', '9'),
      'theirs.md': 't',
    });
    await user.ok('brain_write', { name: 'data.json', content: '{"a": 1, "b": 2, "list": [{"id": "x", "v": 9}]}' });
    await user.ok('brain_write', { name: 'text.txt', content: text('1', 'our last') });
    await user.ok('brain_save', { name: 'ours', content: 'o' });
    await user.ok('svc_commit', { message: 'ours' });
    const result = await sync({ direction: 'pull' });
    expect(result).toMatchObject({ status: 'merged', conflicts: [], rescue: null });
    expect(JSON.parse(await contentOf(user, 'data.json'))).toEqual({
      a: 2,
      b: 2,
      list: [
        { id: 'x', v: 9 },
        { id: 't', v: 3 },
      ],
    });
    expect(await contentOf(user, 'text.txt')).toBe(text('their first', 'our last'));
    expect([await contentOf(user, 'ours'), await contentOf(user, 'theirs')]).toEqual(['o', 't']);
    const folder = brainFolder(scenario.place, brain);
    expect(git(folder, 'log', '-1', '--format=%P', 'main').split(' ').length).toBe(2);
    expect(git(folder, 'status', '--porcelain')).toBe('');
    assertSound(folder);
  },
  on,
);

verifies(
  ['sync:conflicts', 'sync:conflict-closed'],
  async (scenario) => {
    const { user, sync, theirs, brain } = await pairUp(scenario, { x: 'base\n', doomed: 'd\n' });
    const theirTip = theirs({ 'x.md': 'theirs\n', 'doomed.md': null });
    await user.ok('brain_write', { name: 'doomed', content: 'changed here\n' });
    await user.ok('brain_write', { name: 'x', content: 'ours\n' });
    const { commit: ourTip } = await user.ok<{ commit: string }>('svc_commit', { message: 'ours' });
    const result = await sync({ direction: 'pull' });
    expect(result).toMatchObject({ synced: true, status: 'merged-with-conflicts', rescue: expect.any(String) });
    const conflicts = result.conflicts as Fields[];
    expect(conflicts.map(({ file }) => String(file)).sort()).toEqual(['doomed.md', 'x.md']);
    expect(conflicts.find(({ file }) => file === 'doomed.md')).toMatchObject({ kind: 'delete-modify' });
    expect([await contentOf(user, 'x'), await contentOf(user, 'doomed')]).toEqual(['ours\n', 'changed here\n']);
    const rescue = String(result.rescue).replace(/^(refs\/)?(rescue\/)?/, 'rescue/');
    expect(rescue).toMatch(/^rescue\/.+-[0-9a-f]{8}$/);
    expect(await contentOf(user, 'x', `${rescue}/theirs`)).toBe('theirs\n');
    expect(await contentOf(user, 'x', `${rescue}/ours`)).toBe('ours\n');
    const folder = brainFolder(scenario.place, brain);
    expect(git(folder, 'rev-parse', `refs/${rescue}/theirs`, `refs/${rescue}/ours`)).toBe(`${theirTip}\n${ourTip}`);
    const open = async () =>
      (await user.ok<{ brains: Fields[] }>('svc_health')).brains.find(({ name }) => name === brain)?.openConflicts;
    expect(await open()).toBe(2);
    await user.ok('brain_write', { name: 'x', content: 'decided\n' });
    expect(await open()).toBe(1);
    await user.ok('brain_delete_file', { name: 'doomed' });
    expect(await open()).toBe(0);
    expect(readFileSync(join(folder, 'x.md'), 'utf8')).not.toContain('<<<<');
  },
  on,
);

verifies(
  'sync:dirty-first',
  async (scenario) => {
    const { user, sync, theirs, brain } = await pairUp(scenario, { x: 'one' });
    theirs({ 'theirs.md': 't' });
    await user.ok('brain_write', { name: 'dirty', content: 'not committed' });
    expect(await sync({ direction: 'pull' })).toMatchObject({ status: 'merged' });
    expect([await contentOf(user, 'dirty'), await contentOf(user, 'theirs')]).toEqual(['not committed', 't']);
    expect(git(brainFolder(scenario.place, brain), 'log', '--format=%s', 'main')).toContain('sync: local changes');
  },
  on,
);

verifies(
  'sync:push',
  async (scenario) => {
    const { user, sync, theirs, bare, branch, brain } = await pairUp(scenario, { x: 'one' });
    const theirTip = theirs({ 'theirs.md': 't' });
    await user.ok('brain_save', { name: 'ours', content: 'o' });
    expect(await sync({ direction: 'push' })).toMatchObject({
      synced: true,
      direction: 'push',
      pushed: expect.any(Number),
    });
    expect(filesAt(bare, branch)).toEqual(['ours.md', 'theirs.md', 'x.md']);
    expect(() => git(bare, 'merge-base', '--is-ancestor', theirTip, branch)).not.toThrow();
    expect(git(bare, 'rev-parse', branch)).toBe(git(brainFolder(scenario.place, brain), 'rev-parse', 'main'));
    await user.ok('brain_save', { name: 'both', content: 'b' });
    theirs({ 'more.md': 'm' });
    await sync();
    expect(filesAt(bare, branch)).toEqual(['both.md', 'more.md', 'ours.md', 'theirs.md', 'x.md']);
    expect(await contentOf(user, 'more')).toBe('m');
  },
  on,
);

verifies(
  'sync:rejected',
  async (scenario) => {
    const { user, bare, branch, remote } = await pairUp(scenario, { x: 'one' });
    const before = git(bare, 'rev-parse', branch);
    writeFileSync(join(bare, 'hooks/pre-receive'), '#!/bin/sh\necho no thanks\nexit 1\n', { mode: 0o755 });
    await user.ok('brain_save', { name: 'x', content: 'two' });
    await user.refused('E_REMOTE_REJECTED', 'svc_sync', { remote, direction: 'push' });
    expect(git(bare, 'rev-parse', branch)).toBe(before);
  },
  on,
);

verifies(
  'sync:foreign',
  async (scenario) => {
    const { user, sync, theirs, person, brain, bare, branch } = await pairUp(scenario, { x: 'one' });
    symlinkSync('/etc/passwd', join(person, 'link.md'));
    mkdirSync(join(person, '.github'));
    theirs({
      '.gitattributes': '* filter=evil\n',
      '.github/run.yml': 'on: push\n',
      'ok.md': 'fine',
      '.hidden note.md': 'odd',
    });
    const inCommit = filesAt(person, 'HEAD');
    expect(await sync({ direction: 'pull' })).toMatchObject({ status: 'fast-forward' });
    const folder = brainFolder(scenario.place, brain);
    const { files } = await user.ok<{ files: Fields[] }>('brain_list_files');
    expect(files.filter(({ kind }) => kind === 'text').map(({ file }) => file)).toEqual(['ok.md', 'x.md']);
    expect(files.filter(({ hash }) => hash === null).map(({ file }) => file)).toEqual(inCommit.filter(isForeign));
    expect(existsSync(join(folder, 'link.md')) && lstatSync(join(folder, 'link.md')).isSymbolicLink()).toBe(false);
    expect(git(folder, 'status', '--porcelain')).toBe('');
    await user.ok('brain_save', { name: 'x', content: 'two' });
    await sync({ direction: 'push' });
    expect(filesAt(bare, branch)).toEqual(inCommit);
  },
  on,
);

verifies(
  'sync:events',
  async (scenario) => {
    const listener = await scenario.socket();
    const { user, sync, theirs, brain, remote } = await pairUp(scenario, { x: 'one' });
    theirs({ 'x.md': 'two' });
    await listener.until('the first push', (event) => event.brain === brain && event.name === 'sync:complete');
    const from = listener.heard.length;
    await sync({ direction: 'pull' });
    await user.refused('E_REMOTE_ABSENT', 'svc_sync', { remote: 'absent', direction: 'pull' });
    await listener.until('the error', (event) => event.brain === brain && event.name === 'sync:error');
    const events = listener.heard
      .slice(from)
      .filter((event) => event.brain === brain && event.name.startsWith('sync:'));
    expect(events).toMatchObject([
      { name: 'sync:start', branch: 'main', direction: 'pull', remote },
      {
        name: 'sync:complete',
        branch: 'main',
        direction: 'pull',
        status: 'fast-forward',
        conflicts: 0,
        durationMs: expect.any(Number),
      },
      { name: 'sync:start', branch: 'main', direction: 'pull', remote: 'absent' },
      {
        name: 'sync:error',
        branch: 'main',
        direction: 'pull',
        code: 'E_REMOTE_ABSENT',
        error: expect.not.stringContaining('file://'),
      },
    ]);
    expect(listener.heard.slice(from)).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'brain:change', brain, file: 'x.md', source: 'sync' })]),
    );
  },
  on,
);
