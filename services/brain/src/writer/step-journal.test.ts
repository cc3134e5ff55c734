import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import type { Worktree } from '../files/worktree.ts';
import { catalogueStatements } from '../store/catalogue.ts';
import { openTestBed } from '../../testing/store-test-bed.ts';
import { finishSteps, needsJournal, openStepJournal } from './step-journal.ts';

async function openBrain(name = 'b') {
  const bed = await openTestBed();
  const root = mkdtempSync(join(tmpdir(), 'steps-'));
  onTestFinished(async () => {
    await bed[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });
  const tree = join(root, 'tree');
  mkdirSync(tree);
  const platform = { ids: createIds(systemClock, systemRandom), database: { pool: bed.pool } };
  const journalDir = join(root, 'journal');
  const brain = { name, platform, journalDir } as unknown as Parameters<typeof openStepJournal>[0];
  return {
    brain,
    journalDir,
    tree,
    write: (path: string, text: string) => writeFileSync(join(tree, path), text),
    files: () => Object.fromEntries(readdirSync(tree).map((file) => [file, readFileSync(join(tree, file), 'utf8')])),
    journals: () => readdirSync(journalDir),
    begin: (changes: Record<string, string | null>) =>
      openStepJournal(
        brain,
        { branch: 'main', root: tree } as Worktree,
        Object.entries(changes).map(([path, text]) => ({ path, content: text === null ? null : Buffer.from(text) })),
      ),
    /** The transaction of the step committed. */
    async record(files: Record<string, string>, removed: readonly string[] = []) {
      const statements = catalogueStatements(name, 'main', [
        ...Object.entries(files).map(([path, text]) => ({
          by: 'x',
          entry: {
            path,
            hash: hash('sha256', text, 'hex'),
            blob: 'b',
            bytes: 1,
            stat: '',
            modifiedAt: 0,
            onDisk: path,
            kind: 'text' as const,
            mode: '100644' as const,
            problem: null,
          },
        })),
        ...removed.map((path) => ({ removed: path })),
      ]);
      await bed.transact(async (transaction) => {
        for (const { sql, values } of statements) await transaction.$executeRawUnsafe(sql, ...values);
      });
    },
    finish: () => finishSteps(brain, async (branch) => (branch === 'main' ? tree : null)),
  };
}

test('a step whose transaction did not commit is undone, however far its files got', async () => {
  const { begin, write, files, finish, journals, record } = await openBrain();
  write('b', 'old');
  await record({ b: 'old' });
  await begin({ a: 'new a', b: 'new b', c: 'new c' });
  write('a', 'new a');
  write('b', 'new b');
  await finish();
  expect(files()).toEqual({ b: 'old' });
  expect(journals()).toEqual([]);
});

test('folders that an undone step made are gone, those that were there stay', async () => {
  const { begin, tree, finish } = await openBrain();
  mkdirSync(join(tree, 'kept'));
  await begin({ 'kept/a': 'x', 'new/deep/a': 'x', 'new/b': 'x', 'mine/a': 'x' });
  mkdirSync(join(tree, 'new', 'deep'), { recursive: true });
  writeFileSync(join(tree, 'new', 'deep', 'a'), 'x');
  mkdirSync(join(tree, 'mine'));
  writeFileSync(join(tree, 'mine', 'note'), 'of a person');
  await finish();
  expect(new Set(readdirSync(tree, { recursive: true, encoding: 'utf8' }))).toEqual(
    new Set(['kept', 'mine', join('mine', 'note')]),
  );
});

test('one file needs a record when its folder is new', async () => {
  const { tree } = await openBrain();
  const place = { branch: 'main', root: tree } as Worktree;
  const file = (path: string) => [{ path, content: Buffer.from('x') }];
  expect(needsJournal(place, file('a'))).toBe(false);
  expect(needsJournal(place, file('new/a'))).toBe(true);
  expect(needsJournal(place, [{ path: 'gone/a', content: null }])).toBe(false);
});

test('a step whose transaction committed is finished', async () => {
  const { begin, write, files, finish, journals, record } = await openBrain();
  write('b', 'old');
  write('gone', 'x');
  await begin({ a: 'new a', b: 'new b', gone: null });
  write('a', 'new a');
  await record({ a: 'new a', b: 'new b' });
  await finish();
  expect(files()).toEqual({ a: 'new a', b: 'new b' });
  expect(journals()).toEqual([]);
});

test('what a person wrote since stays', async () => {
  const { begin, write, files, finish, tree } = await openBrain();
  await begin({ a: 'new a', b: 'new b', link: 'new' });
  write('a', 'mine');
  write('b', 'new b');
  symlinkSync('a', join(tree, 'link'));
  await finish();
  expect(files()).toEqual({ a: 'mine', link: 'mine' });
});

test('a record that was not finished is no record', async () => {
  const { begin, write, files, finish, journals, journalDir } = await openBrain();
  await begin({ a: 'new a', b: 'new b' });
  const [name = ''] = journals();
  const whole = readFileSync(join(journalDir, name), 'utf8');
  rmSync(join(journalDir, name));
  writeFileSync(join(journalDir, `${name}.tmp`), whole.slice(0, whole.length / 2));
  write('a', 'new a');
  await finish();
  expect(files()).toEqual({ a: 'new a' });
  expect(journals()).toEqual([]);
});

test('the journals of other brains are left alone', async () => {
  const long = await openBrain('b.stp_x');
  await long.begin({ a: 'new a', b: 'new b' });
  await finishSteps({ ...long.brain, name: 'b' }, async () => long.tree);
  expect(long.journals()).toHaveLength(1);
});
