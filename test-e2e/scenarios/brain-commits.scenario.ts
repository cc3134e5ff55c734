/** Agents commit in the working tree in which a person works with git. */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { assertSound, filesAt, git, PERSON_ENVIRONMENT } from '../instruments/git.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { brainFolder } from '../targets/target.ts';
import { verifies } from '../verifies.ts';

const COMMITS = 30;
/** More than a commit stores in one piece. */
const MANY = 2500;

/** A person's git; its exit code. */
function run(folder: string, ...args: readonly string[]): Promise<number | null> {
  const child = spawn('git', args, { cwd: folder, env: PERSON_ENVIRONMENT, stdio: 'ignore' });
  return new Promise((resolve) => child.on('close', resolve));
}

async function personCommits(folder: string): Promise<string[]> {
  mkdirSync(join(folder, 'mine'), { recursive: true });
  const paths: string[] = [];
  for (let number = 0; number < COMMITS; number += 1) {
    const path = `mine/${number}.md`;
    writeFileSync(join(folder, path), `by hand ${number}`);
    paths.push(path);
    const how = number % 2 === 0 ? '-qm' : '-qam';
    do {
      while ((await run(folder, 'add', path)) !== 0) await delay(5);
    } while ((await run(folder, 'commit', how, path)) !== 0 && git(folder, 'status', '--porcelain', '--', path) !== '');
  }
  return paths;
}

verifies('brain:commit:side-by-side', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  const agentCommits = async (): Promise<string[]> => {
    const names = Array.from({ length: COMMITS }, (_, number) => `ours/${number}`);
    for (const name of names) {
      await user.ok('brain_write', { name, content: name });
      while (JSON.stringify((await user.call('svc_commit', { message: name })).body).includes('E_BUSY')) await delay(5);
    }
    return names.map((name) => `${name}.md`);
  };
  const [mine, ours] = await Promise.all([personCommits(folder), agentCommits()]);
  const removed = git(folder, 'log', '--no-renames', '--diff-filter=D', '--name-only', '--format=', 'main');
  expect(removed).toBe('');
  await user.call('svc_commit', { message: 'the rest' });
  expect(filesAt(folder, 'main')).toEqual(expect.arrayContaining([...mine, ...ours]));
  expect(git(folder, 'status', '--porcelain')).toBe('');
  assertSound(folder);
});

verifies('brain:commit:by-hand', async ({ fresh, place, socket }) => {
  const listener = await socket();
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  writeFileSync(join(folder, 'by-hand.md'), 'x');
  await user.ok('brain_read', { name: 'by-hand' });
  git(folder, 'add', 'by-hand.md');
  git(folder, 'commit', '-qm', 'by hand');
  const commit = git(folder, 'rev-parse', 'main');
  await listener.until(
    'the commit',
    (event) => event.brain === brain && event.commit === commit && event.by === 'Person',
  );
});

verifies('brain:commit:much', async ({ fresh, place, socket }) => {
  const listener = await socket();
  const { user, brain } = await fresh();
  const folder = join(brainFolder(place, brain), 'dropped');
  mkdirSync(folder);
  for (let number = 0; number < MANY; number += 1) writeFileSync(join(folder, `${number}.md`), `dropped ${number}`);
  // What takes longer than a call goes on, and says so.
  const commit = async () => JSON.stringify((await user.call('svc_commit', { message: 'dropped' })).body);
  await waitFor(async () => !(await commit()).includes('E_BUSY'), { what: 'the commit to end' });
  const isProgress = ({ name, brain: of }: Fields) => name === 'brain:progress' && of === brain;
  expect(await listener.until('of the commit', isProgress)).toMatchObject({ what: 'commit', total: MANY });
  expect(filesAt(brainFolder(place, brain), 'main')).toHaveLength(MANY);
});

verifies('brain:commit:held-index', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  writeFileSync(join(folder, '.person'), 'kept by hand');
  git(folder, 'add', '.person');
  await user.ok('brain_write', { name: 'x', content: '1' });
  writeFileSync(join(folder, '.git/index.lock'), '');
  const refused = await user.refused('E_BUSY', 'svc_commit', { message: 'x' });
  expect(refused).toMatchObject({ lock: '.git/index.lock' });
  rmSync(join(folder, '.git/index.lock'));
  await user.ok('svc_commit', { message: 'x' });
  expect(git(folder, 'status', '--porcelain')).toBe('A  .person');
});

verifies('brain:attributes:person', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  const notes = (changed: Readonly<Record<number, string>>): string =>
    `${lines.map((line, index) => changed[index + 1] ?? line).join('\n')}\n`;
  await user.ok('brain_write', { name: 'notes', content: notes({}) });
  await user.ok('svc_commit', { message: 'base' });
  git(folder, 'checkout', '-qb', 'side');
  writeFileSync(join(folder, 'notes.md'), notes({ 2: 'theirs' }));
  expect(git(folder, 'diff')).toContain('-line 2\n+theirs');
  git(folder, 'commit', '-qam', 'side');
  git(folder, 'checkout', '-q', 'main');
  writeFileSync(join(folder, 'notes.md'), notes({ 25: 'ours' }));
  git(folder, 'commit', '-qam', 'main');
  git(folder, 'merge', '-q', 'side');
  expect(await user.ok('brain_read', { name: 'notes' })).toMatchObject({ content: notes({ 2: 'theirs', 25: 'ours' }) });
});
