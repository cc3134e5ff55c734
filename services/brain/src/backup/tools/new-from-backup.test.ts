/** A backup that becomes a brain where none of its name is: where it is at home then, who may see it, what a failure leaves. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Subject } from '@svc/contract/subject.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { unfinishedPath } from '../backup-files.ts';

let bed: BrainTestBed;
let other: BrainTestBed;
let node: BrainNode;
let there: BrainNode;
let brains = 0;
let brain = '';

beforeAll(async () => {
  [bed, other] = await Promise.all([openBrainTestBed(), openBrainTestBed()]);
  [node, there] = await Promise.all([bed.start(), other.start()]);
  bed.registry.grant('ann', 'acme', 'admin');
});

afterAll(async () => {
  await Promise.all([node.stop(), there.stop()]);
  await Promise.all([bed, other].map((one) => one[Symbol.asyncDispose]()));
});

beforeEach(async () => {
  brains += 1;
  brain = `h${brains}`;
  await ANN.ok('brain_load', { brains: brain, create: true });
  await ANN.ok('brain_save', { brain, name: 'pay.md', content: 'a secret' });
});

const ann: Subject = { userId: 'ann', workspace: 'acme', roles: ['admin'], verified: true };
const ANN = testCaller(() => node, ann);
const OPERATOR = testCaller(() => node, null);
const THERE = testCaller(() => there, null);
const STRANGER = testCaller(() => there, { userId: 'eve', workspace: 'evil', roles: ['admin'], verified: true });
const ANN_THERE = testCaller(() => there, ann);

const shelf = (of: BrainTestBed) => join(of.dataDir, 'backups');
const leftovers = (of: BrainTestBed) => readdirSync(shelf(of)).filter((name) => name.startsWith('.'));
const homeThere = async (name = brain) => {
  const query = 'SELECT workspace FROM brain.brain_homes WHERE brain = $1';
  return (await other.database.pool.query<{ workspace: string }>(query, [name])).rows[0]?.workspace ?? null;
};

/** Made here and carried there. */
async function carried(): Promise<string> {
  const path = String((await OPERATOR.ok('svc_brain_backup', { brain }))['path']);
  copyFileSync(join(shelf(bed), path), join(shelf(other), path));
  return path;
}

/** The same backup with one part changed and every sum right. */
function forged(path: string, part: 'manifest' | 'bundle' | 'rows', change: (bytes: Buffer) => Buffer): void {
  const whole = readFileSync(join(shelf(other), path));
  const pieces: Buffer[] = [whole.subarray(0, whole.indexOf(10) + 1)];
  for (let at = pieces[0]?.length ?? 0; at < whole.length; ) {
    const end = whole.indexOf(10, at) + 1;
    const [name = '', size = ''] = whole.toString('latin1', at, end).split(' ');
    const bytes = whole.subarray(end, end + Number(size));
    const changed = name === part ? change(Buffer.from(bytes)) : bytes;
    const sum = createHash('sha256').update(changed).digest('hex');
    pieces.push(Buffer.from(`${name} ${changed.length} ${sum}\n`), changed);
    at = end + Number(size);
  }
  writeFileSync(join(shelf(other), path), Buffer.concat(pieces));
}

