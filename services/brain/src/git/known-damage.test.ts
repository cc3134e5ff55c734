import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeTestBed, mustRead, saveFiles } from '../../testing/git-test-bed.ts';
import { type Fsck, findDamage, runFsck } from './boot-repair.ts';
import { rememberDamage } from './known-damage.ts';
import { readTree } from './objects.ts';

it('looks once for as long as nothing changes, also for whoever asks meanwhile, and again when an object is back', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  await saveFiles(repository, { 'a.md': '1' });
  const { oid = '' } = (await readTree(repository, await mustRead(repository, 'main'))).get('a.md') ?? {};
  const [object, aside] = [join(repository.gitDir, 'objects', oid.slice(0, 2), oid.slice(2)), join(bed.root, 'aside')];
  renameSync(object, aside);
  let [runs, now] = [0, 0];
  const counted: Fsck = (...asked) => {
    runs += 1;
    return runFsck(...asked);
  };
  const fsck = rememberDamage(counted, () => now);
  const look = () => findDamage(repository, 'heads', fsck);
  for (const said of await Promise.all([look(), look(), look()])) expect(said).toContain(oid);
  expect(await look()).toContain(oid);
  expect(runs).toBe(1);
  now += 10_000;
  expect(await look()).toContain(oid);
  expect(runs).toBe(2);
  renameSync(aside, object);
  expect(await look()).toBeNull();
  await saveFiles(repository, { 'a.md': '2' });
  expect(await look()).toBeNull();
  expect(runs).toBe(4);
});
