import { existsSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AT, makeTestBed, mustRead, personGit, saveFiles, type TestBed } from '../../testing/git-test-bed.ts';
import { maintainRepository } from './maintenance.ts';
import {
  countDivergence,
  createBranch,
  expireRescues,
  isHeadUnmoved,
  moveRefs,
  readHeads,
  readRef,
  readRefs,
  readStampedHead,
  resolveReading,
} from './refs.ts';

const GIT_IDS = { readings: (hex: string) => [hex] };

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

describe('references', () => {
  it('resolves branches before hex, short ids while they are unambiguous, rescues, and nothing else', async () => {
    const { repository } = bed;
    const { commit, parent, tree } = await saveFiles(repository, { 'x.md': '1' });
    const hex = parent.slice(0, 6);
    expect(await resolveReading(repository, hex, GIT_IDS)).toBe(parent);
    expect(await resolveReading(repository, parent, GIT_IDS)).toBe(parent);
    expect(await resolveReading(repository, parent.toUpperCase(), GIT_IDS)).toBe(parent);
    await createBranch(repository, { branch: hex, commit, at: AT });
    expect(await resolveReading(repository, hex, GIT_IDS)).toBe(commit);
    expect(await resolveReading(repository, 'main', GIT_IDS)).toBe(commit);
    await moveRefs(repository, [{ ref: 'refs/rescue/20260101T000000Z-00000000/ours', to: parent, from: null }], AT);
    expect(await resolveReading(repository, 'rescue/20260101T000000Z-00000000/ours', GIT_IDS)).toBe(parent);
    for (const at of [
      tree,
      'HEAD',
      '@',
      'main~1',
      'main^{tree}',
      ':/save',
      '@{-1}',
      'refs/heads/main',
      'abc',
      'ffffffff',
      '--all',
      'main@{0}',
      'rescue/x/ours',
      '',
    ]) {
      expect(await resolveReading(repository, at, GIT_IDS), at).toBeNull();
    }
  });

  it('does not resolve what begins two commits', async () => {
    const { repository } = bed;
    const ids: string[] = [];
    for (let n = 0; n < 400; n += 1)
      ids.push(
        (
          await repository.git.run({
            args: ['commit-tree', '-F', '-', '4b825dc642cb6eb9a060e54bf8d69288fbee4904'],
            gitDir: repository.gitDir,
            stdin: `${n}`,
            env: {
              GIT_AUTHOR_NAME: 'a',
              GIT_AUTHOR_EMAIL: 'a',
              GIT_AUTHOR_DATE: '@1 +0000',
              GIT_COMMITTER_DATE: '@1 +0000',
            },
          })
        ).stdout
          .toString()
          .trim(),
      );
    const prefixes = ids.map((id) => id.slice(0, 4));
    const twice = prefixes.find((prefix, index) => prefixes.indexOf(prefix) !== index);
    expect(twice).toBeDefined();
    expect(await resolveReading(repository, twice ?? '', GIT_IDS)).toBeNull();
  });

  it('reads a head whether loose or packed', async () => {
    const { repository } = bed;
    const head = await mustRead(repository, 'main');
    await maintainRepository(repository);
    expect(existsSync(join(repository.gitDir, 'refs', 'heads', 'main'))).toBe(false);
    expect(await mustRead(repository, 'main')).toBe(head);
    expect(await readRef(repository, 'refs/heads/none')).toBeNull();
    expect(await readHeads(repository)).toEqual(new Map([['main', head]]));
    const run = () => Promise.reject(new Error('git was started'));
    const alone = { ...repository, git: { ...repository.git, run } };
    expect([await readRef(alone, 'refs/heads/main'), await readRef(alone, 'refs/heads/none')]).toEqual([head, null]);
  });

  it('does not take the packed head for one whose own file is damaged', async () => {
    const { repository } = bed;
    await maintainRepository(repository);
    await writeFile(join(repository.gitDir, 'refs', 'heads', 'main'), '');
    expect(await readRef(repository, 'refs/heads/main')).toBeNull();
  });

  it('refuses branches that collide', async () => {
    const { repository } = bed;
    const commit = await mustRead(repository, 'main');
    const create = (branch: string) => createBranch(repository, { branch, commit, at: AT });
    expect(await create('a/b')).toBe('created');
    for (const branch of ['a', 'a/b', 'A/B', 'a/b/c', 'MAIN', 'main', 'A'])
      expect(await create(branch), branch).toBe('exists');
    expect(await moveRefs(repository, [{ ref: 'refs/heads/a', to: commit, from: null }], AT)).toBe(false);
    expect(await create('a/c')).toBe('created');
  });

  it('moves all references or none', async () => {
    const { repository } = bed;
    const { commit, parent } = await saveFiles(repository, { 'x.md': '1' });
    await createBranch(repository, { branch: 'b', commit, at: AT });
    const moves = [
      { ref: 'refs/heads/b', to: parent, from: commit },
      { ref: 'refs/heads/main', to: parent, from: parent },
    ];
    expect(await moveRefs(repository, moves, AT)).toBe(false);
    expect(await mustRead(repository, 'b')).toBe(commit);
    expect(await moveRefs(repository, moves.slice(0, 1), AT)).toBe(true);
    expect(await moveRefs(repository, [{ ref: 'refs/heads/none', to: parent, from: commit }], AT)).toBe(false);
    expect(await countDivergence(repository, commit, parent)).toEqual({ ahead: 1, behind: 0 });
  });

  it('expires old rescues only', async () => {
    const { repository } = bed;
    const to = await mustRead(repository, 'main');
    const rescues = [
      '20260101T000000Z-00000000/ours',
      '20260101T000000Z-00000000/theirs',
      '20260401T000000Z-00000000/ours',
    ];
    await moveRefs(
      repository,
      rescues.map((name) => ({ ref: `refs/rescue/${name}`, to, from: null })),
      AT,
    );
    expect(await expireRescues(repository, new Date('2026-02-01T00:00:00Z'), AT)).toBe(2);
    expect([...(await readRefs(repository, 'refs/rescue/')).keys()]).toEqual(rescues.slice(2));
  });
});

