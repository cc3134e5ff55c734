/** Branches that a person, or a power cut, left pointing to no commit: they say so, and nothing else stands still. */
import { chmodSync, existsSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { gitIn } from '../../testing/brain-state.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';
import { CLOCK_STEP_MS } from '../files/file-stamp.ts';

const bed = await bedOfFile();
let node = await bed.start();
const { ok, no } = testCaller(() => node, null);

const root = (brain: string) => join(bed.dataDir, 'brains', brain);
const git = (brain: string, ...args: string[]) =>
  gitIn(root(brain), '-c', 'user.name=Person', '-c', 'user.email=person@example.org', ...args);
const objectOf = (brain: string, oid: string) => join(root(brain), '.git/objects', oid.slice(0, 2), oid.slice(2));

const BROKEN = { code: 'BRAIN_LOAD_FAIL', message: expect.stringContaining('the branch side points to no commit') };

function pointSideTo(brain: string, oid: string): void {
  writeFileSync(join(root(brain), '.git/refs/heads/side'), `${oid}\n`);
}

const WAYS = {
  'an object that is not there': (brain) => pointSideTo(brain, '1234567890123456789012345678901234567890'),
  'an annotated tag': (brain) => {
    git(brain, 'tag', '-a', '-m', 'release', 'v1', 'side');
    pointSideTo(brain, git(brain, 'rev-parse', 'v1'));
  },
  'a tree': (brain) => pointSideTo(brain, git(brain, 'rev-parse', 'side^{tree}')),
  'an object that the disk lost': (brain) => {
    const object = objectOf(brain, git(brain, 'rev-parse', 'side'));
    chmodSync(object, 0o644);
    truncateSync(object);
  },
} satisfies Record<string, (brain: string) => void>;

it.each(Object.entries(WAYS))('a branch that points to %s takes no other along', async (title, breakSide) => {
  const brain = `broken-${title.replaceAll(' ', '-')}`;
  await ok('brain_load', { brains: brain, create: true });
  await ok('brain_save', { brain, name: 'a', content: 'a' });
  await ok('svc_create_branch', { brain, name: 'other' });
  await ok('svc_create_branch', { brain, name: 'side' });
  await ok('brain_save', { brain, branch: 'side', name: 'b', content: 'b' });
  const sound = git(brain, 'rev-parse', 'side');
  await node.stop();
  breakSide(brain);
  node = await bed.start();
  const onSide = { brain, branch: 'side', name: 'b' };
  expect(await no('brain_read', onSide)).toMatchObject({ code: BROKEN.code });
  await expect(node.call('brain_read', onSide)).rejects.toMatchObject({ cause: BROKEN });
  for (const [tool, args] of [
    ['brain_write', { ...onSide, content: 'c' }],
    ['svc_commit', { brain, branch: 'side', message: 'c' }],
    ['svc_create_branch', { brain, name: 'third', from: 'side' }],
    ['svc_branch_merge', { brain, from: 'side', into: 'main' }],
    ['svc_brain_backup', { brain, path: title.replaceAll(' ', '-') }],
  ] as const)
    await expect(node.call(tool, args), tool).rejects.toMatchObject({ cause: BROKEN });
  expect(existsSync(join(bed.dataDir, 'backups', `${title.replaceAll(' ', '-')}.svcb`))).toBe(false);
  for (const branch of ['main', 'other'])
    expect(await ok('brain_save', { brain, branch, name: 'c', content: branch })).toMatchObject({ committed: true });
  expect(await ok('svc_list_branches', { brain })).toMatchObject({ branches: [{ name: 'main' }, { name: 'other' }] });
  expect(await ok('svc_branch_delete', { brain, name: 'other' })).toMatchObject({ deleted: true });
  const { problems } = (await ok('svc_health')) as { problems: { code: string; text: string }[] };
  expect(problems.filter(({ text }) => text.startsWith(`${brain}: the branch side points to no commit`))).toHaveLength(
    1,
  );
  pointSideTo(brain, title === 'an object that the disk lost' ? git(brain, 'rev-parse', 'main') : sound);
  expect(await ok('brain_save', { ...onSide, content: 'again' })).toMatchObject({ committed: true });
  await ok('svc_brain_backup', { brain });
});

it.each([
  ['soon after it moved', 0],
  ['when it has stood there for a while', 2 * CLOCK_STEP_MS],
])('a branch that is broken while the brain is open, %s, is told of alike', async (_when, settlesMs) => {
  const brain = `opened-${settlesMs}`;
  await ok('brain_load', { brains: brain, create: true });
  await ok('brain_save', { brain, name: 'a', content: 'a' });
  await ok('svc_create_branch', { brain, name: 'side' });
  await ok('brain_save', { brain, branch: 'side', name: 'b', content: 'b' });
  await delay(settlesMs);
  await ok('brain_read', { brain, branch: 'side', name: 'b' });
  rmSync(objectOf(brain, git(brain, 'rev-parse', 'side')));
  await expect(node.call('svc_brain_backup', { brain })).rejects.toMatchObject({ cause: BROKEN });
  await expect(node.call('brain_read', { brain, branch: 'side', name: 'b' })).rejects.toMatchObject({ cause: BROKEN });
  expect(await ok('brain_save', { brain, name: 'c', content: 'c' })).toMatchObject({ committed: true });
});

it('a brain whose main is broken says so', async () => {
  const brain = 'no-main';
  await ok('brain_load', { brains: brain, create: true });
  writeFileSync(join(root(brain), '.git/refs/heads/main'), '1234567890123456789012345678901234567890\n');
  await expect(node.call('brain_list_files', { brain })).rejects.toMatchObject({
    cause: { code: 'BRAIN_LOAD_FAIL', message: expect.stringContaining('the branch main points to no commit') },
  });
});

it('a default brain that is damaged keeps the service from no other', async () => {
  await ok('brain_load', { brains: 'beside', create: true });
  await ok('brain_save', { brain: 'beside', name: 'a', content: 'a' });
  const main = git('svc', 'rev-parse', 'main');
  const moveMain = (to: string) => writeFileSync(join(root('svc'), '.git/refs/heads/main'), `${to}\n`);
  await node.stop();
  moveMain('1234567890123456789012345678901234567890');
  node = await bed.start();
  expect(await ok('brain_read', { brain: 'beside', name: 'a' })).toMatchObject({ content: 'a' });
  expect(await no('brain_list_files', { brain: 'svc' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  const { problems } = (await ok('svc_health')) as { problems: { code: string; text: string }[] };
  expect(problems).toContainEqual({ code: 'BRAIN_LOAD_FAIL', text: expect.stringMatching(/^svc: .*the branch main/) });
  moveMain(main);
  expect(await ok('brain_save', { brain: 'svc', name: 'a', content: 'a' })).toMatchObject({ committed: true });
});
