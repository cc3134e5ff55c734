import { execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDamage } from './boot-repair.ts';
import {
  AT,
  AUTHOR,
  commitFiles,
  makeTestBed,
  mustRead,
  personGit,
  readLog,
  saveFiles,
  type TestBed,
  placeFile,
  text,
  MERGE_LIMITS,
} from '../../testing/git-test-bed.ts';
import { type IntegrationPlan, planPull } from './integration.ts';
import { readBlob, readTree, writeBlobs, writeEditedTree } from './objects.ts';
import { createBranch, moveRefs, resolveReading } from './refs.ts';
import type { Repository } from './repository.ts';
import { writeCommit } from './commits.ts';
import { stageEntries } from './stage.ts';
import { adoptCommit } from './worktree-index.ts';

const GIT_IDS = { readings: (hex: string) => [hex] };

let bed: TestBed;
beforeEach(async () => {
  bed = await makeTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

let pulls = 0;

async function pull(): Promise<IntegrationPlan> {
  const { repository } = bed;
  return planPull(repository, {
    branch: 'main',
    ours: await mustRead(repository, 'main'),
    theirs: await mustRead(repository, 'theirs'),
    source: 'origin/main',
    author: AUTHOR,
    at: AT,
    rescueSuffix: (pulls += 1).toString(16).padStart(8, '0'),
    limits: MERGE_LIMITS,
  });
}

/** What the owner of the queue does with a plan. */
async function apply(repository: Repository, plan: IntegrationPlan): Promise<void> {
  for (const { path, to, isForeign } of plan.moves) {
    if (isForeign) continue;
    await placeFile(repository.dir, path, to === null ? null : await readBlob(repository, to.oid));
  }
  expect(await moveRefs(repository, plan.refs, AT)).toBe(true);
  await adoptCommit(repository, repository.dir, plan.after, plan.foreign);
}

async function fileAt(commit: string, path: string): Promise<string | null> {
  const entry = (await readTree(bed.repository, commit)).get(path);
  return entry === undefined ? null : (await readBlob(bed.repository, entry.oid)).toString('utf8');
}

/** `main` with the files, and a branch `theirs` at the same commit. */
async function begin(files: Record<string, string>): Promise<void> {
  const { commit } = await saveFiles(bed.repository, files, 'base');
  await createBranch(bed.repository, { branch: 'theirs', commit, at: AT });
}

describe('planPull', () => {
  it('is up to date when equal or ahead', async () => {
    await begin({ 'x.md': '1' });
    expect(await pull()).toMatchObject({ status: 'up-to-date', refs: [], moves: [], rescue: null });
    await saveFiles(bed.repository, { 'x.md': '2' });
    expect((await pull()).status).toBe('up-to-date');
  });

  it('fast-forwards: files, reference and index', async () => {
    const { repository } = bed;
    await begin({ 'x.md': '1', 'y.md': '1' });
    const { commit } = await commitFiles(repository, 'theirs', { 'x.md': '2', 'y.md': null, 'd/z.md': '3' });
    const plan = await pull();
    expect(plan).toMatchObject({ status: 'fast-forward', after: commit, conflicts: [] });
    expect(plan.moves.map(({ path, from, to }) => [path, from !== null, to !== null])).toEqual([
      ['x.md', true, true],
      ['y.md', true, false],
      ['d/z.md', false, true],
    ]);
    await apply(repository, plan);
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });

  it('moves nothing itself', async () => {
    await begin({ 'x.md': '1' });
    await commitFiles(bed.repository, 'theirs', { 'x.md': '2' });
    const { commit } = await saveFiles(bed.repository, { 'x.md': '3' });
    await pull();
    expect(await mustRead(bed.repository, 'main')).toBe(commit);
    expect((await personGit(bed.repository.dir).status()).isClean()).toBe(true);
  });

  it('merges diverged lines in a commit of two parents', async () => {
    const { repository } = bed;
    await begin({ 'a.json': '{"a":1,"b":1}', 'x.md': '1\n2\n3\n' });
    const ours = await saveFiles(repository, { 'a.json': '{"a":2,"b":1}', 'x.md': 'one\n2\n3\n' });
    const theirs = await commitFiles(repository, 'theirs', {
      'a.json': '{"a":1,"b":2}',
      'x.md': '1\n2\nthree\n',
      'new.md': 'n',
    });
    const plan = await pull();
    await apply(repository, plan);
    expect(plan).toMatchObject({ status: 'merged', conflicts: [], rescue: null });
    expect(await fileAt(plan.after, 'a.json')).toBe('{"a":2,"b":2}');
    expect(await fileAt(plan.after, 'x.md')).toBe('one\n2\nthree\n');
    const [merge] = await readLog(repository, { from: plan.after, limit: 1 });
    expect(merge).toMatchObject({
      parents: [ours.commit, theirs.commit],
      message: 'Merge origin/main into main',
      author: AUTHOR,
    });
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
    expect((await pull()).status).toBe('up-to-date');
  });

  it('keeps ours where both changed the same place, and both tips under a rescue reference', async () => {
    const { repository } = bed;
    await begin({ 'a.json': '{"a":1}', 'del.md': '1', 'bin.dat': '\0one' });
    const ours = await saveFiles(repository, { 'a.json': '{"a":2}', 'del.md': null, 'bin.dat': '\0two' });
    const theirs = await commitFiles(repository, 'theirs', {
      'a.json': '{"a":3}',
      'del.md': '2',
      'bin.dat': '\0three',
    });
    const plan = await pull();
    await apply(repository, plan);
    expect(plan.status).toBe('merged-with-conflicts');
    expect(plan.conflicts.map(({ file, kind }) => `${file} ${kind}`).sort()).toEqual([
      'a.json content',
      'bin.dat content',
      'del.md delete-modify',
    ]);
    expect(await fileAt(plan.after, 'a.json')).toBe('{"a":2}');
    expect(await fileAt(plan.after, 'del.md')).toBe('2');
    expect(await fileAt(plan.after, 'bin.dat')).toBe('\0two');
    expect(plan.rescue).toMatch(/^20260102T030405Z-[0-9a-f]{8}$/);
    expect(await resolveReading(repository, `rescue/${plan.rescue}/ours`, GIT_IDS)).toBe(ours.commit);
    expect(await resolveReading(repository, `rescue/${plan.rescue}/theirs`, GIT_IDS)).toBe(theirs.commit);
    expect((await pull()).status).toBe('up-to-date');
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });

  it('merges histories without a common commit on an empty base', async () => {
    const { repository } = bed;
    const root = await mustRead(repository, 'main');
    const [oid = ''] = await writeBlobs(repository, [text('theirs')]);
    const tree = await writeEditedTree(repository, root, [
      { path: 't.md', entry: { mode: '100644', oid } },
      { path: 'both.md', entry: { mode: '100644', oid } },
    ]);
    const commit = await writeCommit(repository, {
      tree,
      parents: [],
      text: 'other root\n',
      author: AUTHOR,
      authoredAt: AT,
      at: AT,
    });
    await createBranch(repository, { branch: 'theirs', commit, at: AT });
    await saveFiles(repository, { 'o.md': 'ours', 'both.md': 'ours' });
    const plan = await pull();
    await apply(repository, plan);
    expect(plan.conflicts).toMatchObject([{ file: 'both.md', kind: 'content', base: null }]);
    expect([...(await readTree(repository, plan.after)).keys()]).toEqual(['both.md', 'o.md', 't.md']);
  });

  it('puts files of every kind into the working tree, also those that are not served', async () => {
    const { repository } = bed;
    await begin({ 'x.md': '1' });
    const theirs = await mustRead(repository, 'theirs');
    const names = ['bad name?.md', 'Äpfel.md', 'C++ (copy).md', 'a\\b.md', 'CON.md', 'line\nbreak.md', 'large.md'];
    const [oid = ''] = await writeBlobs(repository, [new Uint8Array(1024 * 1024 + 1)]);
    const tree = await writeEditedTree(
      repository,
      theirs,
      names.map((path) => ({ path, entry: { mode: '100755', oid } })),
    );
    const object = { tree, parents: [theirs], text: 'm\n', author: AUTHOR, authoredAt: AT, at: AT };
    const commit = await writeCommit(repository, object);
    await moveRefs(repository, [{ ref: 'refs/heads/theirs', to: commit, from: theirs }], AT);
    const plan = await pull();
    expect(plan.moves.map(({ path }) => path).sort()).toEqual(names.toSorted());
    expect(plan.foreign).toEqual([]);
    await using stage = await stageEntries(
      repository,
      plan.moves.flatMap(({ path, to }) => (to === null ? [] : [{ path, entry: to }])),
    );
    for (const path of names) {
      const { size, mode } = await stat(stage.fileOf(path));
      expect([size, mode & 0o100]).toEqual([1024 * 1024 + 1, 0o100]);
    }
  });

  it('takes the changed side of what is too large to be merged, also beside a change of its mode', async () => {
    const { repository } = bed;
    const large = (letter: string): string => letter.repeat(1024 * 1024 + 1);
    await begin({ 'one.md': large('a'), 'both.md': large('a'), 'mode.md': large('a') });
    const head = await mustRead(repository, 'main');
    const oid = (await readTree(repository, head)).get('mode.md')?.oid ?? '';
    const tree = await writeEditedTree(repository, head, [{ path: 'mode.md', entry: { mode: '100755', oid } }]);
    const object = { tree, parents: [head], text: 'm\n', author: AUTHOR, authoredAt: AT, at: AT };
    const executable = await writeCommit(repository, object);
    await moveRefs(repository, [{ ref: 'refs/heads/main', to: executable, from: head }], AT);
    await commitFiles(repository, 'main', { 'both.md': large('o') });
    await commitFiles(repository, 'theirs', { 'one.md': large('t'), 'both.md': large('t'), 'mode.md': large('t') });
    const plan = await pull();
    expect(plan.conflicts).toMatchObject([{ file: 'both.md', kind: 'content' }]);
    const first = async (path: string) => (await fileAt(plan.after, path))?.[0];
    expect([await first('one.md'), await first('both.md'), await first('mode.md')]).toEqual(['t', 'o', 't']);
    expect((await readTree(repository, plan.after)).get('mode.md')?.mode).toBe('100755');
  });

  it('carries foreign entries untouched and keeps them out of the working tree', async () => {
    const { repository } = bed;
    await begin({ 'x.md': '1' });
    const theirs = await mustRead(repository, 'theirs');
    const [oid = ''] = await writeBlobs(repository, [text('/etc/passwd')]);
    const [large = ''] = await writeBlobs(repository, [new Uint8Array(50 * 1024 * 1024 + 1)]);
    const tree = await writeEditedTree(repository, theirs, [
      { path: 'link.md', entry: { mode: '120000', oid } },
      { path: '.gitattributes', entry: { mode: '100644', oid } },
      { path: 'sub', entry: { mode: '160000', oid: theirs } },
      { path: `${'long'.repeat(64)}.md`, entry: { mode: '100644', oid } },
      { path: 'large.md', entry: { mode: '100644', oid: large } },
      { path: 'y.md', entry: { mode: '100644', oid } },
    ]);
    const commit = await writeCommit(repository, {
      tree,
      parents: [theirs],
      text: 'm\n',
      author: AUTHOR,
      authoredAt: AT,
      at: AT,
    });
    await moveRefs(repository, [{ ref: 'refs/heads/theirs', to: commit, from: theirs }], AT);
    await saveFiles(repository, { 'z.md': '1' });
    const plan = await pull();
    await apply(repository, plan);
    expect(plan.moves.filter(({ isForeign }) => !isForeign).map(({ path }) => path)).toEqual(['y.md']);
    expect(plan.foreign.map((path) => path.slice(0, 14)).sort()).toEqual([
      '.gitattributes',
      'large.md',
      'link.md',
      'longlonglonglo',
      'sub',
    ]);
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
    const { commit: next } = await saveFiles(repository, { 'z.md': '2' });
    expect((await readTree(repository, next)).get('link.md')?.mode).toBe('120000');
    expect((await personGit(repository.dir).status()).isClean()).toBe(true);
  });
});

describe('random histories', () => {
  it('always end in a whole, clean tree from which both tips are reachable', async () => {
    const { repository } = bed;
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const files = ['a.md', 'b.json', 'd/c.md', 'd', 'e.txt'];
    const content = (path: string) =>
      path.endsWith('.json') ? `{"a":${random(3)},"b":${random(3)}}` : `1\n${random(3)}\n3\n${random(3)}\n`;
    const edits = (tree: ReadonlySet<string>) => {
      const path = files[random(files.length)] ?? '';
      const blocked = [...tree].some((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`));
      return blocked ? {} : { [path]: tree.has(path) && random(4) === 0 ? null : content(path) };
    };
    await begin({ 'a.md': content('a.md'), 'b.json': content('b.json') });
    const seen = new Set<string>();
    for (let round = 0; round < 25; round += 1) {
      const paths = async (branch: string) =>
        new Set((await readTree(repository, await mustRead(repository, branch))).keys());
      for (let step = 0; step < 2; step += 1) {
        await saveFiles(repository, edits(await paths('main')));
        await commitFiles(repository, 'theirs', edits(await paths('theirs')));
      }
      const plan = await pull();
      await apply(repository, plan);
      seen.add(plan.status);
      expect(execFileSync('git', ['status', '--porcelain'], { cwd: repository.dir, encoding: 'utf8' })).toBe('');
      expect((await pull()).status).toBe('up-to-date');
      for (const path of await paths('main')) expect(await fileAt(plan.after, path)).not.toMatch(/^[<>=]{7}/m);
      if (round % 3 === 0)
        await moveRefs(
          repository,
          [{ ref: 'refs/heads/theirs', to: plan.after, from: await mustRead(repository, 'theirs') }],
          AT,
        );
    }
    expect(seen).toContain('merged-with-conflicts');
    expect(await findDamage(repository, 'strict')).toBeNull();
  }, 120_000);
});
