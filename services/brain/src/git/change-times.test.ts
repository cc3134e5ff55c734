import { expect, test } from 'vitest';
import { AUTHOR, makeTestBed, mustRead, personGit, placeFile, text } from '../../testing/git-test-bed.ts';
import { changeTimeOf, readChangeTimes } from './change-times.ts';
import { commitChanges } from './commits.ts';
import { readTree } from './objects.ts';
import type { Repository } from './repository.ts';

/** As git tells it of each file by itself. */
async function timesByGit(repository: Repository, commit: string) {
  const git = personGit(repository.dir);
  const tree = await readTree(repository, commit);
  const times = [...tree].map(async ([path, { oid }]) => {
    const at = Number(await git.raw('log', '-1', '--no-patch', '--format=%ct', commit, '--', path)) * 1_000;
    return [path, { at, blob: oid }] as const;
  });
  return new Map(await Promise.all(times));
}

const sorted = <Value>(map: ReadonlyMap<string, Value>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));

type Files = Readonly<Record<string, string | null>>;

/** Commits that are an hour apart. */
function committerOf(repository: Repository) {
  let hour = 0;
  return async (branch: string, files: Files): Promise<string> => {
    const worktree = branch === 'main' ? repository.dir : null;
    hour += 1;
    for (const [path, content] of Object.entries(files)) {
      if (worktree !== null) await placeFile(worktree, path, content);
    }
    const result = await commitChanges(repository, {
      branch,
      worktree,
      expectedHead: await mustRead(repository, branch),
      changes: Object.entries(files).map(([path, content]) => ({
        path,
        content: content === null ? null : text(content),
      })),
      message: 'save',
      author: AUTHOR,
      at: new Date(Date.UTC(2026, 2, 1, hour)),
    });
    return result.status === 'committed' ? mustRead(repository, branch) : expect.fail(result.status);
  };
}

test('is that of the last commit that changed the file, over merges, deletions and what came since', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  const git = personGit(repository.dir);
  const save = committerOf(repository);
  const expectTimes = async (commit: string) =>
    expect(sorted((await readChangeTimes(repository, commit)).files)).toEqual(
      sorted(await timesByGit(repository, commit)),
    );
  await save('main', { 'a.md': 'a', 'b.md': 'b', 'd/ü x.md': 'u', 'both.md': '1\n2\n3\n4\n5\n' });
  const base = await save('main', { 'b.md': 'b2', 'gone.md': 'x' });
  await expectTimes(base);

  await git.raw('branch', 'side', base);
  await save('side', { 'b.md': null, 'side.md': 's', 'both.md': '1\n2\n3\n4\nfive\n' });
  const ours = await save('main', { 'a.md': 'a2', 'gone.md': null, 'both.md': 'one\n2\n3\n4\n5\n' });
  await expectTimes(ours);
  await git.raw('merge', '--quiet', '--no-edit', 'side');
  const merged = await mustRead(repository, 'main');
  await expectTimes(merged);
  expect([...(await readChangeTimes(repository, merged)).files.keys()].toSorted()).toEqual(
    [...(await readTree(repository, merged)).keys()].toSorted(),
  );
  await expectTimes(base);
  expect(await readChangeTimes(repository, merged)).toBe(await readChangeTimes(repository, merged));
});

test('of a long history the last commits are read, and the other files are older than those', async () => {
  await using bed = await makeTestBed();
  const { repository } = bed;
  const save = committerOf(repository);
  await save('main', { 'a.md': 'a', 'b.md': 'b' });
  await save('main', { 'b.md': 'b2' });
  const middle = await save('main', { 'c.md': 'c' });
  const head = await save('main', { 'd.md': 'd' });
  const blobs = await readTree(repository, head);
  const hoursOf = async (commit: string, most: number) => {
    const times = await readChangeTimes(repository, commit, most);
    const hours = [...blobs].map(([path, { oid }]) => {
      const at = changeTimeOf(times, path, oid);
      return [path, at === null ? null : new Date(at).getUTCHours()];
    });
    return Object.fromEntries(hours) as Record<string, number | null>;
  };
  expect(await hoursOf(middle, 2)).toMatchObject({ 'a.md': 2, 'b.md': 2, 'c.md': 3 });
  expect(await hoursOf(head, 2)).toMatchObject({ 'a.md': 2, 'b.md': 2, 'c.md': 3, 'd.md': 4 });
  expect(changeTimeOf(await readChangeTimes(repository, head), 'd.md', 'another')).toBeNull();
});
