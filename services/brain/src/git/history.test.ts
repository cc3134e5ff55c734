import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeTestBed, type TestBed } from '../../testing/git-test-bed.ts';
import { changesIn, readChangesOf } from './history.ts';
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
