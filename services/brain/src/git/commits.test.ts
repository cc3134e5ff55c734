import { execFile } from 'node:child_process';
import { readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blobId } from './blob-id.ts';
import { findDamage } from './boot-repair.ts';
import { commitChanges } from './commits.ts';
import {
  AT,
  AUTHOR,
  commitFiles,
  hasProgram,
  makeTestBed,
  mustRead,
  personGit,
  readLog,
  saveFiles,
  type TestBed,
  text,
} from '../../testing/git-test-bed.ts';
import { indexLockOf } from './index-lock.ts';
import { readBlob, readTree } from './objects.ts';
import { createBranch } from './refs.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

describe('commitChanges', () => {
  it('leaves a clean working tree for a person, and a history an independent git reads', async () => {
    const { repository } = bed;
    const result = await saveFiles(repository, { 'a/x.md': 'one\r\n', 'b.json': '{}', 'c d.md': 'é' }, 'first words');
    expect(result.status).toBe('committed');
    const person = personGit(repository.dir);
    expect((await person.status()).isClean()).toBe(true);
    const log = await person.log();
    expect(log.latest?.message).toBe('first words');
    expect(log.total).toBe(2);
    expect(await person.show(['HEAD:a/x.md'])).toBe('one\r\n');
  });

  it('writes additions, changes, deletions, and a directory in the place of a file', async () => {
    const { repository } = bed;
    await saveFiles(repository, { a: '1', 'b.md': '2', 'c.md': '3' });
    const { commit } = await saveFiles(repository, { a: null, 'a/deep/x.md': '4', 'b.md': '22', 'c.md': null });
    const tree = await readTree(repository, commit);
    expect([...tree.keys()].sort()).toEqual(['a/deep/x.md', 'b.md']);
    expect(tree.get('b.md')).toEqual({ mode: '100644', oid: blobId(text('22')), bytes: 2 });
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });

  it('keeps what was not committed as a change a person sees', async () => {
    const { repository } = bed;
    await saveFiles(repository, { 'x.md': '1', 'y.md': '1' });
    await writeFile(join(repository.dir, 'y.md'), 'edited by hand');
    await saveFiles(repository, { 'x.md': '2' });
    expect((await personGit(repository.dir).status()).modified).toEqual(['y.md']);
  });

  it('reads back any bytes it wrote', async () => {
    const { repository } = bed;
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256);
    const head = await mustRead(repository, 'main');
    const changes = [
      { path: 'bin.dat', content: bytes },
      { path: 'empty.md', content: text('') },
    ];
    await commitChanges(repository, {
      branch: 'main',
      worktree: null,
      expectedHead: head,
      changes,
      message: 'm',
      author: AUTHOR,
      at: AT,
    });
    expect(new Uint8Array(await readBlob(repository, blobId(bytes)))).toEqual(bytes);
    expect((await readBlob(repository, blobId(text('')))).length).toBe(0);
    await expect(readBlob(repository, 'ab'.repeat(20))).rejects.toThrow(/missing/);
  });

  it('answers moved, and changes nothing, when the branch is elsewhere', async () => {
    const { repository } = bed;
    const stale = await mustRead(repository, 'main');
    const { commit } = await saveFiles(repository, { 'x.md': '1' });
    const result = await commitChanges(repository, {
      branch: 'main',
      worktree: repository.dir,
      expectedHead: stale,
      changes: [{ path: 'x.md', content: text('2') }],
      message: 'm',
      author: AUTHOR,
      at: AT,
    });
    expect(result).toEqual({ status: 'moved', head: commit });
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });

  it('lets every concurrent committer in exactly once', async () => {
    const { repository } = bed;
    const committer = async (writer: number): Promise<void> => {
      for (let round = 0; round < 5; round += 1) {
        const changes = [{ path: `w${writer}/${round}.md`, content: text(`${writer} ${round}`) }];
        for (let done = false; !done; ) {
          const expectedHead = await mustRead(repository, 'main');
          const result = await commitChanges(repository, {
            branch: 'main',
            worktree: null,
            expectedHead,
            changes,
            message: `${writer}.${round}`,
            author: AUTHOR,
            at: AT,
          });
          done = result.status === 'committed';
        }
      }
    };
    await Promise.all([0, 1, 2, 3].map(committer));
    const head = await mustRead(repository, 'main');
    expect((await readTree(repository, head)).size).toBe(20);
    const log = await readLog(repository, { from: head, limit: 100 });
    expect(log).toHaveLength(21);
    expect(log.every(({ parents }) => parents.length <= 1)).toBe(true);
    expect(await findDamage(repository, 'strict')).toBeNull();
  });

  it('waits for a fresh index.lock of a person and then changes nothing; a stale one goes', async () => {
    const { repository } = bed;
    const lock = join(repository.gitDir, 'index.lock');
    const head = await mustRead(repository, 'main');
    await writeFile(lock, '');
    await expect(saveFiles(repository, { 'x.md': '1' })).rejects.toThrow('index-held');
    expect((await indexLockOf(repository, repository.dir))?.ageMs).toBeGreaterThan(1000);
    expect(await mustRead(repository, 'main')).toBe(head);
    expect(await readdir(repository.gitDir)).toContain('index.lock');
    const old = new Date(Date.now() - 11 * 60_000);
    await utimes(lock, old, old);
    await saveFiles(repository, { 'x.md': '2' });
    expect(await indexLockOf(repository, repository.dir)).toBeNull();
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });

  it.each(['index.lock', 'refs/heads/main.lock'])(
    'a %s from before the clock was set back is somebody’s for ten minutes, and not until the clock is there again',
    async (name) => {
      const { repository } = bed;
      await saveFiles(repository, { 'x.md': '1' });
      const lock = join(repository.gitDir, name);
      const dated = (ms: number) => utimes(lock, new Date(Date.now() + ms), new Date(Date.now() + ms));
      await writeFile(lock, '');
      await dated(60 * 60_000);
      await expect(saveFiles(repository, { 'x.md': '2' })).rejects.toThrow();
      const { mtimeMs } = await stat(lock);
      expect(Math.abs(Date.now() - mtimeMs)).toBeLessThan(60_000);
      await dated(-11 * 60_000);
      await saveFiles(repository, { 'x.md': '3' });
    },
  );

  it.each([40, 100, 200])('starts anew from an index that was cut off after %i bytes', async (bytes) => {
    const { repository } = bed;
    const index = join(repository.gitDir, 'index');
    const names = ['a.md', 'b.md', 'c.md', 'd.md'];
    await saveFiles(repository, Object.fromEntries(names.map((name) => [name, name])));
    await truncate(index, bytes);
    await saveFiles(repository, { 'e.md': 'e' });
    const person = personGit(repository.dir);
    expect((await person.status()).isClean()).toBe(true);
    expect((await person.raw('ls-files')).trim().split('\n')).toEqual([...names, 'e.md']);
  });

  it('starts from a damaged index', async () => {
    const { repository } = bed;
    await saveFiles(repository, { 'x.md': '1' });
    await writeFile(join(repository.gitDir, 'index'), 'garbage');
    await saveFiles(repository, { 'y.md': '1' });
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });

  it('leaves nothing in the scratch directory', async () => {
    await saveFiles(bed.repository, { 'x.md': '1' });
    expect(await readdir(bed.repository.scratchDir)).toEqual([]);
  });
});

