/** Races of a person's hand and an agent's that once lost files or stopped a branch, each alone. */
import { mkdir, writeFile } from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { codeOf, type Fields, successOf } from '../client.ts';
import { assertSound, filesAt, git } from '../instruments/git.ts';
import { deletions } from '../instruments/people/evidence.ts';
import { personGit } from '../instruments/people/ground.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { LOOP_COMMITS } from '../settings.ts';
import { brainFolder, worktreeFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const BEFORE_NEXT_ATTEMPT_MS = 5;
const MAX_ATTEMPTS = 200;
const PAUSE_BY_HAND_MS = 60;

/** Tries again while somebody else holds git's lock, as people do; resolves with the number of tries. */
async function commitByHand(folder: string, path: string): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const added = await personGit(folder, 'add', '--', path);
    const ended = added.ok ? await personGit(folder, 'commit', '-q', '-m', `by hand: ${path}`) : added;
    // The agent's commit may have taken the file along: then nothing is left to commit.
    const isThere = ended.ok || (await personGit(folder, 'cat-file', '-e', `HEAD:${path}`)).ok;
    if (isThere) return attempt;
    if (attempt > MAX_ATTEMPTS) throw new Error(`${path} cannot be committed by hand: ${ended.output}`);
    await delay(BEFORE_NEXT_ATTEMPT_MS);
  }
}

verifies(
  'people:commit-loops',
  async ({ fresh, place, report, random }) => {
    const { user, brain } = await fresh();
    const folder = brainFolder(place, brain);
    await mkdir(join(folder, 'hand'));
    let attempts = 0;
    const byHand = async (): Promise<void> => {
      for (let index = 0; index < LOOP_COMMITS; index += 1) {
        await writeFile(join(folder, `hand/h${index}.md`), `by hand ${index}\n`);
        attempts += await commitByHand(folder, `hand/h${index}.md`);
        await delay(random.int(0, PAUSE_BY_HAND_MS));
      }
    };
    /** Git's lock may be the person's five times in a row: the answer then is to come again. */
    const saved = async (args: Fields): Promise<void> => {
      for (;;) {
        const reply = await user.call('brain_save', args);
        if (codeOf(reply) !== 'E_BUSY') return void successOf(reply, 'brain_save');
        await delay(BEFORE_NEXT_ATTEMPT_MS);
      }
    };
    const byAgent = async (): Promise<void> => {
      for (let index = 0; index < LOOP_COMMITS; index += 1) {
        await saved({ brain, name: `agent/a${index}.md`, content: `by an agent ${index}\n` });
      }
    };
    await Promise.all([byHand(), byAgent()]);
    await user.ok('svc_commit', { brain, message: 'at the end' });
    const wanted = Array.from({ length: LOOP_COMMITS }, (_, index) => [
      `agent/a${index}.md`,
      `hand/h${index}.md`,
    ]).flat();
    const commits = Number(git(folder, 'rev-list', '--count', 'main'));
    report(`${commits} commits of two who only add; ${attempts} attempts by hand`);
    expect(deletions(folder)).toEqual([]);
    expect(filesAt(folder, 'main').sort()).toEqual(wanted.sort());
    expect(git(folder, 'status', '--porcelain')).toBe('');
    expect(git(folder, 'log', '--author=Person', '--format=%s', 'main').split('\n').length).toBeGreaterThan(
      LOOP_COMMITS / 2,
    );
    assertSound(folder);
  },
  { timeoutMs: 300_000 + LOOP_COMMITS * 1000 },
);

verifies('people:two-edits', async ({ fresh, place, socket }) => {
  const listener = await socket();
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_save', { name: 'note', content: 'at first\n' });
  for (let round = 0; round < 10; round += 1) {
    const edit = async (text: string): Promise<void> => {
      writeFileSync(join(folder, 'note.md'), text);
      expect(await user.ok('brain_read', { name: 'note' })).toMatchObject({ content: text });
    };
    const startedAt = performance.now();
    await edit(`one edit of round ${round}\n`);
    await edit(`and another of round ${round}, longer\n`);
    if (round === 0) expect(performance.now() - startedAt).toBeLessThan(2000);
    await user.ok('brain_write', { name: 'other', content: `round ${round}` });
    await user.ok('svc_commit', { message: `round ${round}` });
    expect(git(folder, 'show', 'main:note.md')).toBe(`and another of round ${round}, longer`);
    await edit(`deleted in round ${round}\n`);
    await user.ok('brain_delete_file', { name: 'other' });
  }
  const { hash } = await user.ok<{ hash: string }>('brain_read', { name: 'note' });
  await listener.until(
    'the last state',
    (event) => event.brain === brain && event.file === 'note.md' && event.hash === hash,
  );
  expect(await user.ok('svc_branch_is_dirty')).toMatchObject({ dirty: true });
});

/** Written by hand and committed by hand: the branch is opened with what its commit holds. */
const FILES = 2000;

verifies('people:quiet-opening', async ({ fresh, place, socket }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  for (let index = 0; index < FILES; index += 1) {
    if (index % 100 === 0) await mkdir(join(folder, `d${index / 100}`));
    writeFileSync(join(folder, `d${Math.floor(index / 100)}/n${index}.md`), `# Note ${index}\n`);
  }
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'by hand');
  await waitFor(async () => !(await user.ok<{ dirty: boolean }>('svc_branch_is_dirty')).dirty, {
    what: 'the commit by hand to be seen',
  });
  await user.ok('svc_create_branch', { name: 'quiet' });
  const listener = await socket();
  await user.ok('svc_switch_branch', { name: 'quiet' });
  await user.ok('brain_write', { name: 'one more', content: 'the only news', branch: 'quiet' });
  const isNews = (name: string) => listener.of(brain, 'brain:change').some(({ file }) => file === name);
  await waitFor(() => isNews('one more.md'), { what: 'the only news' });
  expect(filesAt(worktreeFolder(place, brain, 'quiet'), 'HEAD').length).toBe(FILES);
  const told = listener.of(brain, 'brain:change').filter(({ branch }) => branch === 'quiet');
  expect(told.map(({ file }) => file)).toEqual(['one more.md']);
});
