import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
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
import { maintainRepository } from './maintenance.ts';
import { readBlob, readTree } from './objects.ts';
import { createBranch, readHeads } from './refs.ts';
import { createRepository, openRepository, RepositoryProblem } from './repository.ts';
import { ATTRIBUTES } from './repository-config.ts';
import { createGit } from './run.ts';
import { discardWorktree, openWorktree } from './worktrees.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

describe('createRepository', () => {
  it('begins with an empty commit on main that any git takes', async () => {
    const { repository } = bed;
    const person = personGit(repository.dir);
    expect((await person.log()).total).toBe(1);
    expect((await person.status()).current).toBe('main');
    expect((await person.status()).isClean()).toBe(true);
    expect(await readFile(join(repository.gitDir, 'info', 'attributes'), 'utf8')).toBe(ATTRIBUTES);
    expect(execFileSync('git', ['fsck', '--strict'], { cwd: repository.dir, encoding: 'utf8', stdio: 'pipe' })).toBe(
      '',
    );
  });

  it("hides files that are being written from a person's git, beside what she hides herself", async () => {
    const { repository } = bed;
    const exclude = join(repository.gitDir, 'info', 'exclude');
    await writeFile(join(repository.dir, '.svc-w_1.tmp'), 'half');
    const status = () => execFileSync('git', ['status', '--porcelain'], { cwd: repository.dir, encoding: 'utf8' });
    expect(status()).toBe('');
    await writeFile(exclude, '*.log');
    for (let opened = 0; opened < 2; opened += 1) (await openRepository(createGit(), repository.dir))[Symbol.dispose]();
    expect(await readFile(exclude, 'utf8')).toBe('*.log\n.svc-*\n');
    expect(status()).toBe('');
  });

  it('takes the place of no directory that holds something, and of a half-made one', async () => {
    const { repository, root } = bed;
    await expect(createRepository(createGit(), { dir: repository.dir, at: AT })).rejects.toThrow(/ENOTEMPTY|EEXIST/);
    await mkdir(join(root, '.svc-other.tmp', '.git'), { recursive: true });
    const other = await createRepository(createGit(), { dir: join(root, 'other'), at: AT });
    expect([...(await readHeads(other)).keys()]).toEqual(['main']);
    other[Symbol.dispose]();
  });
});

