import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { fillBrain, fullDatabase } from '../../../testing/refusing-disk.ts';
import { MAX_WORKTREES } from '../../brain/open-brain.ts';

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

const nodeNow = () => node;
const operator = testCaller(nodeNow, null);
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const ann = testCaller(nodeNow, ANN);
const fileOf = (brain: string): string => join(bed.dataDir, 'brains', brain, 'config.json');
const get = (key: string, args = {}) => operator.ok('svc_config_get', { key, ...args });
const set = (key: string, value: unknown, args = {}) => operator.ok('svc_config_set', { key, value, ...args });

it('a key of a brain stands in its file, and goes before that of the default brain', async () => {
  await set('notes.language', 'en');
  expect(await get('notes.language')).toMatchObject({ value: 'en', source: 'brain', brain: 'svc' });
  await operator.ok('brain_switch', { name: 'other', create: true });
  expect(await get('notes.language')).toMatchObject({ value: 'en', source: 'global', brain: 'other' });
  const told = await set('notes.language', { first: ['de', 'en'] });
  expect(told).toMatchObject({ status: 'set', persisted: true, changed: true, source: 'brain', shadowedBy: null });
  expect(await get('notes.language')).toMatchObject({ value: { first: ['de', 'en'] }, source: 'brain' });
  expect(JSON.parse(readFileSync(fileOf('other'), 'utf8'))).toEqual({ 'notes.language': { first: ['de', 'en'] } });
  expect(await set('notes.language', { first: ['de', 'en'] })).toMatchObject({ changed: false });
  const all = await operator.ok('svc_config_get');
  expect(all).toMatchObject({ config: { 'notes.language': { first: ['de', 'en'] }, 'habitat.maxAgents': 200 } });
  expect(await set('notes.language', null)).toMatchObject({ value: null, source: null, changed: true });
  expect(await get('notes.language', { brain: 'other' })).toMatchObject({ value: 'en', source: 'global' });
  expect(await get('notes.other')).toMatchObject({ value: null, source: null });
});

it('what somebody writes into the file arms nothing of the node, and secrets are not shown', async () => {
  await set('a', 1);
  const written = { 'market.skillsEnabled': true, 'mcp.requireKey': true, 'host.token': 'abc', b: 2, a: null };
  writeFileSync(fileOf('svc'), JSON.stringify(written));
  await expect.poll(() => get('b')).toMatchObject({ value: 2, source: 'brain' });
  expect(await get('market.skillsEnabled')).toMatchObject({ value: false, source: 'default' });
  expect(await get('host.token')).toMatchObject({ value: '[masked]', source: 'brain', masked: true });
  const { config } = await operator.ok('svc_config_get');
  expect(config).toMatchObject({ 'market.skillsEnabled': false, b: 2, 'host.token': '[masked]' });
  expect(config).not.toHaveProperty('a');
  expect(await operator.no('svc_config_set', { key: 'host.token', value: 'x' })).toMatchObject({
    code: 'E_CONFIG_SECRET',
  });
  for (const key of ['__proto__.x', 'sync.remotes', 'habitat.maxagents', 'a..b'])
    expect(await operator.no('svc_config_set', { key, value: 1 })).toMatchObject({ code: 'E_CONFIG_KEY' });
  await set('c', 3);
  expect(JSON.parse(readFileSync(fileOf('svc'), 'utf8'))).toEqual({ ...written, c: 3 });
});

it('a repeat under one key of idempotency is the stored answer', async () => {
  const first = await operator.ok('svc_config_set', { key: 'a', value: 1 }, { idempotencyKey: 'k' });
  await set('a', 2);
  expect(await operator.ok('svc_config_set', { key: 'a', value: 1 }, { idempotencyKey: 'k' })).toEqual(first);
  expect(await get('a')).toMatchObject({ value: 2 });
});

it('whoever may not read the file sees no keys, and whoever may not write it sets none', async () => {
  await set('a', 1);
  bed.registry.setPolicy('brain:svc/config.json', { container: 'beta' });
  expect(await ann.ok('svc_config_get', { key: 'a' })).toMatchObject({ value: null, source: null });
  expect(await ann.no('svc_config_set', { key: 'a', value: 2 })).toMatchObject({ code: 'RLS_DENIED' });
  expect(await get('a')).toMatchObject({ value: 1 });
});

it('refuses with a code what a brain, a disk or a person does not take, and changes nothing', async () => {
  const refused = (args = {}) => operator.no('svc_config_set', { key: 'a', value: 2, ...args });
  await set('a', 1);
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await refused()).toMatchObject({ code: 'E_STATE_WRITE', persisted: false });
  }
  expect(await refused({ value: 'x'.repeat(16 * 1024) })).toMatchObject({ code: 'VAF_INPUT_INVALID' });
  writeFileSync(fileOf('svc'), 'not JSON');
  await expect.poll(() => get('a')).toMatchObject({ value: null });
  expect(await refused()).toMatchObject({ code: 'E_CONFIG_FILE', file: 'config.json' });
  expect(readFileSync(fileOf('svc'), 'utf8')).toBe('not JSON');
  writeFileSync(fileOf('svc'), Buffer.from([0, 255, 254]));
  expect(await refused()).toMatchObject({ code: 'E_CONFLICT' });
  rmSync(fileOf('svc'));
  mkdirSync(fileOf('svc'));
  writeFileSync(join(fileOf('svc'), 'x.md'), 'a folder in its place');
  expect(await refused()).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  rmSync(fileOf('svc'), { recursive: true });
  fillBrain(bed.dataDir, 'svc');
  await expect.poll(() => operator.ok('svc_branch_is_dirty')).toMatchObject({ left: [{ file: 'large.bin' }] });
  expect(await refused()).toMatchObject({ code: 'E_QUOTA' });
});

it('refuses one working tree too many', async () => {
  for (let branch = 0; branch < MAX_WORKTREES; branch += 1) {
    const name = `b${branch}`;
    await operator.ok('svc_create_branch', { name });
    if (branch > 0) await set('a', branch, { branch: name });
  }
  await set('a', 1);
  expect(await operator.no('svc_config_set', { key: 'a', value: 2, branch: 'b0' })).toMatchObject({ code: 'E_LIMIT' });
});