test('it is at home where it was, with the boundary that its home has declared', async () => {
  other.registry.grant('zoe', 'acme', 'admin');
  other.registry.setPolicy('_home:acme', {
    readableBy: ['container:acme'],
    writableBy: ['role:admin'],
    container: 'acme',
  });
  const path = await carried();
  const restored = await THERE.ok('svc_brain_restore', { path });
  expect(restored).toMatchObject({ status: 'restored', brain, rescue: null, kept: null });
  expect(await homeThere()).toBe('acme');
  expect(await STRANGER.no('brain_read', { brain, name: 'pay' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  expect(await ANN_THERE.ok('brain_read', { brain, name: 'pay' })).toMatchObject({ content: 'a secret' });
  const twin = `${brain}-twin`;
  await THERE.ok('svc_brain_restore', { path, brain: twin });
  expect(await STRANGER.no('brain_read', { brain: twin, name: 'pay' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  // One that is there keeps its home and its boundary, whatever the backup says.
  await THERE.ok('brain_load', { brains: 'open', create: true });
  await THERE.ok('svc_brain_restore', { path, brain: 'open' });
  expect(await homeThere('open')).toBe('default');
  other.registry.setPolicy('_home:acme', null);
});

test('one that had a boundary of its own comes back behind the one of its home, declared or not', async () => {
  other.registry.grant('zoe', 'acme', 'admin');
  const open = await carried();
  await THERE.ok('svc_brain_restore', { path: open, brain: `${brain}-open` });
  expect(await STRANGER.ok('brain_read', { brain: `${brain}-open`, name: 'pay' })).toMatchObject({ file: 'pay.md' });
  bed.registry.setPolicy(`brain:${brain}`, { container: 'acme' });
  const path = String((await OPERATOR.ok('svc_brain_backup', { brain, path: `${brain}-closed` }))['path']);
  copyFileSync(join(shelf(bed), path), join(shelf(other), path));
  await THERE.ok('svc_brain_restore', { path });
  expect(await STRANGER.no('brain_read', { brain, name: 'pay' })).toMatchObject({ code: 'BRAIN_LOAD_FAIL' });
  expect(await ANN_THERE.ok('brain_read', { brain, name: 'pay' })).toMatchObject({ content: 'a secret' });
  // A backup that does not say whether it had one is taken for one that had.
  forged(path, 'manifest', (bytes) => Buffer.from(bytes.toString().replace(',"isBounded":true', '')));
  await THERE.ok('svc_brain_restore', { path, brain: `${brain}-older` });
  expect(await STRANGER.no('brain_read', { brain: `${brain}-older`, name: 'pay' })).toMatchObject({
    code: 'BRAIN_LOAD_FAIL',
  });
});

test('where its home is not, it is refused and nothing is made', async () => {
  bed.registry.grant('kim', 'gone', 'admin');
  const kim = testCaller(() => node, { userId: 'kim', workspace: 'gone', roles: ['admin'], verified: true });
  brain = `${brain}-gone`;
  await kim.ok('brain_load', { brains: brain, create: true });
  const path = await carried();
  const refused = await THERE.no('svc_brain_restore', { path });
  expect(refused).toMatchObject({ code: 'E_UNKNOWN_WORKSPACE', workspace: 'gone' });
  expect(String(refused['error'])).toContain('svc_habitat_createWorkspace');
  expect([existsSync(join(other.dataDir, 'brains', brain)), await homeThere()]).toEqual([false, null]);
  other.registry.grant('kim', 'gone', 'admin');
  await THERE.ok('svc_brain_restore', { path });
  expect(await homeThere()).toBe('gone');
});

/** As if that branch had the files of main uncommitted. */
function withWorkOf(branch: string, manifest: Buffer): Buffer {
  const said = JSON.parse(manifest.toString()) as { commit: string };
  return Buffer.from(JSON.stringify({ ...said, work: [{ branch, commit: said.commit }] }));
}

test('what cannot become a brain leaves none, though every sum of it is right', async () => {
  const cut = (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -30), Buffer.alloc(10)]);
  const forgeries: readonly (readonly ['manifest' | 'bundle' | 'rows', (bytes: Buffer) => Buffer])[] = [
    ['bundle', cut],
    ['manifest', (bytes) => Buffer.from(bytes.toString().replace(/"commit":"[0-9a-f]{4}/, '"commit":"0000'))],
    ['rows', () => Buffer.from('["brain_owners",{}]\n')],
    ...['gone', '../../x', ''].map((branch) => ['manifest', (bytes: Buffer) => withWorkOf(branch, bytes)] as const),
  ];
  for (const [part, change] of forgeries) {
    const path = await carried();
    forged(path, part, change);
    expect([part, await THERE.no('svc_brain_restore', { path })]).toMatchObject([part, { code: 'E_BACKUP_CORRUPT' }]);
  }
  expect(existsSync(join(other.dataDir, 'brains', brain))).toBe(false);
  expect([await homeThere(), leftovers(other)]).toEqual([null, []]);
  const path = await carried();
  const names = Array.from({ length: 256 }, (_, index) => join(other.dataDir, 'brains', `full-${index}`));
  for (const name of names) mkdirSync(name);
  expect(await THERE.no('svc_brain_restore', { path })).toMatchObject({ code: 'E_QUOTA', limit: 256 });
  for (const name of names) rmSync(name, { recursive: true });
  expect([await homeThere(), leftovers(other)]).toEqual([null, []]);
});

test('a keyed repeat is answered as before, and one brain comes of many restores at once', async () => {
  other.registry.grant('zoe', 'acme', 'admin');
  const path = await carried();
  const key = { idempotencyKey: `new-${brain}` };
  const answer = await THERE.ok('svc_brain_restore', { path }, key);
  await THERE.ok('brain_save', { brain, name: 'pay.md', content: 'newer' });
  expect(await THERE.ok('svc_brain_restore', { path }, key)).toEqual(answer);
  expect(await THERE.ok('brain_read', { brain, name: 'pay' })).toMatchObject({ content: 'newer' });
  const twin = `${brain}-twin`;
  const all = await Promise.all([0, 1, 2].map(() => THERE.ok('svc_brain_restore', { path, brain: twin })));
  expect(all.filter(({ kept }) => kept === null)).toHaveLength(1);
  expect(await THERE.ok('brain_read', { brain: twin, name: 'pay' })).toMatchObject({ content: 'a secret' });
  expect(leftovers(other)).toEqual([]);
});

test('one whose folder is still on its way is there, for whoever asks, and its name is taken', async () => {
  other.registry.grant('zoe', 'acme', 'admin');
  const path = await carried();
  await THERE.ok('svc_brain_restore', { path });
  await there.stop();
  there = await other.start();
  const staged = unfinishedPath(other.dataDir, 'other', 'rst_8');
  const decided = async () => {
    mkdirSync(join(staged, 'worktrees'), { recursive: true });
    renameSync(join(other.dataDir, 'brains', brain), join(staged, 'brain'));
    await other.database.pool.query(
      `INSERT INTO brain.brain_moves (brain, staged, by, at) VALUES ($1, '.svc-other~rst_8', 'x', now())`,
      [brain],
    );
  };
  await decided();
  expect((await THERE.ok('brain_list'))['names']).toContain(brain);
  expect(await THERE.no('brain_push', { name: brain.toUpperCase(), create: true })).toMatchObject({
    code: 'VAF_INPUT_INVALID',
  });
  expect(await THERE.ok('brain_read', { brain, name: 'pay' })).toMatchObject({ content: 'a secret' });
  await there.stop();
  there = await other.start();
  await decided();
  expect(await THERE.ok('svc_brain_restore', { path })).toMatchObject({ kept: expect.any(String) as string });
  expect(leftovers(other)).toEqual([]);
});

test('what was decided is there when a process that was killed before it placed it is followed by another', async () => {
  other.registry.grant('zoe', 'acme', 'admin');
  const path = await carried();
  await THERE.ok('svc_brain_restore', { path });
  await there.stop();
  // As it was before the directories were moved.
  const staged = unfinishedPath(other.dataDir, 'dead', 'rst_9');
  mkdirSync(join(staged, 'worktrees'), { recursive: true });
  renameSync(join(other.dataDir, 'brains', brain), join(staged, 'brain'));
  await other.database.pool.query(
    `INSERT INTO brain.brain_moves (brain, staged, by, at) VALUES ($1, '.svc-dead~rst_9', 'x', now())`,
    [brain],
  );
  there = await other.start();
  expect(await THERE.ok('brain_read', { brain, name: 'pay' })).toMatchObject({ content: 'a secret' });
  expect(leftovers(other)).toEqual([]);
});
