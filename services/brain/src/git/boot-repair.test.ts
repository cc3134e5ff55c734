import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDamage, repairRepository } from './boot-repair.ts';
import { blobId } from './blob-id.ts';
import {
  makeTestBed,
  mustRead,
  personGit,
  placeFile,
  readLog,
  saveFiles,
  type TestBed,
  text,
} from '../../testing/git-test-bed.ts';
import { lockIndex } from './index-lock.ts';
import { countObjects, maintainRepository, packWhenDue } from './maintenance.ts';
import { readBlob, readTree, writeBlobs } from './objects.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

describe('repairRepository', () => {
  it('removes our dead locks and very old ones, and leaves a live one of a person', async () => {
    const { repository } = bed;
    const lock = (name: string) => join(repository.gitDir, name);
    await mkdir(repository.scratchDir, { recursive: true });
    await writeFile(join(repository.scratchDir, 'running-1'), 'refs/heads/main.lock\nHEAD.lock');
    await writeFile(lock('refs/heads/main.lock'), '');
    await writeFile(lock('index.lock'), '');
    await writeFile(lock('packed-refs.lock'), '');
    const old = new Date(Date.now() - 11 * 60_000);
    await utimes(lock('packed-refs.lock'), old, old);
    const report = await repairRepository(repository);
    expect([...report.removedLocks].sort()).toEqual(['packed-refs.lock', 'refs/heads/main.lock']);
    expect(report.damage).toBeNull();
    expect(existsSync(repository.scratchDir)).toBe(false);
    expect(existsSync(lock('index.lock'))).toBe(true);
    await rm(lock('index.lock'));
    await saveFiles(repository, { 'x.md': '1' });
  });

  it('removes the index lock of a commit that was killed, and a person goes on', async () => {
    const { repository } = bed;
    await saveFiles(repository, { 'x.md': '1' });
    const locked = await lockIndex(repository, repository.dir);
    if (locked.status === 'held') throw new Error('nobody else is here');
    const oid = blobId(text('2'));
    await locked.index.edit(
      [{ path: 'x.md', entry: { mode: '100644', oid, stat: null } }],
      await mustRead(repository, 'main'),
    );
    // killed here: the index has what `git add` would have put there, the branch is where it was
    expect((await repairRepository(repository)).removedLocks).toEqual(['index.lock']);
    await placeFile(repository.dir, 'x.md', '2');
    await saveFiles(repository, { 'x.md': '2' });
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });

  it('reports a head whose objects are gone', async () => {
    const { repository } = bed;
    const head = await mustRead(repository, 'main');
    await rm(join(repository.gitDir, 'objects', head.slice(0, 2), head.slice(2)));
    expect((await repairRepository(repository)).damage).not.toBeNull();
  });

  it('serves again after kill -9 at any point of a commit, and has lost no acknowledged one', async () => {
    const { repository } = bed;
    let acknowledged = 0;
    for (let round = 0; round < 20; round += 1) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, '..', '..', 'testing', 'commit-forever.fixture.ts'), repository.dir, String(round)],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await once(child.stdout, 'data');
      await delay(round * 9);
      child.kill('SIGKILL');
      await once(child, 'close');
      const commits = output.split('\n').slice(0, -1);
      acknowledged += commits.length;
      expect((await repairRepository(repository)).damage).toBeNull();
      const { commit } = await saveFiles(repository, { 'after.md': `${round}` });
      const log = new Set((await readLog(repository, { from: commit, limit: 10_000 })).map((entry) => entry.commit));
      for (const id of commits) expect(log.has(id)).toBe(true);
    }
    expect(acknowledged).toBeGreaterThan(20);
    expect(await findDamage(repository, 'strict')).toBeNull();
  }, 120_000);
});

it('maintenance keeps every file readable', async () => {
  const { repository } = bed;
  for (let n = 0; n < 5; n += 1) await saveFiles(repository, { [`${n}.md`]: `${n}` });
  const head = await mustRead(repository, 'main');
  await maintainRepository(repository);
  for (const [path, { oid }] of await readTree(repository, head))
    expect(`${(await readBlob(repository, oid)).toString()}.md`).toBe(path);
  expect(await findDamage(repository, 'strict')).toBeNull();
});

it('packs loose objects when there are many, beside a writer, and not again before as many came to them', async () => {
  const { repository } = bed;
  const unnamed = await writeBlobs(repository, [text('nobody names it')]);
  for (let n = 0; n < 12; n += 1) await saveFiles(repository, { [`${n}.md`]: `${n}` });
  expect(await packWhenDue(repository, { loose: 100, packs: 5 })).toBe(false);
  const due = { loose: 20, packs: 5 };
  const [didPack] = await Promise.all([packWhenDue(repository, due), saveFiles(repository, { 'beside.md': 'x' })]);
  expect(didPack).toBe(true);
  expect((await countObjects(repository)).packs).toBe(1);
  expect((await countObjects(repository)).loose).toBeLessThan(8);
  expect(await packWhenDue(repository, due)).toBe(false);
  for (let round = 0; round < 6; round += 1)
    await writeBlobs(
      repository,
      Array.from({ length: 65 }, (_, n) => text(`${round} ${n}`)),
    );
  expect(await packWhenDue(repository, due)).toBe(true);
  expect((await countObjects(repository)).packs).toBeLessThanOrEqual(2);
  expect((await readBlob(repository, unnamed[0] ?? '')).toString()).toBe('nobody names it');
  expect(await findDamage(repository, 'strict')).toBeNull();
});
