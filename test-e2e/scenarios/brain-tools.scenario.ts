/** The file tools of the brain_* family, health, islands, migration status. */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Fields } from '../client.ts';
import { Caller } from '../client.ts';
import { filesAt, git } from '../instruments/git.ts';
import { startEmbedded } from '../targets/embedded.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

verifies('brain:file-tools', async ({ fresh }) => {
  const { user, brain } = await fresh();
  const written = await user.ok('brain_write', { name: 'a/x', content: '# Title\n\nbody' });
  expect(written).toEqual({
    saved: true,
    name: 'a/x.md',
    file: 'a/x.md',
    hash: sha256('# Title\n\nbody'),
    bytes: 13,
    changed: true,
    created: true,
    brain,
    branch: 'main',
  });
  await user.ok('svc_set_memory', { category: 'b', filename: 'y.json', content: '{"k":1}' });
  const { body } = await user.call('brain_read', { name: 'a/x' });
  expect(body.result).toMatchObject({
    name: 'a/x',
    file: 'a/x.md',
    content: '# Title\n\nbody',
    data: '# Title\n\nbody',
    format: 'md',
    bytes: 13,
    brain,
    branch: 'main',
    dirty: true,
  });
  const same = await user.call('brain_get_file', { name: 'a/x' });
  expect(same.body).toEqual(body);
  const { files } = await user.ok<{ files: Fields[] }>('brain_list_files');
  expect(files).toMatchObject([
    {
      name: 'a/x.md',
      file: 'a/x.md',
      category: 'a',
      filename: 'x.md',
      bytes: 13,
      hash: written.hash,
      modifiedAt: expect.any(Number),
    },
    { file: 'b/y.json', category: 'b', filename: 'y.json' },
  ]);
  expect(await user.ok('brain_list_files', { category: 'b' })).toMatchObject({ files: [{ file: 'b/y.json' }] });
  expect(await user.ok('brain_corpus', { content: true })).toMatchObject({
    count: 2,
    corpus: [
      { file: 'a/x.md', title: 'Title', content: '# Title\n\nbody' },
      { file: 'b/y.json', content: '{"k":1}' },
    ],
  });
  expect((await user.ok<{ corpus: Fields[] }>('brain_corpus')).corpus[0]).not.toHaveProperty('content');
  expect(await user.ok('brain_delete_file', { name: 'a/x' })).toEqual({
    deleted: true,
    name: 'a/x',
    file: 'a/x.md',
    hash: written.hash,
  });
  await user.refused('E_FILE_ABSENT', 'svc_get_memory', { category: 'a', filename: 'x' });
  expect(await user.ok('brain_list_files')).toMatchObject({ files: [{ file: 'b/y.json' }] });
});

verifies('brain:delete:absent', async ({ fresh }) => {
  const { user } = await fresh();
  expect(await user.refused('E_FILE_ABSENT', 'brain_delete_file', { name: 'x' })).toMatchObject({ deleted: false });
  expect(await user.refused('E_FILE_ABSENT', 'brain_remove', { name: 'x' })).toMatchObject({ removed: false });
});

verifies('brain:format', async ({ fresh }) => {
  const { user } = await fresh();
  const fileOf = async (format: string, content: string) =>
    (await user.ok<{ file: string }>('brain_write', { name: 'doc', content, format })).file;
  expect(await fileOf('md', '# x')).toBe('doc.md');
  expect(await fileOf('json', '{"a":[1]}')).toBe('doc.json');
  expect(await fileOf('yaml', 'a: 1')).toBe('doc.yaml');
  expect(await fileOf('txt', 'x')).toBe('doc.txt');
  for (const [format, content] of [
    ['json', '{a'],
    ['yaml', 'a: [1'],
    ['pdf', 'x'],
  ] as const) {
    await user.fails('VAF_INPUT_INVALID', 'brain_write', { name: 'bad', content, format });
  }
});

verifies('brain:save:one-file', async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  const folder = brainFolder(place, brain);
  await user.ok('brain_write', { name: 'dirty', content: 'd' });
  const saved = await user.ok('brain_save', { name: 'x', content: 'one', message: 'just x' });
  expect(saved).toMatchObject({
    saved: true,
    name: 'x.md',
    hash: sha256('one'),
    committed: true,
    commit: git(folder, 'rev-parse', 'main'),
  });
  expect(filesAt(folder, 'main')).toEqual(['x.md']);
  expect(git(folder, 'log', '-1', '--format=%s', 'main')).toBe('just x');
  expect(await user.ok('svc_branch_is_dirty')).toMatchObject({ files: [{ file: 'dirty.md' }] });
  expect(await user.ok('brain_save', { name: 'x', content: 'one' })).toMatchObject({ saved: true, committed: false });
  expect(await user.ok('brain_save')).toMatchObject({ saved: true, committed: true });
  expect(filesAt(folder, 'main')).toEqual(['dirty.md', 'x.md']);
  for (const args of [{ name: 'x' }, { content: 'x' }]) await user.fails('VAF_INPUT_INVALID', 'brain_save', args);
  await user.refused('E_CONFLICT', 'brain_save', { name: 'x', content: 'two', ifMatch: 'none' });
});

