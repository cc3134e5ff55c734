import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { REFUSALS } from '@svc/contract/codes.ts';
import type { Subject } from '@svc/contract/subject.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { bedOfFile } from '../../../testing/bed-of-file.ts';
import { testCaller } from '../../../testing/brain-test-bed.ts';

type Row = Record<string, unknown>;

const bed = await bedOfFile();
let node = await bed.start();
let brains = 0;
let brain = '';

beforeEach(async () => {
  brains += 1;
  brain = `b${brains}`;
  await operator.ok('brain_switch', { name: brain, create: true });
  for (const who of [ann, bob, viewer, nobody]) await who.ok('brain_switch', { name: brain });
});

const sql = (text: string, ...values: unknown[]) => poolClient(bed.database.pool).$executeRawUnsafe(text, ...values);
const nodeNow = () => node;
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const operator = testCaller(nodeNow, null);
const ann = testCaller(nodeNow, ANN);
const bob = testCaller(nodeNow, { ...ANN, userId: 'bob', agentId: 'bob' });
const viewer = testCaller(nodeNow, { ...ANN, roles: ['viewer'] });
const nobody = testCaller(nodeNow, {});
/** All but ann may not read `secret/`. */
const hideSecret = () =>
  bed.registry.setPolicy(`brain:${brain}/secret`, { readableBy: ['user:ann'], writableBy: ['user:ann'] });

async function commit(name: string): Promise<string> {
  await ann.ok('brain_write', { name, content: name });
  return String((await ann.ok('svc_commit', { message: name }))['commit']);
}

