import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeTestBed, MERGE_LIMITS, mustRead, type TestBed } from '../../testing/git-test-bed.ts';
import { turnsOf } from '../../testing/turns.ts';
import { readTree, readTreeChanges, readTreeEntries } from './objects.ts';
import type { Repository } from './repository.ts';
import { compareTrees, mergeSides } from './tree-merge.ts';
import { MergeThread } from './merge-thread.ts';

const FILES = 40_000;
const nameOf = (number: number): string => `area ${number % 40}/group ${number % 400}/note ${number}.md`;

let bed: TestBed;
let [first, second]: [string, string] = ['', ''];
beforeAll(async () => {
  bed = await makeTestBed();
  const names = Array.from({ length: FILES }, (_, number) => nameOf(number));
  const commit = 'commit refs/heads/import\ncommitter A <a@x> 1600000000 +0000\ndata 1\n1\n';
  const lines = [
    'blob\nmark :1\ndata 1\nx\n',
    commit.replace('\n', '\nmark :2\n'),
    ...names.map((name) => `M 100644 :1 "${name}"\n`),
    `${commit}from :2\n`,
    ...names.map((name) => `M 100755 :1 "${name}"\n`),
  ];
  execFileSync('git', ['fast-import', '--quiet'], { cwd: bed.repository.dir, input: lines.join('') });
  second = await mustRead(bed.repository, 'import');
  first = execFileSync('git', ['rev-parse', 'import~'], { cwd: bed.repository.dir, encoding: 'latin1' }).trim();
});
afterAll(() => bed[Symbol.asyncDispose]());

/** A repository whose git says at once what it said the first time, so that only our own work lets others in. */
function remembering(repository: Repository): Repository {
  const { git } = repository;
  const said = new Map<string, Awaited<ReturnType<typeof git.run>>>();
  const run: typeof git.run = async (request) => {
    const key = request.args.join(' ');
    const known = said.get(key) ?? (await git.run(request));
    said.set(key, known);
    return known;
  };
  return { ...repository, git: Object.create(git, { run: { value: run } }) as typeof git };
}

const WORKS: Record<string, (repository: Repository) => Promise<unknown>> = {
  'a tree with its sizes': (repository) => readTree(repository, first),
  'a tree': (repository) => readTreeEntries(repository, first),
  'two trees to compare them': (repository) => compareTrees(repository, first, second),
  'what changed': (repository) => readTreeChanges(repository, first, second),
};

it.each(Object.entries(WORKS))('lets others in while it reads %s', async (_, work) => {
  const repository = remembering(bed.repository);
  await work(repository);
  expect(await turnsOf(() => work(repository))).toBeGreaterThan(1);
});

it('lets others in while it merges what is read already', async () => {
  const [base, theirs] = [await readTree(bed.repository, first), await readTree(bed.repository, second)];
  await using thread = new MergeThread(MERGE_LIMITS);
  const merging = () => mergeSides(bed.repository, thread, { base, ours: base, theirs: base });
  expect(await turnsOf(merging)).toBeGreaterThan(1);
  const { edits } = await mergeSides(bed.repository, thread, { base, ours: base, theirs });
  expect(edits.length).toBe(FILES);
});
