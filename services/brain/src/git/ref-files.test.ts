import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AT, makeTestBed, mustRead, personGit, saveFiles } from '../../testing/git-test-bed.ts';
import { turnsOf } from '../../testing/turns.ts';
import { readRefFiles } from './ref-files.ts';
import { createBranch, readHead, readHeads } from './refs.ts';

const MANY = 10_000;

it('answers what git answers, loose, packed and both', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  const person = personGit(repository.dir);
  const asGit = async () => {
    const lines = (await person.raw('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/'))
      .trim()
      .split('\n');
    return Object.fromEntries(lines.map((line) => line.split(' ')));
  };
  const asRead = async () => Object.fromEntries((await readRefFiles(repository.gitDir, 'refs/heads/')) ?? []);
  const first = await mustRead(repository, 'main');
  for (const branch of ['a', 'deep/er', 'deep/est']) await createBranch(repository, { branch, commit: first, at: AT });
  expect(await asRead()).toEqual(await asGit());
  await person.raw('pack-refs', '--all');
  expect(await asRead()).toEqual(await asGit());
  await saveFiles(repository, { 'x.md': 'x' });
  await person.raw('update-ref', '-d', 'refs/heads/deep/er');
  expect(await asRead()).toEqual(await asGit());
  expect(Object.keys(await asRead())).toHaveLength(3);
});

it('leaves to git what only git understands', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  writeFileSync(join(repository.gitDir, 'refs/heads/alias'), 'ref: refs/heads/main\n');
  expect(await readRefFiles(repository.gitDir, 'refs/heads/')).toBeNull();
  const head = await mustRead(repository, 'main');
  expect(Object.fromEntries(await readHeads(repository))).toEqual({ main: head, alias: head });
  appendFileSync(join(repository.gitDir, 'refs/heads/alias.lock'), 'half written');
  expect((await readHeads(repository)).size).toBe(2);
});

it('lets others in while it reads the many branches of a remote', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  const main = await mustRead(repository, 'main');
  const tracking = join(repository.gitDir, 'refs/remotes/origin');
  mkdirSync(tracking, { recursive: true });
  for (let number = 0; number < MANY; number += 1) writeFileSync(join(tracking, `b${number}`), `${main}\n`);
  let refs: Awaited<ReturnType<typeof readRefFiles>> = null;
  const turns = await turnsOf(async () => {
    refs = await readRefFiles(repository.gitDir, 'refs/remotes/origin/');
  });
  expect(refs).toHaveProperty('size', MANY);
  expect(turns).toBeGreaterThan(0);
});

it('passes by what a person put there that is no reference', async () => {
  await using bed = await makeTestBed();
  const { gitDir } = bed.repository;
  const heads = join(gitDir, 'refs/heads');
  symlinkSync('.', join(heads, 'above'));
  symlinkSync('itself', join(heads, 'itself'));
  symlinkSync('nowhere', join(heads, 'gone'));
  symlinkSync('main', join(heads, 'linked'));
  const main = await mustRead(bed.repository, 'main');
  expect(await readRefFiles(gitDir, 'refs/heads/')).toEqual(
    new Map([
      ['refs/heads/linked', main],
      ['refs/heads/main', main],
    ]),
  );
});

it('takes no name from packed references with line ends that git does not read, and says so', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  await personGit(repository.dir).raw('pack-refs', '--all');
  const file = join(repository.gitDir, 'packed-refs');
  const sound = readFileSync(file, 'latin1');
  for (const [text, said] of [
    [sound.replaceAll('\n', '\r\n'), '.git/packed-refs has line ends (CRLF) that git does not read'],
    [`${sound}nonsense\n`, '.git/packed-refs has a line that is no reference'],
  ] as const) {
    writeFileSync(file, text);
    await expect(readHeads(repository)).rejects.toMatchObject({ reason: 'damaged', message: said });
    await expect(readHead(repository, 'main')).rejects.toMatchObject({ reason: 'damaged', message: said });
  }
  writeFileSync(file, sound);
  expect([...(await readHeads(repository)).keys()]).toEqual(['main']);
});
