import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeTestBed, type TestBed } from '../../testing/git-test-bed.ts';
import { readNewest } from './commits.ts';
import { changesIn, readChangesOf, readEntries } from './history.ts';
import type { Repository } from './repository.ts';

/** With their long names more than fits into what is kept of all commits, were an object made of each change. */
const FILES = 16_000;
const nameOf = (number: number): string => `${'d'.repeat(200)}/${number % 64}/${'f'.repeat(200)}${number}.md`;

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

/** Two commits: one that makes files, `\u{e9}` and one that begins like a change among them; the next changes one of them. */
function importFiles({ dir }: Repository): { commit: string; parents: string[] }[] {
  const names = Array.from({ length: FILES }, (_, number) => nameOf(number));
  const lines = [
    'blob\nmark :1\ndata 1\nx\n',
    'commit refs/heads/import\nmark :2\ncommitter A <a@x> 1600000000 +0000\ndata 1\n1\n',
    ...['n/\u{e9}.md', ':100644 x', ...names].map((name) => `M 100644 :1 "${name}"\n`),
    'commit refs/heads/import\ncommitter A <a@x> 1600000001 +0000\ndata 1\n2\nfrom :2\n',
    `D ${nameOf(1)}\n`,
  ];
  execFileSync('git', ['fast-import', '--quiet'], { cwd: dir, input: lines.join('') });
  const [second = '', first = ''] = execFileSync('git', ['rev-list', 'import'], { cwd: dir, encoding: 'latin1' })
    .trim()
    .split('\n');
  return [
    { commit: second, parents: [first] },
    { commit: first, parents: [] },
  ];
}

it('asks git once for what a commit changed, however much that is', async () => {
  const steps = importFiles(bed.repository);
  let asked = 0;
  const { git } = bed.repository;
  const run: typeof git.run = (request) => {
    asked += 1;
    return git.run(request);
  };
  const counting: Repository = { ...bed.repository, git: Object.create(git, { run: { value: run } }) as typeof git };
  const first = await readChangesOf(counting, steps);
  await readChangesOf(counting, steps);
  expect(asked).toBe(1);
  const changes = steps.map(({ commit }) => [...changesIn(first.get(commit) ?? Buffer.alloc(0))]);
  expect(changes[0]).toEqual([{ onDisk: nameOf(1), before: expect.any(String), after: null }]);
  expect(changes[1]?.length).toBe(FILES + 2);
  expect(changes[1]?.map(({ onDisk }) => onDisk)).toEqual(
    expect.arrayContaining([':100644 x', 'n/\u{e9}.md', nameOf(0), nameOf(FILES - 1)]),
  );
  expect(changes[1]?.every(({ before, after }) => before === null && after?.length === 40)).toBe(true);
});

it('shows a commit whose text is larger than a page of others with the beginning of it, and the others beside it', async () => {
  const { dir } = bed.repository;
  const before = execFileSync('git', ['rev-parse', 'main'], { cwd: dir, encoding: 'latin1' }).trim();
  const texts = ['one\n', `two ${'é'.repeat(3_000_000)}\n`, 'three\n', 'four\n'];
  const commits = texts.map((text, at) => {
    const size = Buffer.byteLength(text);
    const from = at === 0 ? `from ${before}\n` : '';
    return `commit refs/heads/main\ncommitter A${at} <a@x> 160000000${at} +0000\ndata ${size}\n${text}${from}\n`;
  });
  execFileSync('git', ['fast-import', '--quiet'], { cwd: dir, input: commits.join('') });
  const ids = execFileSync('git', ['rev-list', 'main'], { cwd: dir, encoding: 'latin1' }).trim().split('\n');
  const steps = ids.slice(0, 4).map((commit, at) => ({ commit, parents: ids.slice(at + 1, at + 2) }));

  const told = await readEntries(bed.repository, steps);
  const shown = told.map(({ commit, parents, author, message }) => [commit, parents, author.name, message.slice(0, 9)]);
  const wanted = ['four', 'three', 'two ééééé', 'one'].map((message, at) => [
    steps[at]?.commit,
    steps[at]?.parents,
    `A${3 - at}`,
    message,
  ]);
  expect(shown).toEqual(wanted);
  expect(told[2]?.message.length).toBeGreaterThan(10_000);
  const newest = await readNewest(bed.repository, { from: ids[2] ?? '', without: ids[3] ?? '' });
  expect(newest?.author.name).toBe('A1');
});
