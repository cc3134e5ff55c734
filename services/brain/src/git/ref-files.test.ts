import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AT, makeTestBed, mustRead, personGit, saveFiles } from '../../testing/git-test-bed.ts';
import { readRefFiles } from './ref-files.ts';
import { createBranch, readHeads } from './refs.ts';

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
  const asRead = () => Object.fromEntries(readRefFiles(repository.gitDir, 'refs/heads/') ?? []);
  const first = await mustRead(repository, 'main');
  for (const branch of ['a', 'deep/er', 'deep/est']) await createBranch(repository, { branch, commit: first, at: AT });
  expect(asRead()).toEqual(await asGit());
  await person.raw('pack-refs', '--all');
  expect(asRead()).toEqual(await asGit());
  await saveFiles(repository, { 'x.md': 'x' });
  await person.raw('update-ref', '-d', 'refs/heads/deep/er');
  expect(asRead()).toEqual(await asGit());
  expect(Object.keys(asRead())).toHaveLength(3);
});

it('leaves to git what only git understands', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  writeFileSync(join(repository.gitDir, 'refs/heads/alias'), 'ref: refs/heads/main\n');
  expect(readRefFiles(repository.gitDir, 'refs/heads/')).toBeNull();
  const head = await mustRead(repository, 'main');
  expect(Object.fromEntries(await readHeads(repository))).toEqual({ main: head, alias: head });
  appendFileSync(join(repository.gitDir, 'refs/heads/alias.lock'), 'half written');
  expect((await readHeads(repository)).size).toBe(2);
});
