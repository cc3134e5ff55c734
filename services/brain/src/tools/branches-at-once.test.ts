/** Branches are made, renamed, deleted, merged, synced and written by many at once: each working tree stays with its branch. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Fields } from '@svc/testing/service-bed.ts';
import { expect, it } from 'vitest';
import { openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const CALLERS = 8;
const CALLS_OF_EACH = 60;
/** What one of several callers may hear because another was faster. */
const EXPECTED = new Set([
  undefined,
  'E_BRANCH_ABSENT',
  'E_BRANCH_EXISTS',
  'E_REF_ABSENT',
  'E_FILE_EXISTS',
  'E_REMOTE_RACE',
  'E_SYNC_CONFLICT',
  'E_BUSY',
]);

/** The same for each run; who is faster is not. */
function choices(seed: number) {
  let state = seed;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const name = () => NAMES[next(NAMES.length)] ?? '';
  const some = () => `${name()}${next(2) === 0 ? '' : '2'}`;
  const calls: readonly (() => [tool: string, args: Fields])[] = [
    () => ['svc_branch_rename', { name: some(), to: some() }],
    () => ['svc_branch_rename', { name: some(), to: some() }],
    () => ['svc_branch_delete', { name: some() }],
    () => ['svc_create_branch', { name: name() }],
    () => ['brain_write', { branch: some(), name: `f${next(5)}.md`, content: String(next(1000)) }],
    () => ['svc_commit', { branch: some(), message: 'm' }],
    () => ['svc_branch_merge', { branch: some(), from: some() }],
    () => ['svc_brain_backup', {}],
    () => ['svc_sync', { branch: some() }],
    () => ['svc_sync_rebase', { branch: some() }],
  ];
  return (): [tool: string, args: Fields] => calls[next(calls.length)]?.() ?? ['svc_health', {}];
}

it('nobody hears of anything but that another was faster, and each branch can be written afterwards', async () => {
  await using bed = await openBrainTestBed();
  const remote = join(bed.dataDir, 'remote.git');
  execFileSync('git', ['init', '-q', '--bare', remote]);
  const node = await bed.start({ SVC_SYNC_REMOTES: `origin=file://${remote}`, SVC_SYNC_ALLOW_FILE: 'on' });
  const operator = testCaller(() => node, null);
  const brain = 'many';
  await operator.ok('brain_switch', { name: brain, create: true });
  await operator.ok('brain_write', { brain, name: 'a.md', content: 'x' });
  await operator.ok('svc_commit', { brain, message: 'x' });
  for (const name of NAMES) await operator.ok('svc_create_branch', { brain, name });

  const unexpected: unknown[] = [];
  const work = async (seed: number): Promise<void> => {
    const choose = choices(seed);
    for (let count = 0; count < CALLS_OF_EACH; count += 1) {
      const [tool, args] = choose();
      const answer = await operator
        .ok(tool, { brain, ...args })
        .catch((error: Error): Fields => ({ code: error.message }));
      const code = answer['code'] as string | undefined;
      if (!EXPECTED.has(code)) unexpected.push([tool, args, answer]);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, caller) => work(caller + 1)));
  expect(unexpected).toEqual([]);

  const { branches } = (await operator.ok('svc_list_branches', { brain })) as { branches: { name: string }[] };
  for (const { name } of branches) {
    await operator.ok('brain_write', { brain, branch: name, name: 'last.md', content: name });
    await operator.ok('svc_commit', { brain, branch: name, message: 'last' });
    const root = name === 'main' ? join(bed.dataDir, 'brains', brain) : join(bed.dataDir, 'worktrees', brain, name);
    const head = execFileSync('git', ['symbolic-ref', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
    expect(head).toBe(name);
  }
  expect(readdirSync(join(bed.dataDir, 'worktrees', brain)).filter((dir) => dir.startsWith('.lost'))).toEqual([]);
  expect(readdirSync(join(bed.dataDir, 'journal'))).toEqual([]);
  const { brains } = (await operator.ok('svc_health')) as { brains: { name: string; problems: unknown[] }[] };
  expect(brains.find(({ name }) => name === brain)?.problems).toEqual([]);
}, 120_000);
