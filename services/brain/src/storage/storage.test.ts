/** The branch as an area of files, through the dispatcher and against the disk. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';
import { type TestCaller, testCaller } from '../../testing/brain-test-bed.ts';
import { fullDatabase } from '../../testing/refusing-disk.ts';
import { BRAIN_LIMITS } from '../domain/brain-size.ts';

const bed = await bedOfFile();
const node = await bed.start();
let user: TestCaller;
let brain = '';
let count = 0;

beforeEach(async () => {
  count += 1;
  brain = `b${count}`;
  user = testCaller(() => node, null);
  await user.ok('brain_switch', { name: brain, create: true });
});

const root = () => join(bed.dataDir, 'brains', brain);
const editor = () =>
  testCaller(() => node, { agentId: 'eve', userId: 'eve', workspace: 'acme', roles: ['editor'], verified: true });
const PNG = Buffer.from('89504e470d0a1a0a00ff00fe', 'hex');

async function writeBytes(path: string, bytes: Uint8Array) {
  const content = Buffer.from(bytes).toString('base64');
  return user.ok('svc_storage_write', { path, content, encoding: 'base64' });
}

test('bytes go to the disk and come back as they are, text too, and the history keeps them', async () => {
  const written = await writeBytes('pics/dot.png', PNG);
  expect(written).toMatchObject({
    written: true,
    path: 'pics/dot.png',
    bytes: 12,
    changed: true,
    created: true,
    brain,
  });
  expect(readFileSync(join(root(), 'pics/dot.png'))).toEqual(PNG);
  expect(await writeBytes('pics/dot.png', PNG)).toMatchObject({ changed: false });
  await writeBytes('pics/dot.png', Buffer.from([0, 1, 2]));
  const read = await user.ok('svc_storage_read', { path: 'pics/dot.png', encoding: 'base64' });
  expect(read).toMatchObject({ content: 'AAEC', encoding: 'base64', bytes: 3, branch: 'main' });
  expect(await user.no('svc_storage_read', { path: 'pics/dot.png' })).toMatchObject({ code: 'E_NOT_TEXT' });
  await user.ok('svc_storage_write', { path: 'notes/a', content: 'text\r\n' });
  expect(await user.ok('svc_storage_read', { path: 'notes/a' })).toMatchObject({
    path: 'notes/a.md',
    content: 'text\r\n',
  });
  expect(await user.ok('svc_search', { query: 'text' })).toMatchObject({ results: [{ file: 'notes/a.md' }] });
  const { commit, count: committed } = await user.ok('svc_commit', { message: 'both' });
  expect(committed).toBe(2);
  await writeBytes('pics/dot.png', PNG);
  const past = { path: 'pics/dot.png', encoding: 'base64', at: commit };
  expect(await user.ok('svc_storage_read', past)).toMatchObject({ content: 'AAEC' });
  expect(await user.no('svc_storage_read', { path: 'nothing' })).toMatchObject({ code: 'E_FILE_ABSENT' });
});

test('what is no content is refused, and what a tool of text does not serve it does not replace', async () => {
  const no = (content: string, encoding: string) => user.no('svc_storage_write', { path: 'x', content, encoding });
  expect(await no('a*', 'base64')).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await no('a\0', 'utf8')).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  expect(await no(Buffer.alloc(1024 * 1024 + 1).toString('base64'), 'base64')).toMatchObject({
    code: 'VAF_INPUT_INVALID',
  });
  await writeBytes('x.png', PNG);
  expect(await user.no('brain_write', { name: 'x.png', content: 'text' })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await user.no('svc_brain_update_my_stuff', { key: 'x.png', content: 'text' })).toMatchObject({
    code: 'E_CONFLICT',
  });
  expect(await user.ok('svc_storage_write', { path: 'x.png', content: 'text' })).toMatchObject({ changed: true });
});

test('a large file of a person is read in pieces, listed, and never replaced', async () => {
  const large = Buffer.alloc(2_500_000, 'text');
  writeFileSync(join(root(), 'large.bin'), large);
  expect(await user.no('svc_storage_read', { path: 'large.bin' })).toMatchObject({
    code: 'E_NOT_TEXT',
    error: expect.stringContaining('base64'),
  });
  const pieces: Buffer[] = [];
  let offset: unknown = 0;
  while (offset !== undefined) {
    const piece = await user.ok('svc_storage_read', { path: 'large.bin', encoding: 'base64', offset });
    expect(piece).toMatchObject({ bytes: 2_500_000 });
    pieces.push(Buffer.from(String(piece['content']), 'base64'));
    offset = piece['nextOffset'];
  }
  expect(Buffer.concat(pieces).equals(large)).toBe(true);
  expect(await user.no('svc_storage_write', { path: 'large.bin', content: 'x' })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await user.no('svc_storage_rm', { path: 'large.bin' })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await user.no('svc_storage_cp', { src: 'large.bin', dest: 'other.bin' })).toMatchObject({
    code: 'E_LIMIT',
    error: 'large.bin is larger than 1 MiB: only a person changes it, in the folder of the brain.',
  });
});

test('a large file is in a commit, and on a branch without a working tree, what it is in a working tree', async () => {
  const large = Buffer.alloc(2_500_000, 'then');
  writeFileSync(join(root(), 'large.bin'), large);
  const { commit } = await user.ok('svc_commit', { message: 'then' });
  await user.ok('svc_create_branch', { name: 'aside' });
  writeFileSync(join(root(), 'large.bin'), 'now');
  const last = { offset: 2_097_152, encoding: 'base64' };
  for (const state of [{ at: commit }, { branch: 'aside' }]) {
    const told = JSON.stringify(state);
    const piece = await user.ok('svc_storage_read', { path: 'large.bin', ...last, ...state });
    expect(piece, told).toMatchObject({ bytes: 2_500_000, hash: null });
    expect(Buffer.from(String(piece['content']), 'base64').equals(large.subarray(last.offset)), told).toBe(true);
    expect(piece, told).not.toHaveProperty('nextOffset');
    expect(await user.ok('svc_storage_list', { dir: '', ...state }), told).toMatchObject({
      entries: [{ name: 'large.bin', bytes: 2_500_000 }],
    });
    expect(await user.ok('brain_list_files', state), told).toMatchObject({
      files: [{ file: 'large.bin', kind: 'large', problem: 'is larger than 1 MiB' }],
    });
    expect(await user.no('brain_read', { name: 'large.bin', ...state }), told).toMatchObject({ code: 'E_NOT_TEXT' });
  }
  // As large as before, and another one.
  writeFileSync(join(root(), 'large.bin'), Buffer.alloc(2_500_000, 'else'));
  const { commit: later } = await user.ok('svc_commit', { message: 'later' });
  expect(await user.ok('svc_diff', { from: commit, to: later })).toMatchObject({
    files: [{ file: 'large.bin', change: 'modified', patch: null }],
  });
});

test('directories: listed with what lies in them, page by page, and told from files', async () => {
  for (const path of ['a/b/c.md', 'a/x.md', 'a.md']) await user.ok('svc_storage_write', { path, content: path });
  expect(await user.ok('svc_storage_mkdir', { dir: 'a/empty' })).toMatchObject({ created: true, existed: false });
  expect(await user.ok('svc_storage_mkdir', { dir: 'a/empty' })).toMatchObject({ existed: true });
  expect(await user.ok('svc_storage_mkdir', { dir: '.' })).toMatchObject({ existed: true });
  const listed = await user.ok('svc_storage_list', { dir: 'a' });
  expect(listed).toMatchObject({
    entries: [
      { name: 'b', path: 'a/b', type: 'dir', bytes: null, hash: null },
      { name: 'empty', type: 'dir' },
      { name: 'x.md', type: 'file', bytes: 6 },
    ],
  });
  const first = await user.ok('svc_storage_listRecursive', { limit: 3 });
  expect(first).toMatchObject({ entries: [{ path: 'a' }, { path: 'a.md' }, { path: 'a/b' }] });
  const rest = await user.ok('svc_storage_listRecursive', { limit: 3, cursor: first['nextCursor'] });
  expect(rest).toMatchObject({ entries: [{ path: 'a/b/c.md' }, { path: 'a/x.md' }] });
  for (const [path, type] of [
    ['a', 'dir'],
    ['a.md', 'file'],
    ['a/x', 'file'],
    ['a/empty', 'dir'],
    ['/', 'dir'],
    ['b', null],
  ])
    expect(await user.ok('svc_storage_exists', { path }), String(path)).toMatchObject({ exists: type !== null, type });
  for (const tool of ['svc_storage_list', 'svc_storage_listRecursive'])
    expect(await user.no(tool, { dir: 'nowhere' })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await user.no('svc_storage_mkdir', { dir: 'a.md' })).toMatchObject({ code: 'E_FILE_EXISTS' });
  expect(await user.no('svc_storage_mkdir', { dir: 'a.md/x' })).toMatchObject({ code: 'E_FILE_EXISTS' });
  for (const dir of ['A', 'a/EMPTY'])
    expect(await user.no('svc_storage_mkdir', { dir }), dir).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  const { commit } = await user.ok('svc_commit', { message: 'm' });
  expect(await user.ok('svc_storage_list', { dir: 'a', at: commit })).toMatchObject({
    entries: [{ name: 'b' }, { name: 'x.md', modifiedAt: null }],
  });
});

test('removing: a file, an empty directory, everything below one, and never the root', async () => {
  for (const path of ['a/b/c.md', 'a/x.png', 'keep.md']) await writeBytes(path, PNG);
  expect(await user.no('svc_storage_rm', { path: 'a' })).toMatchObject({ code: 'E_DIR_NOT_EMPTY', removed: false });
  expect(existsSync(join(root(), 'a/b/c.md'))).toBe(true);
  for (const path of ['/', '', '.'])
    expect(await user.no('svc_storage_rm', { path, recursive: true })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  await user.ok('svc_storage_mkdir', { dir: 'a/empty/deep' });
  expect(await user.ok('svc_storage_rm', { path: 'a', recursive: true })).toMatchObject({ removed: true, files: 2 });
  expect(readdirSync(root()).sort()).toEqual(['.git', 'keep.md']);
  await user.ok('svc_storage_mkdir', { dir: 'e' });
  expect(await user.ok('svc_storage_rm', { path: 'e' })).toMatchObject({ files: 0 });
  expect(existsSync(join(root(), 'e'))).toBe(false);
  const { hash } = await user.ok('svc_storage_read', { path: 'keep', encoding: 'base64' });
  expect(await user.no('svc_storage_rm', { path: 'keep', ifMatch: 'a'.repeat(64) })).toMatchObject({
    code: 'E_CONFLICT',
    hash,
  });
  expect(await user.ok('svc_storage_rm', { path: 'keep', ifMatch: hash })).toMatchObject({ path: 'keep.md', files: 1 });
  expect(await user.no('svc_storage_rm', { path: 'keep' })).toMatchObject({ code: 'E_FILE_ABSENT' });
});

test('copying: a file, a directory as a whole, over what is there only when asked', async () => {
  await writeBytes('a/b/c.png', PNG);
  await user.ok('svc_storage_write', { path: 'a/x.md', content: 'x' });
  expect(await user.ok('svc_storage_cp', { src: 'a', dest: 'copy' })).toMatchObject({
    copied: true,
    files: 2,
    bytes: 13,
  });
  expect(readFileSync(join(root(), 'copy/b/c.png'))).toEqual(PNG);
  expect(await user.ok('svc_storage_cp', { src: 'a/b/c.png', dest: 'one' })).toMatchObject({
    dest: 'one.png',
    files: 1,
  });
  expect(await user.no('svc_storage_cp', { src: 'a', dest: 'copy' })).toMatchObject({ code: 'E_FILE_EXISTS' });
  expect(await user.no('svc_storage_cp', { src: 'a/x', dest: 'copy', overwrite: true })).toMatchObject({
    code: 'E_FILE_EXISTS',
  });
  expect(await user.no('svc_storage_cp', { src: 'nothing', dest: 'x' })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await user.no('svc_storage_cp', { src: 'a', dest: 'a/b/a' })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  await user.ok('svc_storage_write', { path: 'a/x.md', content: 'new' });
  expect(await user.ok('svc_storage_cp', { src: 'a', dest: 'copy', overwrite: true })).toMatchObject({ files: 2 });
  expect(await user.ok('svc_storage_read', { path: 'copy/x' })).toMatchObject({ content: 'new' });
  // A name that may not be is in the way of all: nothing is copied.
  const deep = 'd/d/d/d/d/d/d';
  expect(await user.no('svc_storage_cp', { src: 'a', dest: deep })).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  expect(existsSync(join(root(), 'd'))).toBe(false);
});

test('more than a step takes is refused, with nothing removed or copied', async () => {
  mkdirSync(join(root(), 'many'));
  for (let n = 0; n < 1001; n += 1) writeFileSync(join(root(), 'many', `${n}.md`), 'x');
  const refusal = {
    code: 'E_LIMIT',
    limit: 1000,
    error: 'More than 1000 files at once: take the directories below one by one.',
  };
  expect(await user.no('svc_storage_rm', { path: 'many', recursive: true })).toMatchObject(refusal);
  expect(await user.no('svc_storage_cp', { src: 'many', dest: 'more' })).toMatchObject(refusal);
  expect(readdirSync(join(root(), 'many'))).toHaveLength(1001);
});

test('a link is never shown, followed, copied or removed, nor what lies behind it', async () => {
  await user.ok('svc_storage_write', { path: 'a/x.md', content: 'x' });
  const outside = join(bed.dataDir, `outside-${brain}`);
  mkdirSync(join(outside, 'empty'), { recursive: true });
  writeFileSync(join(outside, 'secret.md'), 'secret');
  symlinkSync(outside, join(root(), 'a', 'l'));
  symlinkSync(join(outside, 'secret.md'), join(root(), 'a', 'f.md'));
  for (const path of ['a/l/secret.md', 'a/f.md', 'a/l'])
    expect(await user.no('svc_storage_read', { path, encoding: 'base64' }), path).toMatchObject({
      code: 'E_FILE_ABSENT',
    });
  for (const path of ['a/l', 'a/l/secret.md', 'a/l/empty', 'a/f.md'])
    expect(await user.ok('svc_storage_exists', { path }), path).toMatchObject({ exists: false });
  expect(await user.ok('svc_storage_listRecursive', {})).toMatchObject({
    entries: [{ path: 'a' }, { path: 'a/x.md' }],
  });
  expect(await user.ok('svc_storage_cp', { src: 'a', dest: 'b' })).toMatchObject({ files: 1 });
  expect(await user.no('svc_storage_rm', { path: 'a', recursive: true })).toMatchObject({ code: 'E_CONFLICT' });
  for (const path of ['a/l/new', 'a/l', 'a/f.md'])
    expect(await user.no('svc_storage_write', { path, content: 'w' }), path).toMatchObject({
      code: expect.stringMatching(/^(E_CONFLICT|VAF_PATH_BLOCKED)$/),
    });
  expect(await user.no('svc_storage_mkdir', { dir: 'a/l/made' })).toMatchObject({ code: 'E_FILE_EXISTS' });
  const over = { src: 'a/x', dest: 'a/f.md', overwrite: true };
  expect(await user.no('svc_storage_cp', over)).toMatchObject({ code: 'E_CONFLICT' });
  expect(readdirSync(outside).sort()).toEqual(['empty', 'secret.md']);
  expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('secret');
});

test('what one may not read is left out of copies and lists, and keeps its directory from going', async () => {
  await user.ok('svc_storage_write', { path: 'a/open.md', content: 'open' });
  await user.ok('svc_storage_write', { path: 'a/deep/hidden.md', content: 'hidden' });
  bed.registry.setPolicy(`brain:${brain}/a/deep`, { readableBy: ['user:ada'] });
  const eve = editor();
  await eve.ok('brain_switch', { name: brain });
  expect(await eve.ok('svc_storage_listRecursive', {})).toMatchObject({
    entries: [{ path: 'a' }, { path: 'a/open.md' }],
  });
  expect(await eve.ok('svc_storage_list', { dir: 'a' })).toMatchObject({ entries: [{ path: 'a/open.md' }] });
  expect(await eve.ok('svc_storage_exists', { path: 'a/deep' })).toMatchObject({ exists: false });
  expect(await eve.no('svc_storage_list', { dir: 'a/deep' })).toMatchObject({ code: 'E_FILE_ABSENT' });
  expect(await eve.ok('svc_storage_cp', { src: 'a', dest: 'b' })).toMatchObject({ files: 1 });
  expect(await eve.no('svc_storage_rm', { path: 'a', recursive: true })).toMatchObject({ code: 'RLS_DENIED' });
  expect(existsSync(join(root(), 'a/open.md'))).toBe(true);
  expect(existsSync(join(root(), 'b/deep'))).toBe(false);
});

test('a copy shows nobody more than its maker saw', async () => {
  await user.ok('svc_storage_write', { path: 'hr/ada.json', content: '{"name":"Ada","salary":9}' });
  bed.registry.setPolicy(`brain:${brain}/hr`, { mask: ['salary'], writableBy: ['role:editor'] });
  const eve = editor();
  await eve.ok('brain_switch', { name: brain });
  expect(String((await eve.ok('svc_storage_read', { path: 'hr/ada.json' }))['content'])).not.toContain('9');
  const bytes = await eve.ok('svc_storage_read', { path: 'hr/ada.json', encoding: 'base64' });
  expect(Buffer.from(String(bytes['content']), 'base64').toString()).not.toContain('9');
  await eve.ok('svc_storage_cp', { src: 'hr/ada.json', dest: 'mine.json' });
  expect(String((await eve.ok('svc_storage_read', { path: 'mine.json' }))['content'])).toContain('[masked]');
  const binary = { path: 'hr/ada.json', content: 'AP8=', encoding: 'base64' };
  expect(await eve.no('svc_storage_write', binary)).toMatchObject({ code: 'VAF_INPUT_INVALID' });
});

test('a keyed change happens once', async () => {
  await user.ok('svc_storage_write', { path: 'a/x.md', content: 'x' });
  const twice = async (tool: string, args: Record<string, unknown>) => {
    const key = { idempotencyKey: `${brain}-${tool}` };
    expect(await user.ok(tool, args, key)).toEqual(await user.ok(tool, args, key));
  };
  await twice('svc_storage_cp', { src: 'a', dest: 'b' });
  await twice('svc_storage_rm', { path: 'a', recursive: true });
  await twice('svc_storage_mkdir', { dir: 'c' });
  expect(existsSync(join(root(), 'b/x.md'))).toBe(true);
});

const CHANGES: readonly (readonly [string, Record<string, unknown>])[] = [
  ['svc_storage_write', { path: 'n.md', content: 'x' }],
  ['svc_storage_cp', { src: 'kept', dest: 'n' }],
  ['svc_storage_rm', { path: 'kept' }],
  ['svc_storage_mkdir', { dir: 'n' }],
  ['svc_brain_update_my_stuff', { key: 'goals', content: 'x' }],
  ['svc_stego_encode', { image: 'dot.png', message: 'x', output: 'n.png' }],
];

/** A PNG of 8 × 8 pixels. */
const DOT = {
  path: 'dot.png',
  content: 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAADElEQVR42mNgGB4AAADIAAGTvaWOAAAAAElFTkSuQmCC',
  encoding: 'base64',
};

