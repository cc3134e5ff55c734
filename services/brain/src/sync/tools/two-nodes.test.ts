/** Two nodes that know of each other by one remote alone, which takes nothing that is forced. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

const TURNS = runs(100);
const BRAIN = 'shared';

const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();

test('two nodes that push in turns, with clashes, end on the same commit, and nothing was forced', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'two-nodes-'));
  const bare = join(outside, 'r.git');
  git(outside, 'init', '-q', '--bare', '-b', 'main', bare);
  git(bare, 'config', 'receive.denyNonFastForwards', 'true');
  git(bare, 'config', 'core.logAllRefUpdates', 'always');
  const remotes = { SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `origin=file://${bare}` };
  await using one = await openBrainTestBed();
  await using other = await openBrainTestBed();
  const nodes = [await one.start(remotes), await other.start(remotes)];
  const patiently = () => ({ deadlineAt: Date.now() + 60_000 });
  const users = nodes.map((node) => testCaller(() => node, null));
  const beds = [one, other];
  const tips = () => beds.map(({ dataDir }) => git(join(dataDir, 'brains', BRAIN), 'rev-parse', 'main'));
  for (const user of users) await user.ok('brain_switch', { name: BRAIN, create: true }, patiently());
  let clashes = 0;
  for (let turn = 0; turn < TURNS; turn += 1)
    for (const [at, user] of users.entries()) {
      const wish = { name: 'both.md', content: `turn ${turn} of ${at}\n` };
      await user.ok('brain_write', wish, patiently());
      await user.ok('brain_save', { name: `own/${at}-${turn}.md`, content: `${turn}` }, patiently());
      const synced = await user.ok('svc_sync', {}, patiently());
      expect(synced, `${turn} of ${at}`).toMatchObject({ synced: true });
      if (synced['status'] === 'merged-with-conflicts' || (synced['conflicts'] as unknown[]).length > 0) clashes += 1;
    }
  for (const user of [...users, ...users]) await user.ok('svc_sync', {}, patiently());
  const branch = git(bare, 'for-each-ref', '--format=%(refname)', 'refs/heads');
  const atRemote = git(bare, 'rev-parse', branch);
  expect(tips()).toEqual([atRemote, atRemote]);
  const files = git(bare, 'ls-tree', '-r', '--name-only', branch).split('\n');
  expect(files).toHaveLength(1 + 2 * TURNS);
  // What each push replaced is an ancestor of what it brought.
  const pushed = git(bare, 'reflog', 'show', '--format=%H', branch).split('\n').reverse();
  for (const [at, newer] of pushed.entries())
    if (at > 0) git(bare, 'merge-base', '--is-ancestor', pushed[at - 1] ?? '', newer);
  expect(pushed.length).toBeGreaterThanOrEqual(2 * TURNS - 1);
  expect(clashes).toBeGreaterThan(TURNS / 2);
  for (const node of nodes) await node.stop();
  rmSync(outside, { recursive: true, force: true });
}, 600_000);
