/** Histories and indexes as other programs leave them: told of all the same. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { gitIn } from '../../testing/brain-state.ts';

const bed = await bedOfFile();
const node = await bed.start();
let brains = 0;
let brain = '';

beforeEach(async () => {
  brains += 1;
  brain = `p${brains}`;
  await node.call('brain_push', { name: brain, create: true });
  await node.call('brain_save', { name: 'a', content: brain, message: 'first' });
});

const root = () => join(bed.dataDir, 'brains', brain);
const git = (...args: string[]) => gitIn(root(), ...args);

/** On top of `main`, with the same files; `lines` are its author and committer. */
function commitRaw(lines: string): string {
  const body = `tree ${git('rev-parse', 'main^{tree}')}\nparent ${git('rev-parse', 'main')}\n${lines}\n\nraw\n`;
  const args = ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'];
  const commit = execFileSync('git', args, { cwd: root(), input: body, encoding: 'utf8' }).trim();
  git('update-ref', 'refs/heads/main', commit);
  return commit;
}

it('tells of commits whose authors and dates are none that git would write', async () => {
  const lines = [
    'author A <a@x> 18446744073709551615 +0000\ncommitter A <a@x> 18446744073709551615 +0000',
    'author A <a@x> -5 +0000\ncommitter A <a@x> 99999999999999 -1200',
    'author nobody\ncommitter nobody',
    'author  <> 0 +0000\ncommitter  <> 1700000000',
  ];
  for (const line of lines) {
    const commit = commitRaw(line);
    expect(await node.call('svc_list_branches', {}), line).toMatchObject({ names: ['main'] });
    const { history } = await node.call('svc_history', {});
    expect(history, line).toMatchObject([{ commit, message: 'raw' }, ...Array.from({ length: 2 }, () => ({}))]);
    expect(await node.call('brain_list_files', { at: commit }), line).toMatchObject({ files: [{ file: 'a.md' }] });
    git('update-ref', 'refs/heads/main', `${commit}~1`);
  }
});

it('tells of the history beside an index that is damaged', async () => {
  writeFileSync(join(root(), '.git/index'), 'garbage');
  expect(await node.call('svc_history', {})).toMatchObject({ history: [{ files: [{ file: 'a.md' }] }, {}] });
  expect(await node.call('brain_save', { name: 'b', content: '2' })).toMatchObject({ committed: true });
  expect(git('status', '--porcelain')).toBe('');
});

it('lets no grafts cut the history short, nor a backup, which could not be restored then', async () => {
  await node.call('brain_save', { name: 'b', content: '2', message: 'second' });
  writeFileSync(join(root(), '.git/info/grafts'), `${git('rev-parse', 'main')}\n`);
  const history = [{ message: 'second' }, { message: 'first' }, { message: 'Empty brain' }];
  expect(await node.call('svc_history', {})).toMatchObject({ history });
  const { path } = await node.call('svc_brain_backup', {});
  const restored = `${brain}-restored`;
  expect(await node.call('svc_brain_restore', { path, brain: restored })).toMatchObject({ status: 'restored' });
  expect(await node.call('svc_history', { brain: restored })).toMatchObject({ history });
});