test('a brain that is full takes nothing more', async () => {
  await user.ok('svc_storage_write', { path: 'kept', content: 'x' });
  await user.ok('svc_storage_write', DOT);
  writeFileSync(join(root(), 'huge.bin'), '');
  truncateSync(join(root(), 'huge.bin'), 3 * 1024 ** 3);
  for (const [tool, args] of CHANGES.filter(([name]) => !/rm|mkdir/.test(name)))
    expect(await user.no(tool, args), tool).toMatchObject({ code: 'E_QUOTA' });
});

test('a database without room to tell of it leaves no picture with a message', async () => {
  await user.ok('svc_storage_write', DOT);
  const encode = { image: 'dot.png', message: 'x', output: 'n.png' };
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await user.no('svc_stego_encode', encode)).toMatchObject({ encoded: false, code: 'E_STATE_WRITE' });
  }
  expect(existsSync(join(root(), 'n.png'))).toBe(false);
});

/** Makes the brain hold all but so many bytes of what it may. */
function leaveRoom(bytes: number): void {
  writeFileSync(join(root(), 'huge.bin'), '');
  truncateSync(join(root(), 'huge.bin'), BRAIN_LIMITS.bytes - bytes);
}

test('of many who write at once as many bytes go in as there is room for, and what is replaced makes room', async () => {
  await user.ok('svc_storage_write', { path: 'kept', content: 'xxxxxxxxxx' });
  leaveRoom(30);
  const writes = Array.from({ length: 40 }, (_, n) => `one/${n}.md`);
  const answers = await Promise.all(writes.map((path) => tryWrite(path, 'x')));
  expect(answers.filter((code) => code === null)).toHaveLength(20);
  expect(answers.filter((code) => code === 'E_QUOTA')).toHaveLength(20);
  expect(readdirSync(join(root(), 'one'))).toHaveLength(20);
  expect(await tryWrite('kept', 'yyyyyyyyyyy')).toBe('E_QUOTA');
  expect(await tryWrite('kept', 'yyyyyyyyyy')).toBeNull();
  expect(await tryWrite('kept', 'yyy')).toBeNull();
  expect(await Promise.all(['a', 'b'].map((name) => tryWrite(name, 'xxxxx')))).toEqual([null, 'E_QUOTA']);
});