describe('resolutions', () => {
  const track = (who: typeof ann, file: string, more: object = {}) =>
    who.ok('svc_resolution_track', { file, change: 'keep', ...more });
  /** What lies under ids of brains that there are not. */
  async function orphans(): Promise<Row | undefined> {
    const absent = (column: string) => `${column} NOT IN (SELECT id FROM brain.brain_homes)`;
    const [found] = await poolClient(bed.database.pool).$queryRawUnsafe<Row[]>(
      `SELECT ((SELECT count(*) FROM brain.brain_resolutions WHERE ${absent('brain_id')})
         + (SELECT count(*) FROM brain.brain_links WHERE ${absent('brain_id')}))::int AS notes,
         (SELECT count(*) FROM brain.brain_usage WHERE ${absent('scope')})::int AS counts`,
    );
    return found;
  }
  const listed = async (who: typeof ann, args: object = {}): Promise<Row[]> =>
    (await who.ok('svc_resolution_list', { ...args }))['deltas'] as Row[];

  it('are kept as they were noted, newest first, also after a restart', async () => {
    const noted = await track(ann, 'learnings/x.md');
    expect(noted).toEqual({
      tracked: true,
      id: expect.stringMatching(/^res_/),
      file: 'learnings/x.md',
      change: 'keep',
      changed_by: 'ann',
      by: 'ann',
      branch: 'main',
      changedAt: expect.any(Number),
    });
    await track(operator, 'learnings/x', { changed_by: 'the board', branch: 'side' });
    await track(operator, 'why the gate is shut: a note');
    await node.stop();
    node = await bed.start();
    const { tracked: _tracked, ...first } = noted;
    const second = { file: 'learnings/x', changed_by: 'the board', by: null, branch: 'side' };
    expect(await listed(operator)).toMatchObject([{ changed_by: 'operator' }, second, first]);
    expect(await listed(nobody, { file: 'learnings/x.md' })).toMatchObject([second, first]);
    expect(await listed(nobody, { file: 'learnings/x', branch: 'main' })).toEqual([first]);
    expect(await listed(nobody, { file: 'learnings/y' })).toEqual([]);
  });

  it('come page by page', async () => {
    for (let n = 0; n < 5; n += 1) await track(ann, `f${n}.md`);
    const first = await ann.ok('svc_resolution_list', { limit: 3 });
    expect(first).toMatchObject({ count: 3, deltas: [{ file: 'f4.md' }, { file: 'f3.md' }, { file: 'f2.md' }] });
    const second = await ann.ok('svc_resolution_list', { limit: 3, cursor: first['nextCursor'] });
    expect(second).toMatchObject({ count: 2, deltas: [{ file: 'f1.md' }, { file: 'f0.md' }] });
    expect(second).not.toHaveProperty('nextCursor');
  });

  it('of a hidden file are told to nobody, nor that there are any', async () => {
    hideSecret();
    for (const file of ['open.md', 'secret/a.md', 'secret/b', 'secret/c: no path', 'last.md']) await track(ann, file);
    expect(await listed(ann)).toHaveLength(5);
    const seen = await listed(bob, { limit: 2 });
    expect(seen.map(({ file }) => file)).toEqual(['last.md', 'secret/c: no path']);
    const page = await bob.ok('svc_resolution_list', { limit: 3 });
    expect(page).toMatchObject({ count: 3, deltas: [{}, {}, { file: 'open.md' }] });
    expect(page).not.toHaveProperty('nextCursor');
    for (const file of ['secret/a.md', 'secret/a', 'secret/b.md']) expect(await listed(bob, { file })).toEqual([]);
  });

  it('need the right to write the file, whether or not it is there', async () => {
    hideSecret();
    const args = { change: 'x' };
    for (const file of ['secret/a.md', 'secret/none'])
      expect(await bob.no('svc_resolution_track', { ...args, file })).toEqual({ code: 'RLS_DENIED' });
    expect(await viewer.no('svc_resolution_track', { ...args, file: 'x' })).toEqual({ code: 'FORBIDDEN' });
    expect(await nobody.no('svc_resolution_track', { ...args, file: 'x' })).toEqual({ code: 'UNAUTHORIZED' });
    bed.registry.setPolicy(`brain:${brain}`, { readableBy: [], writableBy: ['user:bob'] });
    expect(await ann.no('svc_resolution_track', { ...args, file: 'a: b' })).toEqual({ code: 'RLS_DENIED' });
    bed.registry.setPolicy(`brain:${brain}`, { readableBy: ['user:bob'], writableBy: ['user:bob'] });
    for (const tool of ['svc_resolution_list', 'svc_citations_list'])
      expect(await ann.no(tool)).toEqual({ code: 'BRAIN_LOAD_FAIL' });
    expect(await listed(bob)).toEqual([]);
  });

  it('stand 100 at once, and as many as there is room for', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, n) => track(ann, `f${n % 7}.md`)));
    expect(await listed(ann, { limit: 1000 })).toHaveLength(100);
    await sql("UPDATE brain.brain_usage SET items = 999995 WHERE kind = 'resolutions'");
    const calls = Array.from({ length: 10 }, (_, n) => ann.ok('svc_resolution_track', { file: `n${n}`, change: 'x' }));
    const answers = await Promise.all(calls);
    expect(answers.filter(({ tracked }) => tracked)).toHaveLength(5);
    expect(answers.find(({ tracked }) => !tracked)).toMatchObject({ code: 'E_QUOTA', limit: 1_000_000 });
    expect(await listed(ann, { limit: 1000 })).toHaveLength(105);
  });

  it.each([
    ['no file', { file: '', change: 'x' }],
    ['a long one', { file: 'x'.repeat(201), change: 'x' }],
    ['no change', { file: 'x', change: '' }],
    ['a long change', { file: 'x', change: 'x'.repeat(4001) }],
    ['a NUL', { file: 'x', change: 'a\0b' }],
    ['half a character', { file: 'x\ud800', change: 'x' }],
    ['half a character in a name', { file: 'x', change: 'x', changed_by: 'x\ud800' }],
  ])('refuse %s', async (_what, args) => {
    await expect(ann.ok('svc_resolution_track', args)).rejects.toThrow('VAF_INPUT_INVALID');
  });

  it('are noted once under a key of the call', async () => {
    const keyed = { idempotencyKey: `once-${brain}` };
    const args = { file: 'x', change: 'x' };
    const first = await ann.ok('svc_resolution_track', args, keyed);
    expect(await ann.ok('svc_resolution_track', args, keyed)).toEqual(first);
    expect(await listed(ann)).toHaveLength(1);
  });

  it('follow a renamed brain, and are gone with a deleted one', async () => {
    await operator.ok('brain_push', { name: 'research', create: true });
    await track(operator, 'x.md', { brain: 'research' });
    await operator.ok('brain_rename', { name: 'research', to: 'archive' });
    expect(await listed(operator, { brain: 'archive' })).toHaveLength(1);
    await ann.ok('brain_link', { brain: 'archive', from: 'a', to: 'b' });
    const { kept } = await operator.ok('brain_delete', { name: 'archive', confirm: 'archive' });
    await operator.ok('brain_push', { name: 'archive', create: true });
    expect(await listed(operator, { brain: 'archive' })).toEqual([]);
    expect(await orphans()).toEqual({ notes: 2, counts: 2 });
    rmSync(join(bed.dataDir, String(kept)), { recursive: true });
    await operator.ok('brain_rename', { name: 'archive', to: 'other' });
    expect(await orphans()).toEqual({ notes: 0, counts: 0 });
  });
});

