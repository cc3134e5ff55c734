import { chmodSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeTestBed, personGit, saveFiles } from '../../testing/git-test-bed.ts';
import { repairRepository } from './boot-repair.ts';

const INDEXES = {
  'commit-graph': ['objects/info/commit-graph', ['commit-graph', 'write', '--reachable']],
  'multi-pack-index': ['objects/pack/multi-pack-index', ['multi-pack-index', 'write']],
} as const;

/** Writes over four bytes in its middle. */
function garble(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill('X', bytes.length / 2, bytes.length / 2 + 4));
}

it.each([
  ['commit-graph', 'cut off', (path: string) => truncateSync(path, 100)],
  ['commit-graph', 'empty', (path: string) => truncateSync(path, 0)],
  ['commit-graph', 'garbled', garble],
  ['multi-pack-index', 'cut off', (path: string) => truncateSync(path, 100)],
  ['multi-pack-index', 'garbled', garble],
] as const)('a %s that is %s goes, and a sound one stays', async (name, _how, tear) => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  for (const content of ['1', '2', '3']) await saveFiles(repository, { 'a.md': content });
  await personGit(repository.dir).raw('repack', '-ad');
  const [file, args] = INDEXES[name];
  await personGit(repository.dir).raw(...args);
  const path = join(repository.gitDir, file);
  expect(await repairRepository(repository)).toMatchObject({ tornIndexes: [], damage: null });
  expect(existsSync(path)).toBe(true);

  chmodSync(path, 0o644);
  tear(path);
  expect(await repairRepository(repository)).toMatchObject({ tornIndexes: [name], damage: null });
  expect(existsSync(path)).toBe(false);
  expect((await personGit(repository.dir).raw('rev-list', '--count', 'main')).trim()).toBe('4');
});

it('takes nothing away from a repository whose objects are damaged', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  await saveFiles(repository, { 'a.md': '1' });
  const path = join(repository.gitDir, 'objects/info/commit-graph');
  await personGit(repository.dir).raw('commit-graph', 'write', '--reachable');
  const tree = (await personGit(repository.dir).raw('rev-parse', 'main^{tree}')).trim();
  const object = join(repository.gitDir, 'objects', tree.slice(0, 2), tree.slice(2));
  chmodSync(object, 0o644);
  truncateSync(object, 3);
  expect(await repairRepository(repository)).toMatchObject({ tornIndexes: [], damage: expect.any(String) as string });
  expect(existsSync(path)).toBe(true);
});