test('a directory is copied whole where it has room, and not at all where it has none', async () => {
  for (let n = 0; n < 4; n += 1) await user.ok('svc_storage_write', { path: `from/${n}`, content: 'xxxxx' });
  leaveRoom(20 + 19);
  const refused = await user.no('svc_storage_cp', { src: 'from', dest: 'to' });
  expect(refused).toMatchObject({ code: 'E_QUOTA' });
  expect(existsSync(join(root(), 'to'))).toBe(false);
  leaveRoom(20 + 20);
  expect(await user.ok('svc_storage_cp', { src: 'from', dest: 'to' })).toMatchObject({ files: 4, bytes: 20 });
});

async function tryWrite(path: string, content: string): Promise<unknown> {
  return (await user.ok('svc_storage_write', { path, content }))['code'] ?? null;
}

test('more working trees than a brain has room for are refused to every change', async () => {
  await user.ok('svc_storage_write', { path: 'kept', content: 'x' });
  await user.ok('svc_storage_write', DOT);
  await user.ok('svc_commit', { message: 'm' });
  await user.ok('svc_create_branch', { name: 'last' });
  for (let n = 1; n < 64; n += 1) {
    await user.ok('svc_create_branch', { name: `s${n}` });
    await user.ok('svc_storage_write', { path: 'kept', content: `${n}`, branch: `s${n}` });
  }
  for (const [tool, args] of CHANGES)
    expect(await user.no(tool, { ...args, branch: 'last' }), tool).toMatchObject({ code: 'E_LIMIT' });
});