verifies('brain:remove:order', async ({ fresh, caller }) => {
  const { user, brain } = await fresh();
  const shadow = newName('b');
  await caller().ok('brain_switch', { name: shadow, create: true });
  await user.ok('brain_push', { name: shadow });
  await user.ok('brain_push', { name: brain });
  const { hash } = await user.ok<{ hash: string }>('brain_write', { name: shadow, content: 'a file' });
  expect(await user.ok('brain_remove', { name: shadow })).toMatchObject({ removed: true, kind: 'stack', name: shadow });
  expect(await user.ok<{ stack: string[] }>('brain_stack').then(({ stack }) => stack.includes(shadow))).toBe(false);
  await user.ok('brain_read', { name: shadow });
  expect(await user.ok('brain_remove', { name: shadow })).toMatchObject({
    removed: true,
    kind: 'file',
    name: shadow,
    hash,
  });
  await user.refused('E_FILE_ABSENT', 'brain_remove', { name: shadow });
  await user.ok('brain_load', { brains: [brain] });
  expect(await user.refused('E_STACK_EMPTY', 'brain_remove', { name: brain })).toMatchObject({ removed: false });
});

verifies('brain:pages', async ({ fresh }) => {
  const { user } = await fresh();
  const names = Array.from({ length: 25 }, (_, index) => `p/${String(index).padStart(2, '0')}.md`);
  await Promise.all(names.map((name) => user.ok('brain_write', { name, content: name })));
  for (const [tool, rows] of [
    ['brain_list_files', 'files'],
    ['brain_corpus', 'corpus'],
  ] as const) {
    const seen: unknown[] = [];
    let cursor: unknown;
    do {
      const page: Fields = await user.ok(tool, { limit: 10, ...(cursor === undefined ? {} : { cursor }) });
      const items = page[rows] as { file: string }[];
      expect(items.length).toBeLessThanOrEqual(10);
      seen.push(...items.map(({ file }) => file));
      cursor = page.nextCursor;
    } while (cursor !== undefined && cursor !== null);
    expect(seen).toEqual(names);
    for (const args of [{ limit: 0 }, { limit: 1001 }, { limit: 1.5 }, { cursor: 'nonsense' }])
      await user.fails('VAF_INPUT_INVALID', tool, args);
  }
});

verifies('brain:health', async ({ fresh }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'x' });
  const health = await user.ok('svc_health');
  expect(health).toMatchObject({
    status: expect.stringMatching(/^(ok|degraded)$/),
    uptime: expect.any(Number),
    version: expect.any(String),
    brains: expect.any(Array),
    lock: { held: expect.anything(), mutex: expect.any(Object), lease: expect.any(Object) },
    queue: { depth: expect.any(Number), oldestMs: expect.any(Number) },
    index: { rows: expect.any(Number), pendingVectors: 0 },
    git: expect.anything(),
    problems: expect.any(Array),
    timestamp: expect.any(Number),
  });
  expect((health.brains as Fields[]).find(({ name }) => name === brain)).toMatchObject({
    branches: 1,
    files: 1,
    dirty: expect.anything(),
    remote: expect.any(Object),
    openConflicts: 0,
    problems: [],
  });
});

verifies('brain:islands:list', async ({ fresh }) => {
  const { user, brain } = await fresh();
  expect(await user.ok('svc_get_islands')).toMatchObject({ islands: [], count: 0 });
  await user.ok('brain_write', {
    name: 'islands/deploy',
    content: '---\ntype: skill\ntriggers: [deploy, ship it]\ndescription: How to deploy\n---\n# Deploy\n\nSteps.\n',
  });
  await user.ok('brain_write', { name: 'other/none', content: 'no island' });
  expect(await user.ok('svc_get_islands')).toMatchObject({
    count: 1,
    islands: [
      {
        name: 'deploy',
        type: 'skill',
        triggers: ['deploy', 'ship it'],
        enabled: true,
        gated: false,
        brain,
        branch: 'main',
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ],
  });
});

verifies('brain:migration:status', async ({ caller }) => {
  expect(await caller().ok('brain_migration_status')).toEqual({
    markerVersion: 3,
    targetVersion: 3,
    upToDate: true,
    legacy: false,
    guidance: null,
  });
});

verifies(
  'brain:migration:import',
  async () => {
    const legacy = mkdtempSync(join(tmpdir(), 'svc-e2e-legacy-'));
    onTestFinished(() => {
      chmodSync(join(legacy, 'lessons'), 0o755);
      rmSync(legacy, { recursive: true, force: true });
    });
    const sources = { 'identity.md': 'who I was\r\n', 'lessons/one.md': '# One\n', 'lessons/data.json': '{"a":1}' };
    mkdirSync(join(legacy, 'lessons'));
    for (const [path, text] of Object.entries(sources)) writeFileSync(join(legacy, path), text);
    writeFileSync(join(legacy, 'lessons', 'bad name?.md'), 'odd');
    const { place, stop } = await startEmbedded({ SVC_LEGACY_DIR: legacy });
    onTestFinished(stop, 60_000);
    const user = new Caller(place);
    expect(await user.ok('brain_migration_status')).toMatchObject({ markerVersion: 3, upToDate: true, legacy: false });
    const folder = brainFolder(place, 'svc');
    for (const [path, text] of Object.entries(sources)) {
      expect([path, readFileSync(join(folder, path), 'utf8')]).toEqual([path, text]);
      expect(readFileSync(join(legacy, path), 'utf8')).toBe(text);
    }
    expect(git(folder, 'log', '-1', '--format=%s', 'main')).toBe('import legacy layout');
    expect(filesAt(folder, 'main').filter((path) => /^imported\/.+-[0-9a-f]{8}/.test(path)).length).toBe(1);
  },
  { only: 'embedded' },
);
