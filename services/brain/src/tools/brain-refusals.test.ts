/** What keeps a brain as a whole from being deleted, renamed or opened. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { testCaller } from '../../testing/brain-test-bed.ts';
import { fullDatabase } from '../../testing/refusing-disk.ts';

const bed = await bedOfFile();
let node = await bed.start();
let brains = 0;
let brain = '';

beforeAll(async () => {
  bed.registry.grant('boss', 'acme', 'admin');
});

/** Made by an editor of acme, so that it is at home there. */
beforeEach(async () => {
  brains += 1;
  brain = `b${brains}`;
  await EDITOR.ok('brain_push', { name: brain, create: true });
  await EDITOR.ok('brain_write', { brain, name: 'a', content: 'kept' });
});

const caller = (subject: Subject | null) =>
  testCaller(() => node, subject === null ? null : { ...subject, verified: true });

const EDITOR = caller({ userId: 'ed', agentId: 'ed', workspace: 'acme', roles: ['editor'] });
const BOSS = caller({ userId: 'boss', agentId: 'boss', workspace: 'else', roles: ['editor'] });
const OPERATOR = caller(null);

const inData = (...parts: string[]): string => join(bed.dataDir, ...parts);

describe('a brain that stays where it is', () => {
  const WAYS = [
    ['brain_delete', () => ({ name: brain, confirm: brain })],
    ['brain_rename', () => ({ name: brain, to: `${brain}-new` })],
  ] as const;
  const isThere = async () =>
    expect(await EDITOR.ok('brain_read', { brain, name: 'a' })).toMatchObject({ content: 'kept' });

  test.each(WAYS)('%s: somebody holds its lease, or the boundary is not for admins', async (tool, args) => {
    await EDITOR.ok('svc_lock', { brain, action: 'acquire' });
    expect(await BOSS.no(tool, args())).toMatchObject({ code: 'E_LOCKED' });
    await OPERATOR.ok('svc_lock', { brain, action: 'force' });
    bed.registry.setPolicy(`brain:${brain}`, { writableBy: ['user:ed'] });
    expect(await BOSS.no(tool, args())).toEqual({ code: 'RLS_DENIED' });
    await isThere();
  });

  test.each(WAYS)('%s: somebody is at work in it for as long as the call may wait', async (tool, args) => {
    const open = node.openBrains().find(({ context }) => context.name === brain) ?? expect.fail('it is not open');
    const writer = await open.writer('main');
    if (!writer.ok) throw new Error(writer.code);
    const end = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const work = writer.value.alone(Number.POSITIVE_INFINITY, () => {
      begun.resolve();
      return end.promise;
    });
    await begun.promise;
    const write = EDITOR.ok('brain_write', { brain, name: 'b', content: 'waits' });
    const refused = await OPERATOR.no(tool, args(), { deadlineAt: Date.now() + 10_200 });
    end.resolve();
    expect(refused).toMatchObject({ code: 'E_BUSY', retryAfterMs: expect.any(Number) });
    await work;
    expect(await write).toMatchObject({ created: true });
    await isThere();
  });

  test.each(WAYS)('%s: the database has no room to tell of it', async (tool, args) => {
    {
      await using _disk = await fullDatabase(bed.database);
      expect(await BOSS.no(tool, args())).toMatchObject({ code: 'E_STATE_WRITE' });
    }
    await isThere();
  });

  test('as many deleted ones of its home are kept as may be', async () => {
    const folders = Array.from({ length: 32 }, (_, index) => `2026-${brain}-${index}`);
    for (const folder of folders) mkdirSync(inData('backups', 'deleted', folder), { recursive: true });
    const sql = `INSERT INTO brain.brain_deleted (folder, brain, id, workspace, by, at) SELECT f, 'x', f, 'acme', 'boss', now() FROM unnest($1::text[]) f`;
    await bed.database.pool.query(sql, [folders]);
    const args = { name: brain, confirm: brain };
    expect(await BOSS.no('brain_delete', args)).toMatchObject({ code: 'E_QUOTA' });
    await isThere();
    // An operator clears them away.
    for (const folder of folders) rmSync(inData('backups', 'deleted', folder), { recursive: true });
    expect(await BOSS.ok('brain_delete', args)).toMatchObject({ deleted: true });
  });
});

test.each([
  ['brain_switch', () => ({ name: `${brain}-new`, create: true })],
  ['brain_load', () => ({ brains: `${brain}-new`, create: true })],
] as const)('%s makes no brain that the database has no room to tell of', async (tool, args) => {
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await EDITOR.no(tool, args())).toMatchObject({ code: 'E_STATE_WRITE' });
  }
  expect(await EDITOR.ok(tool, args())).toMatchObject({ created: true });
});

describe('a brain that a person has spoilt', () => {
  test('without its branch is said to be without it', async () => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', inData('brains', brain), ...args], { encoding: 'utf8' });
    await EDITOR.ok('svc_commit', { brain, message: 'state' });
    const commit = git('rev-parse', 'main').trim();
    await EDITOR.ok('svc_create_branch', { brain, name: 'side' });
    await EDITOR.ok('brain_switch', { name: brain, branch: 'side' });
    git('update-ref', '-d', 'refs/heads/side');
    expect(await EDITOR.no('svc_create_branch', { name: 'new' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
    expect(await EDITOR.no('svc_island_status', { name: 'ops' })).toMatchObject({ code: 'E_BRANCH_ABSENT' });
    await EDITOR.ok('brain_switch', { name: brain, branch: 'main' });
    git('update-ref', '-d', 'refs/heads/main');
    for (const [tool, args] of [
      ['brain_current', {}],
      ['brain_state', {}],
      ['brain_load', { brains: brain }],
    ] as const)
      expect([tool, await EDITOR.no(tool, args)]).toMatchObject([tool, { code: 'E_BRANCH_ABSENT' }]);
    git('update-ref', 'refs/heads/main', commit);
    expect(await EDITOR.ok('brain_current')).toMatchObject({ current: brain, commit });
  });

  test('with a configuration that git cannot read is not opened, and no answer is made up for it', async () => {
    const config = inData('brains', brain, '.git', 'config');
    const kept = readFileSync(config);
    await node.stop();
    writeFileSync(config, '[[[');
    node = await bed.start();
    for (const [tool, args] of [
      ['brain_current', {}],
      ['brain_stack', { wait: true }],
    ] as const)
      expect([tool, await EDITOR.no(tool, args)]).toEqual([tool, { code: 'BRAIN_LOAD_FAIL' }]);
    // The others are told; of this one it is said that nothing is known.
    const { changes, problems } = await EDITOR.ok('svc_branch_changed_brains');
    expect(changes).not.toContainEqual(expect.objectContaining({ brain }));
    expect(problems).toEqual([{ brain, code: 'BRAIN_LOAD_FAIL', text: expect.any(String) }]);
    writeFileSync(config, kept);
    expect(await EDITOR.ok('brain_current')).toMatchObject({ current: brain });
  });
});