test('a gated island is not written by nobody in particular, in whatever way', async () => {
  await user.ok('svc_create_island', { name: 'ops', triggers: ['a'], content: 'b' });
  await user.ok('svc_storage_write', { path: 'plain.md', content: 'x' });
  await user.ok('svc_storage_write', DOT);
  bed.registry.setPolicy('_island:ops', { writableBy: ['role:admin'] });
  for (const [tool, args] of [
    ['svc_storage_write', { path: 'islands/ops.md', content: 'x' }],
    ['svc_storage_cp', { src: 'plain', dest: 'islands/ops.md', overwrite: true }],
    ['svc_storage_rm', { path: 'islands/ops.md' }],
    ['svc_stego_encode', { image: 'dot.png', message: 'x', output: 'islands/ops.png' }],
  ] as const)
    expect(await user.no(tool, args), tool).toMatchObject({ code: 'E_ISLAND_WRITE_DENIED' });
  bed.registry.setPolicy('_island:ops', null);
});

test('core notes are files at the root of the brain', async () => {
  const updated = await user.ok('svc_brain_update_my_stuff', { key: 'goals', content: 'Answer soon.' });
  expect(updated).toMatchObject({ updated: true, key: 'goals', file: 'goals.md', changed: true });
  await user.ok('brain_write', { name: 'identity', content: 'A helper.' });
  await user.ok('brain_write', { name: 'other', content: 'no note' });
  expect(await user.ok('svc_brain_my_stuff')).toMatchObject({
    stuff: { identity: 'A helper.', goals: 'Answer soon.' },
    loaded: ['identity', 'goals'],
    count: 2,
    brain,
  });
  expect(await user.no('svc_brain_update_my_stuff', { key: 'a/b', content: 'x' })).toMatchObject({
    code: 'VAF_PATH_BLOCKED',
  });
});