describe('citations', () => {
  const add = (who: typeof ann, args: object) => who.ok('svc_citations_add', { ...args });
  const format = (who: typeof ann, text: string) => who.ok('svc_citations_format', { commit: text });

  it('know a commit by its beginning, and keep what is none as it is', async () => {
    const id = await commit('a');
    expect(await add(ann, { commit: id.slice(0, 10), context: 'first' })).toEqual({
      added: true,
      id: expect.stringMatching(/^cit_/),
      commit: id,
      context: 'first',
      verified: true,
    });
    expect(await ann.no('svc_citations_add', { commit: id, context: 'first' })).toMatchObject({
      added: false,
      code: 'E_CITED',
      reason: REFUSALS.E_CITED,
      error: REFUSALS.E_CITED,
    });
    await add(ann, { commit: id, context: 'second' });
    expect(await add(operator, { commit: 'release/v1.2' })).toMatchObject({ verified: false, context: '' });
    expect(await nobody.ok('svc_citations_list')).toMatchObject({
      count: 3,
      sources: [
        { commit: 'release/v1.2', by: 'operator' },
        { commit: id, context: 'second', by: 'ann', verified: true, at: expect.any(Number) },
        { context: 'first' },
      ],
    });
    const citation = `[Source: ${id.slice(0, 7)}] second`;
    expect(await format(nobody, id.slice(0, 4))).toEqual({ commit: id, cited: true, citation });
    expect(await format(nobody, 'release')).toMatchObject({ cited: true, citation: '[Source: release]' });
    expect(await format(nobody, 'beef')).toEqual({ commit: 'beef', cited: false, citation: null });
    await expect(format(nobody, 'abc')).rejects.toThrow('VAF_INPUT_INVALID');
  });

  it('ask for more of a name that several have', async () => {
    for (const name of ['note-1', 'note-2', 'note']) await add(ann, { commit: name });
    expect(await ann.no('svc_citations_format', { commit: 'note-' })).toMatchObject({ code: 'E_REF_AMBIGUOUS' });
    expect(await format(ann, 'note')).toMatchObject({ commit: 'note' });
  });

  it('do not tell ids to whom something is hidden, nor whether one was guessed', async () => {
    const id = await commit('secret/a');
    hideSecret();
    await add(ann, { commit: id, context: `as ${id} says` });
    const [source] = (await bob.ok('svc_citations_list'))['sources'] as Row[];
    const handle = String(source?.['commit']);
    expect(handle).toMatch(/^[0-9a-f]{40}$/);
    expect(handle).not.toBe(id);
    expect(source).toMatchObject({ verified: true, context: `as ${handle} says` });
    expect(await format(bob, handle)).toMatchObject({ commit: handle, cited: true });
    for (const guess of [id, id.slice(0, 8)]) expect(await format(bob, guess)).toMatchObject({ cited: false });
    expect(await format(ann, handle)).toMatchObject({ commit: id });
    expect(await add(bob, { commit: id, context: `as ${id} says` })).toMatchObject({ verified: false, commit: id });
    expect(await add(bob, { commit: handle, context: 'mine' })).toMatchObject({ verified: true, commit: handle });
  });

  it('are added by who passes the lease, and while it may write here', async () => {
    const { fence } = await bob.ok('svc_lock', { action: 'acquire' });
    const before = await ann.no('svc_citations_add', { commit: 'x' });
    expect(before).toMatchObject({ added: false, code: 'E_LOCKED', holder: 'bob', expiresAt: expect.any(Number) });
    expect(before).toMatchObject({ reason: before['error'] });
    expect(await bob.no('svc_citations_add', { commit: 'x', fence: Number(fence) + 1 })).toMatchObject({
      code: 'E_FENCED',
    });
    await add(bob, { commit: 'x', fence });
    await bob.ok('brain_push', { name: brain, type: 'public' });
    expect(await bob.no('svc_citations_add', { commit: 'y' })).toMatchObject({
      code: 'E_READ_ONLY',
      reason: REFUSALS.E_READ_ONLY,
    });
    expect(await viewer.no('svc_citations_add', { commit: 'y' })).toEqual({ code: 'FORBIDDEN' });
    await expect(add(ann, { commit: 'a b' })).rejects.toThrow('VAF_INPUT_INVALID');
    await expect(add(ann, {})).rejects.toThrow('VAF_INPUT_INVALID');
  });

  it('are taken as long as there is room', async () => {
    await add(ann, { commit: 'first' });
    await sql("UPDATE brain.brain_usage SET items = 99998 WHERE kind = 'citations'");
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => add(ann, { commit: `next-${n}` })));
    expect(answers.filter(({ added }) => added)).toHaveLength(2);
    expect(answers.find(({ added }) => !added)).toMatchObject({ code: 'E_QUOTA', limit: 100_000 });
    expect(await ann.ok('svc_citations_list')).toMatchObject({ count: 3 });
  });
});
