import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fields } from '@svc/testing/service-bed.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;

beforeEach(async () => {
  bed = await openBrainTestBed();
  node = await bed.start();
});
afterEach(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});

const folder = (): string => join(bed.dataDir, 'brains', 'svc');

function git(...args: string[]): string {
  const person = ['-c', 'user.name=Ada Person', '-c', 'user.email=ada@example.org'];
  const { stdout, stderr, status } = spawnSync('git', [...person, ...args], { cwd: folder(), encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

async function events(name: string): Promise<Fields[]> {
  const { rows } = await bed.database.pool.query<{ payload: Fields }>(
    'SELECT payload FROM brain.outbox WHERE name = $1 ORDER BY position',
    [name],
  );
  return rows.map(({ payload }) => payload);
}

async function until<Value>(look: () => Promise<Value | undefined>): Promise<Value> {
  for (let tries = 0; tries < 1600; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(25);
  }
  throw new Error('it did not happen');
}

/** What a person drops into a brain at once. */
function drop(count: number): void {
  for (let number = 0; number < count; number += 1) {
    const dir = join(folder(), `dropped/${number % 20}`);
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, `${number}.md`), `# ${number}\n`);
  }
}

describe('a commit by hand', () => {
  it('is told once, with its author; ours and a way back are not told as one', async () => {
    await node.call('brain_write', { name: 'x', content: '1' });
    await node.call('svc_commit', { message: 'ours' });
    writeFileSync(join(folder(), 'by-hand.md'), 'x');
    writeFileSync(join(folder(), 'x.md'), '2');
    git('add', '.');
    git('commit', '-qm', 'mine');
    await node.call('brain_read', { name: 'x' });
    const saved = await until(async () => (await events('brain:save')).find(({ by }) => by === 'Ada Person'));
    expect(saved).toMatchObject({ branch: 'main', commit: git('rev-parse', 'main'), files: 2 });
    git('reset', '-q', '--hard', 'HEAD~1');
    for (let n = 0; n < 3; n += 1) await node.call('brain_read', { name: 'x' });
    await node.call('brain_write', { name: 'x', content: '3' });
    await node.call('svc_commit', { message: 'ours again' });
    await delay(300);
    const all = await events('brain:save');
    expect(all.filter(({ by }) => by === 'Ada Person')).toHaveLength(1);
    expect(all).toHaveLength(3);
  });
});

describe('a save of one file', () => {
  it('whose second step is refused tells that the file is written', async () => {
    const lock = join(folder(), '.git', 'index.lock');
    writeFileSync(lock, '');
    const answer = await node.call('brain_save', { name: 'a', content: 'kept' });
    expect(answer).toMatchObject({ code: 'E_BUSY', written: 'a.md' });
    expect(answer['error']).toContain('a.md is written, and not committed');
    expect(await node.call('brain_read', { name: 'a' })).toMatchObject({ content: 'kept' });
    rmSync(lock);
    expect(await node.call('brain_save', {})).toMatchObject({ committed: true, files: 1 });
  });
});

describe('a commit of much', () => {
  const FILES = 700;

  it('goes on when its time is over, tells how far it is, and its repeat gets the outcome', async () => {
    drop(FILES);
    // Taking in what was dropped is not what there shall be no time for.
    expect(await node.call('svc_branch_is_dirty', {})).toMatchObject({ dirty: true });
    const over = { deadlineAt: Date.now() + 1_000, idempotencyKey: 'once' };
    const busy = await node.call('svc_commit', { message: 'all' }, over);
    expect(busy).toMatchObject({ code: 'E_BUSY', total: FILES });
    const write = await node.call('brain_write', { name: 'small', content: 'meanwhile' });
    expect(write['saved']).toBe(true);
    const done = await until(async () => {
      const answer = await node.call('svc_commit', { message: 'all' }, { idempotencyKey: 'once' });
      return answer['code'] === 'E_BUSY' ? undefined : answer;
    });
    expect(done).toMatchObject({ committed: true });
    expect(Number(done['count'])).toBeGreaterThanOrEqual(FILES);
    expect(await node.call('svc_commit', { message: 'all' }, { idempotencyKey: 'once' })).toEqual(done);
    expect(git('ls-tree', '-r', '--name-only', 'main').split('\n').length).toBeGreaterThanOrEqual(FILES);
    await node.call('svc_commit', { message: 'rest' });
    expect(git('status', '--porcelain')).toBe('');
    git('fsck', '--strict', '--full');
  });

  it('tells its progress as events', async () => {
    drop(2_500);
    expect(await node.call('svc_commit', { message: 'all' })).toMatchObject({ committed: true, count: 2_500 });
    const told = await events('brain:progress');
    expect(told.at(-1)).toMatchObject({ what: 'commit', branch: 'main', total: 2_500 });
    expect(git('status', '--porcelain')).toBe('');
  });
});
