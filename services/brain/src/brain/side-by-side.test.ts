/** A person and an agent commit in one working tree at once: M3. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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
const AS_PERSON = ['-c', 'user.name=Person', '-c', 'user.email=person@example.org'];

function git(...args: string[]): string {
  const { stdout, stderr, status } = spawnSync('git', [...AS_PERSON, ...args], { cwd: folder(), encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Ends with its exit code: a person's git that finds a lock says so, and the person tries again. */
function personGit(...args: string[]): Promise<number | null> {
  const child = spawn('git', [...AS_PERSON, ...args], { cwd: folder(), stdio: 'ignore' });
  return new Promise((resolve) => child.on('close', resolve));
}

const PERSONS_COMMITS = 35;
const AGENTS_COMMITS = 35;

async function personCommits(way: 'add' | 'all'): Promise<string[]> {
  const mine: string[] = [];
  mkdirSync(join(folder(), 'mine'), { recursive: true });
  for (let number = 0; number < PERSONS_COMMITS; number += 1) {
    const path = `mine/${way}${number}.md`;
    writeFileSync(join(folder(), path), `${way} ${number}`);
    mine.push(path);
    while ((await personGit('add', path)) !== 0) await delay(5);
    const commit = way === 'add' ? ['commit', '-qm', path] : ['commit', '-qam', path];
    // nothing left to commit: the agent was faster
    while ((await personGit(...commit)) !== 0 && git('status', '--porcelain', '--', path).trim() !== '') {
      await personGit('add', path);
      await delay(5);
    }
  }
  return mine;
}

async function agentCommits(): Promise<string[]> {
  const ours: string[] = [];
  for (let number = 0; number < AGENTS_COMMITS; number += 1) {
    const name = `ours/${number}`;
    await node.call('brain_write', { name, content: name });
    ours.push(`${name}.md`);
    for (;;) {
      const answer = await node.call('svc_commit', { message: name });
      if (answer['committed'] !== undefined) break;
      expect(answer['code']).toBe('E_BUSY');
    }
  }
  return ours;
}

describe('a person and an agent who both only add', () => {
  it.each(['add', 'all'] as const)(
    'lose nothing of each other (git commit, %s)',
    async (way) => {
      const [mine, ours] = await Promise.all([personCommits(way), agentCommits()]);
      const added = new Set<string>();
      const deletions: string[] = [];
      const log = git('log', '--reverse', '--no-renames', '--name-status', '--format=commit %H', 'main');
      for (const line of log.split('\n')) {
        const [kind, path = ''] = line.split('\t');
        if (kind === 'A') added.add(path);
        if (kind === 'D') deletions.push(path);
      }
      expect(deletions).toEqual([]);
      await node.call('svc_commit', { message: 'the rest' });
      const tip = new Set(git('ls-tree', '-r', '--name-only', 'main').split('\n'));
      for (const path of [...mine, ...ours]) expect(tip.has(path), path).toBe(true);
      expect(git('rev-list', '--count', 'main').trim()).not.toBe('1');
      expect(git('status', '--porcelain')).toBe('');
      git('fsck', '--strict', '--full');
    },
    120_000,
  );
});

describe('a commit of an agent', () => {
  it('leaves what a person has staged staged, and commits what lies there', async () => {
    await node.call('brain_write', { name: 'x', content: '1' });
    await node.call('svc_commit', { message: 'x' });
    writeFileSync(join(folder(), '.person'), 'kept by hand');
    git('add', '.person');
    await node.call('brain_write', { name: 'x', content: '2' });
    expect(await node.call('svc_commit', { message: 'x2' })).toMatchObject({ committed: true });
    expect(git('status', '--porcelain')).toBe('A  .person\n');
  });

  it('takes a file for deleted only when it is gone for more than a moment', async () => {
    await node.call('brain_write', { name: 'x', content: '1' });
    await node.call('svc_commit', { message: 'x' });
    rmSync(join(folder(), 'x.md'));
    const back = delay(60).then(() => writeFileSync(join(folder(), 'x.md'), 'saved by an editor'));
    const answer = await node.call('svc_commit', { message: 'meanwhile' });
    await back;
    expect(answer['files'] ?? []).not.toContainEqual({ file: 'x.md', change: 'deleted' });
    expect(git('ls-tree', '--name-only', 'main')).toContain('x.md');
  });

  it('is refused with the name of the lock while a person holds the index, and works when that is over', async () => {
    await node.call('brain_write', { name: 'x', content: '1' });
    const lock = join(folder(), '.git', 'index.lock');
    writeFileSync(lock, '');
    const refused = await node.call('svc_commit', { message: 'x' });
    expect(refused).toMatchObject({ code: 'E_BUSY', lock: '.git/index.lock' });
    expect(String(refused['error'])).toContain('index.lock');
    expect(existsSync(lock)).toBe(true);
    rmSync(lock);
    expect(await node.call('svc_commit', { message: 'x' })).toMatchObject({ committed: true });
    expect(git('status', '--porcelain')).toBe('');
  });
});
