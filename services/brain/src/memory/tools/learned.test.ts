import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { fillBrain, fullDatabase } from '../../../testing/refusing-disk.ts';

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

it('learns a document, which is found by its key, and by what it says', async () => {
  const learned = await operator.ok('svc_memory_learn', { key: 'go/errors', content: 'wrap with %w' });
  expect(learned).toMatchObject({ learned: true, key: 'go/errors', file: 'go/errors.md', duplicateOf: null });
  expect(await operator.ok('svc_memory_query', { key: 'wrapping errors' })).toMatchObject({
    found: false,
    content: null,
    results: [{ file: 'go/errors.md' }],
  });
  expect(await operator.ok('svc_memory_query', { key: 'go/errors' })).toMatchObject({
    found: true,
    file: 'go/errors.md',
    content: 'wrap with %w',
  });
  expect(await operator.ok('svc_memory_query', { key: 'which "file"? a/b:c\\' })).toMatchObject({ found: false });
  expect(await operator.ok('svc_memory_query', { key: ' ' })).toMatchObject({ found: false, results: [] });
});

it('tells which other file says the same, of those that the caller may read', async () => {
  await operator.ok('svc_memory_learn', { key: 'one', content: 'same' });
  const two = await operator.ok('svc_memory_learn', { key: 'two', content: 'same' });
  expect(two).toMatchObject({ file: 'memory/two.md', duplicateOf: 'memory/one.md', changed: true });
  expect(await operator.ok('svc_memory_learn', { key: 'two', content: 'same' })).toMatchObject({ changed: false });
  bed.registry.setPolicy('brain:svc/memory/one.md', { container: 'beta' });
  expect(await ann.ok('svc_memory_learn', { key: 'three', content: 'same' })).toMatchObject({
    duplicateOf: 'memory/two.md',
  });
});

it('clears what was learned, and says where it can still be read', async () => {
  await operator.ok('svc_memory_learn', { key: 'one', content: 'first' });
  await operator.ok('svc_commit', { message: 'one' });
  await operator.ok('svc_memory_learn', { key: 'two', content: 'second' });
  await operator.ok('svc_memory_learn', { key: 'elsewhere/three', content: 'third' });
  await operator.ok('svc_memory_state', { key: 'k', value: 1 });
  const cleared = await operator.ok('svc_memory_clear', { what: 'learned' });
  expect(cleared).toMatchObject({ cleared: true, state: 0, learned: 2, workspace: null });
  expect(existsSync(join(bed.dataDir, 'brains', 'svc', 'memory', 'two.md'))).toBe(false);
  const at = cleared['commit'];
  for (const [name, content] of [
    ['memory/one', 'first'],
    ['memory/two', 'second'],
  ])
    expect(await operator.ok('brain_read', { name, at })).toMatchObject({ content });
  expect(await operator.ok('brain_read', { name: 'elsewhere/three' })).toMatchObject({ content: 'third' });
  expect(await operator.ok('svc_branch_is_dirty')).toMatchObject({ dirty: true });
  expect(await operator.ok('svc_memory_clear', { what: 'learned' })).toMatchObject({ learned: 0, commit: null });
  expect(await operator.ok('svc_memory_clear')).toMatchObject({ state: 1, learned: 0 });
  expect(await operator.ok('svc_memory_recall', { key: 'k' })).toMatchObject({ found: false });
});

it('clears all once under a key of the call', async () => {
  await operator.ok('svc_memory_learn', { key: 'one', content: 'first' });
  await operator.ok('svc_memory_state', { key: 'k', value: 1 });
  const first = await operator.ok('svc_memory_clear', { what: 'all' }, { idempotencyKey: 'k' });
  expect(first).toMatchObject({ state: 1, learned: 1 });
  await operator.ok('svc_memory_learn', { key: 'one', content: 'again' });
  await operator.ok('svc_memory_state', { key: 'k', value: 2 });
  expect(await operator.ok('svc_memory_clear', { what: 'all' }, { idempotencyKey: 'k' })).toEqual(first);
  expect(await operator.ok('svc_memory_recall', { key: 'k' })).toMatchObject({ found: true });
  expect(await operator.ok('brain_read', { name: 'memory/one' })).toMatchObject({ content: 'again', dirty: true });
});

it('clears nothing that the caller may not write, and tells nobody of it', async () => {
  await operator.ok('svc_memory_learn', { key: 'ours', content: 'x' });
  await operator.ok('svc_memory_learn', { key: 'theirs', content: 'y' });
  bed.registry.setPolicy('brain:svc/memory/theirs.md', { container: 'beta' });
  expect(await ann.ok('svc_memory_stats')).toMatchObject({ learned: { files: 1, bytes: 1 }, workspace: 'acme' });
  expect(await ann.ok('svc_memory_clear', { what: 'learned' })).toMatchObject({ learned: 1 });
  expect(await operator.ok('brain_read', { name: 'memory/theirs' })).toMatchObject({ content: 'y' });
});

it('counts what memory holds', async () => {
  await operator.ok('svc_memory_state', { key: 'a', value: 'xy', ttl: 100_000 });
  await operator.ok('svc_memory_state', { key: 'b', value: 1 });
  await operator.ok('svc_memory_learn', { key: 'one', content: 'four' });
  await operator.ok('svc_memory_address', { data: 'abc' });
  expect(await operator.ok('svc_memory_stats')).toMatchObject({
    workspace: null,
    state: { keys: 2, bytes: 5, expiring: 1 },
    learned: { files: 1, bytes: 4 },
    addresses: { objects: 1, bytes: 3 },
    limits: { keys: 10_000, storedKey: 100 },
  });
  bed.registry.grant('ann', 'acme', 'editor');
  expect(await ann.no('svc_memory_stats', { workspace: 'beta' })).toMatchObject({ code: 'RLS_DENIED' });
});

it('refuses with a code what a brain, a disk or a person does not take, and changes nothing', async () => {
  const learn = (key: string) => operator.no('svc_memory_learn', { key, content: 'x' });
  await operator.ok('svc_memory_learn', { key: 'one', content: 'first' });
  await operator.ok('svc_commit', { message: 'one' });
  {
    await using _disk = await fullDatabase(bed.database);
    expect(await learn('two')).toMatchObject({ code: 'E_STATE_WRITE', learned: false });
    expect(await operator.no('svc_memory_clear', { what: 'learned' })).toMatchObject({ code: 'E_STATE_WRITE' });
  }
  await operator.ok('svc_memory_learn', { key: 'dirty', content: 'x' });
  const lock = join(bed.dataDir, 'brains', 'svc', '.git', 'index.lock');
  writeFileSync(lock, '');
  expect(await operator.no('svc_memory_clear', { what: 'learned' })).toMatchObject({ code: 'E_BUSY', cleared: false });
  rmSync(lock);
  expect(await learn('../up')).toMatchObject({ code: 'VAF_PATH_BLOCKED' });
  bed.registry.setPolicy('_island:ops', { container: 'acme', writableBy: ['user:nobody'] });
  expect(await learn('islands/ops')).toMatchObject({ code: 'E_ISLAND_WRITE_DENIED' });
  fillBrain(bed.dataDir, 'svc');
  await expect.poll(() => operator.ok('svc_branch_is_dirty')).toMatchObject({ left: [{ file: 'large.bin' }] });
  expect(await learn('two')).toMatchObject({ code: 'E_QUOTA' });
  expect(await operator.ok('svc_memory_query', { key: 'two' })).toMatchObject({ found: false });
  expect(await operator.ok('svc_memory_query', { key: 'one' })).toMatchObject({ content: 'first' });
});