describe('attribution', () => {
  it('puts our trailers in a paragraph of their own that a user cannot forge', async () => {
    const { repository } = bed;
    const message = 'title\n\nSvc-Agent: mallory\nsvc-fence: 9\n\n';
    const changes = [{ path: 'x.md', content: text('1') }];
    const expectedHead = await mustRead(repository, 'main');
    await commitChanges(repository, {
      branch: 'main',
      worktree: null,
      expectedHead,
      changes,
      message,
      author: AUTHOR,
      agent: 'ada',
      fence: 7,
      at: AT,
    });
    const [entry] = await readLog(repository, { from: await mustRead(repository, 'main'), limit: 1 });
    expect(entry).toMatchObject({ agent: 'ada', fence: 7, author: AUTHOR, authoredAt: AT, committedAt: AT });
    expect(entry?.message).toBe('title\n\n Svc-Agent: mallory\n svc-fence: 9');
    const trailers = await personGit(repository.dir).raw(['log', '-1', '--format=%(trailers:only)', 'main']);
    expect(trailers.trim()).toBe('Svc-Agent: ada\nSvc-Fence: 7');
  });

  it('lists in the order and range asked for', async () => {
    const { repository } = bed;
    const first = await commitFiles(repository, 'main', { 'x.md': '1' }, { message: 'one' });
    await commitFiles(repository, 'main', { 'x.md': '2' }, { message: 'two\n\nbody' });
    const head = await mustRead(repository, 'main');
    const entries = await readLog(repository, { from: head, without: first.parent, limit: 10 });
    expect(entries.map(({ message }) => message)).toEqual(['two\n\nbody', 'one']);
  });
});

describe('durability', () => {
  it.skipIf(!hasProgram('strace'))(
    'fsyncs objects, their directories and the reference before it answers',
    async () => {
      const { repository, root } = bed;
      await createBranch(repository, { branch: 'feat', commit: await mustRead(repository, 'main'), at: AT });
      const trace = join(root, 'trace');
      const script = join(import.meta.dirname, '..', '..', 'testing', 'commit-once.fixture.ts');
      await promisify(execFile)('strace', [
        '-f',
        '-y',
        '-e',
        'trace=fsync,fdatasync,rename,link,write',
        '-o',
        trace,
        process.execPath,
        script,
        repository.dir,
      ]);
      const lines = (await readFile(trace, 'utf8')).split('\n');
      const answered = lines.findIndex((line) => line.includes('"answered'));
      expect(answered).toBeGreaterThan(0);
      const synced = lines
        .slice(0, answered)
        .filter((line) => /f(data)?sync\(/.test(line))
        .join('\n');
      expect(synced.match(/objects\/[0-9a-f]{2}\/tmp_obj_/g)?.length).toBe(3);
      expect(synced).toMatch(/\.git\/svc\/ref-/); // the lock is a link to it, and becomes the reference
      expect(synced).toMatch(/\.git\/refs\/heads>/);
      expect(new Set(synced.match(/\.git\/objects\/[0-9a-f]{2}>/g)).size).toBeGreaterThanOrEqual(1);
    },
  );
});