describe('the stamp of a head', () => {
  const later = (): number => Date.now() + 1000;

  it('stands for the head until it moves, whoever moves it, also at once and back', async () => {
    const { repository } = bed;
    const { commit, parent } = await saveFiles(repository, { 'x.md': '1' });
    const person = personGit(repository.dir);
    for (const to of [parent, commit, parent, commit, parent]) {
      const { head, stamp } = await readStampedHead(repository, 'main', later());
      expect(head).toBe(await mustRead(repository, 'main'));
      expect(isHeadUnmoved(repository, 'main', stamp ?? '')).toBe(true);
      await person.raw('update-ref', 'refs/heads/main', to);
      expect(isHeadUnmoved(repository, 'main', stamp ?? '')).toBe(false);
    }
  });

  it('is not given for a head that moved just now, nor for one that lies in no file of its own', async () => {
    const { repository } = bed;
    const { commit } = await saveFiles(repository, { 'x.md': '1' });
    const movedAt = statSync(join(repository.gitDir, 'refs', 'heads', 'main')).ctimeMs;
    expect(await readStampedHead(repository, 'main', movedAt + 10)).toEqual({ head: commit, stamp: null });
    const person = personGit(repository.dir);
    await person.raw('symbolic-ref', 'refs/heads/alias', 'refs/heads/main');
    expect(await readStampedHead(repository, 'alias', later())).toEqual({ head: commit, stamp: null });
    const { stamp } = await readStampedHead(repository, 'main', later());
    await person.raw('pack-refs', '--all');
    expect(isHeadUnmoved(repository, 'main', stamp ?? '')).toBe(false);
    expect(await readStampedHead(repository, 'main', later())).toEqual({ head: commit, stamp: null });
    expect(await readStampedHead(repository, 'none', later())).toEqual({ head: null, stamp: null });
    await writeFile(join(repository.gitDir, 'refs', 'heads', 'main'), '');
    expect((await readStampedHead(repository, 'main', later())).stamp).toBeNull();
  });
});