describe('openRepository', () => {
  const open = () => openRepository(createGit(), bed.repository.dir);
  const reason = () =>
    open().then(
      () => null,
      (error: unknown) => (error instanceof RepositoryProblem ? error.reason : error),
    );

  it.each([
    '[filter "x"]\n\tclean = touch canary',
    '[merge "x"]\n\tdriver = touch canary',
    '[diff "x"]\n\ttextconv = touch canary',
    '[diff]\n\texternal = touch canary',
    '[core]\n\tfsmonitor = touch canary',
    '[core]\n\tsshCommand = touch canary',
    '[CORE]\n\tSSHCOMMAND = touch canary',
    '[core]\n\tgitProxy = touch canary',
    '[core]\n\tworktree = /',
    '[http]\n\tproxy = http://127.0.0.1:1',
    '[http "https://host"]\n\tproxy = http://127.0.0.1:1',
    '[remote "origin"]\n\tproxy = http://127.0.0.1:1',
    '[remote "origin"]\n\tuploadpack = touch canary',
    '[remote "https://host/o/r.git"]\n\turl = ext::sh -c touch% canary',
    '[remote "https://host/o/r.git"]\n\tpushurl = https://elsewhere/o/r.git',
    '[remote "git@host:o/r.git"]\n\turl = ssh://elsewhere/o/r.git',
    '[protocol "ext"]\n\tallow = always',
    '[protocol "git"]\n\tallow = user',
    '[hook "x"]\n\tevent = reference-transaction\n\tcommand = touch canary',
    '[gc]\n\trecentObjectsHook = touch canary',
    '[fetch]\n\tbundleURI = https://elsewhere/bundle',
    '[credential]\n\thelper = !touch canary',
    '[credential "https://host"]\n\thelper = !touch canary',
    '[url "ext::sh -c touch% canary"]\n\tinsteadOf = https://',
    '[fsck]\n\tskipList = /tmp/x',
    '[fetch "fsck"]\n\tskipList = /tmp/x',
    '[include]\n\tpath = /tmp/x',
    '[includeIf "gitdir:/"]\n\tpath = /tmp/x',
    '[extensions]\n\tobjectFormat = sha256',
  ])('refuses a configuration that runs programs or leads elsewhere: %s', async (section) => {
    await appendFile(join(bed.repository.gitDir, 'config'), `${section}\n`);
    expect(await reason()).toBe('configuration');
  });

  it('refuses the same in the configuration of a working tree', async () => {
    await appendFile(join(bed.repository.gitDir, 'config'), '[extensions]\n\tworktreeConfig = true\n');
    await writeFile(join(bed.repository.gitDir, 'config.worktree'), '[filter "x"]\n\tclean = touch canary\n');
    expect(await reason()).toBe('configuration');
  });

  it('refuses the configuration of another repository, for itself or for a working tree', async () => {
    const { gitDir } = bed.repository;
    const link = join(gitDir, 'worktrees', 'hers');
    await personGit(bed.repository.dir).raw('worktree', 'add', join(bed.root, 'hers'), '-b', 'hers');
    (await open())[Symbol.dispose]();
    await writeFile(join(link, 'commondir'), '/elsewhere/.git\n');
    expect(await reason()).toBe('configuration');
    await writeFile(join(link, 'commondir'), '../..\n');
    await writeFile(join(gitDir, 'commondir'), '/elsewhere/.git\n');
    expect(await reason()).toBe('configuration');
  });

  it('refuses it also where the name only looks like the one of the repository', async () => {
    const { gitDir } = bed.repository;
    const link = join(gitDir, 'worktrees', 'hers');
    await personGit(bed.repository.dir).raw('worktree', 'add', join(bed.root, 'hers'), '-b', 'hers');
    await mkdir(join(gitDir, 'worktrees', '.. '));
    await writeFile(join(link, 'commondir'), '../.. \n');
    expect(await reason()).toBe('configuration');
    await writeFile(join(link, 'commondir'), '../..\n');
    await mkdir(join(gitDir, 'other', 'place'), { recursive: true });
    await rename(link, join(gitDir, 'other', 'place', 'hers'));
    await symlink('../other/place/hers', link);
    expect(await reason()).toBe('configuration');
  });

  it.each(['remotes', 'branches'])('refuses a file in %s that is named like an address', async (folder) => {
    const place = join(bed.repository.gitDir, folder);
    await mkdir(place);
    await writeFile(join(place, 'origin'), 'URL: https://host.example/o/r.git\n');
    (await open())[Symbol.dispose]();
    await writeFile(join(place, 'git@host:r.git'), 'URL: /elsewhere\n');
    expect(await reason()).toBe('configuration');
  });

  it("takes a person's ordinary settings", async () => {
    const person = personGit(bed.repository.dir);
    await person.addConfig('user.name', 'Person');
    await person.addRemote('origin', 'https://host.example/o/r.git');
    await person.addConfig('branch.main.remote', 'origin');
    await appendFile(join(bed.repository.gitDir, 'config'), '[core]\n\tfsmonitor = false\n');
    await appendFile(
      join(bed.repository.gitDir, 'config'),
      '[protocol]\n\tversion = 2\n[protocol "ext"]\n\tallow = never\n',
    );
    (await open())[Symbol.dispose]();
  });

  it('tells absent from damaged', async () => {
    await writeFile(join(bed.repository.gitDir, 'config'), '[[[');
    expect(await reason()).toBe('damaged');
    await rm(bed.repository.gitDir, { recursive: true });
    expect(await reason()).toBe('damaged'); // whose files are there is no brain that never was
    await rm(bed.repository.dir, { recursive: true });
    expect(await reason()).toBe('absent');
  });

  it('leaves diff and merge of text to git, in a repository of before too', async () => {
    const { dir, gitDir } = bed.repository;
    await writeFile(join(gitDir, 'info', 'attributes'), '* -text -filter -ident -working-tree-encoding -diff -merge\n');
    await open();
    const person = personGit(dir);
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
    const put = (changed: Record<number, string>): Promise<void> =>
      writeFile(join(dir, 'notes.md'), `${lines.map((line, index) => changed[index + 1] ?? line).join('\n')}\n`);
    await put({});
    await person.add('notes.md').commit('base');
    await person.checkoutLocalBranch('side');
    await put({ 2: 'theirs' });
    expect(await person.diff()).toContain('-line 2\n+theirs');
    await person.commit('side', ['notes.md']);
    await person.checkout('main');
    await put({ 25: 'ours' });
    await person.commit('main', ['notes.md']);
    await person.merge(['side']);
    const merged = await readFile(join(dir, 'notes.md'), 'utf8');
    expect([merged.includes('theirs'), merged.includes('ours')]).toEqual([true, true]);
  });

  it.each(['there', 'not there'])(
    'restores the attributes without writing over what they lead to: it is %s',
    async (is) => {
      const attributes = join(bed.repository.gitDir, 'info', 'attributes');
      const elsewhere = join(bed.root, 'elsewhere');
      if (is === 'there') await writeFile(elsewhere, 'of somebody else');
      await rm(attributes);
      await symlink(elsewhere, attributes);
      (await open())[Symbol.dispose]();
      expect(await readFile(attributes, 'utf8')).toBe(ATTRIBUTES);
      expect(await readFile(elsewhere, 'utf8').catch(() => null)).toBe(is === 'there' ? 'of somebody else' : null);
      expect((await readdir(join(bed.repository.gitDir, 'info'))).sort()).toEqual(['attributes', 'exclude']);
    },
  );

  it('restores the attributes, so that filters and hooks planted later stay inert', async () => {
    const { repository, worktreesDir } = bed;
    const canary = join(bed.root, 'canary');
    await rm(join(repository.gitDir, 'info'), { recursive: true });
    const opened = await open();
    await createBranch(opened, { branch: 'feat', commit: await mustRead(opened, 'main'), at: AT });
    const worktree = await openWorktree(opened, worktreesDir, 'feat');
    const filter = `[filter "x"]\n\tclean = touch ${canary}; cat\n\tsmudge = touch ${canary}; cat\n\trequired = true\n[core]\n\tfsmonitor = touch ${canary}\n\teol = crlf\n\tautocrlf = true\n`;
    await appendFile(join(repository.gitDir, 'config'), filter);
    await mkdir(join(repository.gitDir, 'hooks'), { recursive: true });
    for (const hook of [
      'reference-transaction',
      'post-index-change',
      'pre-commit',
      'post-checkout',
      'post-commit',
      'fsmonitor-watchman',
    ]) {
      await writeFile(join(repository.gitDir, 'hooks', hook), `#!/bin/sh\ntouch ${canary}\n`);
      await chmod(join(repository.gitDir, 'hooks', hook), 0o755);
    }
    for (const dir of [repository.dir, worktree]) {
      await writeFile(
        join(dir, '.gitattributes'),
        '* filter=x text eol=crlf ident working-tree-encoding=UTF-16 diff=x merge=x\n',
      );
    }
    const content = 'a\r\nb\n$Id$\n';
    await saveFiles(opened, { 'x.md': content });
    await writeFile(join(worktree, 'y.md'), content);
    const { commit } = await commitFiles(opened, 'feat', { 'y.md': content }, { worktree });
    const entry = (await readTree(opened, commit)).get('y.md');
    expect((await readBlob(opened, entry?.oid ?? '')).toString()).toBe(content);
    await discardWorktree(opened, worktree);
    expect(await readFile(join(await openWorktree(opened, worktreesDir, 'feat'), 'y.md'), 'utf8')).toBe(content);
    await maintainRepository(opened);
    expect(existsSync(canary)).toBe(false);
    opened[Symbol.dispose]();
  });
});
