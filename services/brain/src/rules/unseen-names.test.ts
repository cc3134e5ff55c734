/** New names beside what may not be read: the answer hangs on the rules, never on what is there. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../testing/brain-test-bed.ts';

let bed: BrainTestBed;
let node: BrainNode;
let remote = '';

beforeAll(async () => {
  bed = await openBrainTestBed();
  remote = join(bed.dataDir, '..', `${basename(bed.dataDir)}-remote.git`);
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', remote]);
  node = await bed.start({ SVC_SYNC_ALLOW_FILE: 'on', SVC_SYNC_REMOTES: `origin=file://${remote}` });
});

afterAll(async () => {
  await node.stop();
  rmSync(remote, { recursive: true, force: true });
  await bed[Symbol.asyncDispose]();
});

const BOB = testCaller(() => node, { userId: 'bob', workspace: 'acme', roles: ['editor'] });
const BOSS = testCaller(() => node, { userId: 'eve', workspace: 'acme', roles: ['boss', 'editor'] });
const OPERATOR = testCaller(() => node, null);
const SHUT = { readableBy: ['role:boss'], writableBy: ['role:boss'] };

/** Two brains under the same rules, one of which holds what they hide. */
async function twins(name: string, rules: readonly string[], hidden: readonly string[]): Promise<string[]> {
  const brains = [`${name}-full`, `${name}-empty`];
  for (const brain of brains) {
    await OPERATOR.ok('brain_push', { name: brain, create: true });
    await OPERATOR.ok('brain_write', { brain, name: 'open/There.md', content: 'x' });
    for (const file of brain.endsWith('full') ? hidden : [])
      await OPERATOR.ok('brain_write', { brain, name: file, content: 'kept' });
    for (const rule of rules) bed.registry.setPolicy(`brain:${brain}/${rule}`, SHUT);
  }
  return brains;
}

test('a name that could be taken by what may not be seen is denied whether or not it is', async () => {
  const brains = await twins('n', ['hr', 'docs/plan.md', 'a.b/c'], ['hr/pay.md', 'docs/plan.md', 'a.b/c/d.md']);
  for (const name of ['HR/new.md', 'docs/Plan.md', 'DOCS/new.md', 'a.b', 'A.b/new.md']) {
    const answers = await Promise.all(brains.map((brain) => BOB.no('brain_write', { brain, name, content: 'y' })));
    expect([name, ...answers]).toEqual([name, { code: 'RLS_DENIED' }, { code: 'RLS_DENIED' }]);
  }
  for (const brain of brains) {
    expect(await BOB.no('brain_write', { brain, name: 'open/there.md', content: 'y' })).toEqual({
      code: 'VAF_PATH_BLOCKED',
    });
    expect(await BOB.ok('brain_write', { brain, name: 'hr2/new.md', content: 'y' })).toMatchObject({ created: true });
  }
  const [full = ''] = brains;
  expect(await BOSS.no('brain_write', { brain: full, name: 'HR/new.md', content: 'y' })).toEqual({
    code: 'VAF_PATH_BLOCKED',
  });
});

test('an island that may not be read is made as if there were none', async () => {
  bed.registry.setPolicy('_island:staff', { readableBy: ['role:boss'], writableBy: ['role:editor', 'role:admin'] });
  const brains = await twins('i', [], []);
  const [full = ''] = brains;
  await testCaller(() => node, { userId: 'ann', workspace: 'acme', roles: ['admin'] }).ok('svc_create_island', {
    brain: full,
    name: 'staff',
    content: 'old',
  });
  const answers = await Promise.all(
    brains.map(async (brain) => BOB.ok('svc_create_island', { brain, name: 'staff', content: 'new' })),
  );
  const told = answers.map(({ brain: _brain, ...rest }) => rest);
  expect(told[0]).toEqual(told[1]);
  bed.registry.setPolicy('_island:staff', null);
});

test('how far a branch is from its remote is told to whom no commit of it is hidden', async () => {
  const [brain = ''] = await twins('r', [], []);
  await OPERATOR.ok('svc_commit', { brain, message: 'base' });
  await OPERATOR.ok('svc_sync', { brain, remote: 'origin', direction: 'push' });
  await OPERATOR.ok('brain_save', { brain, name: 'hr/pay.md', content: 'kept' });
  const told = async (caller: typeof BOB): Promise<unknown> => {
    const { branches } = (await caller.ok('svc_list_branches', { brain })) as { branches: Record<string, unknown>[] };
    return branches.map(({ ahead, behind }) => [ahead, behind]);
  };
  expect(await told(BOB)).toEqual([[1, 0]]);
  bed.registry.setPolicy(`brain:${brain}/hr`, SHUT);
  expect(await told(BOB)).toEqual([[null, null]]);
  expect(await told(BOSS)).toEqual([[1, 0]]);
});
