import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';
import { LINEAGE_LIMITS } from '../domain/lineage.ts';

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

const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['viewer'], verified: true };
const EVE: Subject = { ...ANN, workspace: 'beta', userId: 'eve', agentId: 'eve' };
const ann = testCaller(() => node, ANN);
const eve = testCaller(() => node, EVE);
const record = (id: string, parent: string | string[] = [], more = {}) =>
  ann.ok('lineage_record', { id, event: `made ${id}`, parent, ...more });
const sql = (text: string) => poolClient(bed.database.pool).$executeRawUnsafe(text);
const depthOf = (id: string) =>
  poolClient(bed.database.pool).$queryRawUnsafe<unknown[]>('SELECT depth FROM brain.lineage_nodes WHERE id = $1', id);

/** a <- b, a <- c, b <- d, c <- d */
async function diamond(): Promise<void> {
  await record('a');
  await record('b', 'a');
  await record('c', 'a');
  await record('d', ['b', 'c']);
}

it('records what came of what, and lets nothing descend from itself', async () => {
  expect(await record('a', [], { data: { x: 1 } })).toMatchObject({
    recorded: true,
    id: 'a',
    parents: [],
    data: { x: 1 },
    by: 'ann',
    existed: false,
  });
  expect(await record('b', 'made a')).toMatchObject({ parents: ['a'] });
  expect(await record('a', 'b', { data: { x: 1 } })).toMatchObject({ recorded: false, code: 'E_LINEAGE_CYCLE' });
  expect(await record('x', 'x')).toMatchObject({ code: 'E_LINEAGE_CYCLE' });
  expect(await record('b', 'gone')).toMatchObject({ code: 'E_LINEAGE_PARENT', parent: 'gone' });
  expect(await record('b', [], { data: 7 })).toMatchObject({ code: 'E_CONFLICT' });
  expect(await record('b', 'a')).toMatchObject({ existed: true, parents: ['a'] });
  expect(await ann.ok('lineage_stats')).toEqual({
    total: 2,
    edges: 1,
    roots: 1,
    events: { 'made a': 1, 'made b': 1 },
    maxDepth: 1,
    workspace: 'acme',
  });
});

it('means the newest event of a name, and makes ids of its own', async () => {
  await ann.ok('lineage_record', { event: 'built' });
  const { id } = await ann.ok('lineage_record', { event: 'built', parent: 'built' });
  expect(String(id)).toMatch(/^lin_/);
  expect(await ann.ok('lineage_record', { event: 'shipped', parent: 'built' })).toMatchObject({ parents: [id] });
  expect(await ann.ok('lineage_trace', { id: 'shipped' })).toMatchObject({
    ancestors: [{ id, depth: 1 }, { depth: 2 }],
  });
});

it('follows a diamond, nearest first, each once', async () => {
  await diamond();
  expect(await ann.ok('lineage_trace', { id: 'd' })).toMatchObject({
    entry: { id: 'd' },
    ancestors: [
      { id: 'b', depth: 1 },
      { id: 'c', depth: 1 },
      { id: 'a', depth: 2 },
    ],
    edges: [
      ['d', 'b'],
      ['d', 'c'],
      ['b', 'a'],
      ['c', 'a'],
    ],
    truncated: false,
  });
  const near = await ann.ok('lineage_trace', { id: 'd', depth: 1 });
  expect(near).toMatchObject({ ancestors: [{ id: 'b' }, { id: 'c' }], truncated: true });
  expect(near['edges']).toEqual([
    ['d', 'b'],
    ['d', 'c'],
  ]);
  expect(await ann.ok('lineage_trace', { id: 'a', direction: 'down' })).toMatchObject({
    descendants: [{ id: 'b' }, { id: 'c' }, { id: 'd', depth: 2 }],
    truncated: false,
  });
});

it('knows how deep it is, also when what is there gets further parents', async () => {
  await diamond();
  for (const [id, parent] of [
    ['r1', []],
    ['r2', 'r1'],
    ['r3', 'r2'],
  ] as const)
    await record(id, [parent].flat());
  expect(await ann.ok('lineage_stats')).toMatchObject({ roots: 2, maxDepth: 2 });
  expect(await record('a', 'r3')).toMatchObject({ existed: true, parents: ['r3'] });
  expect(await ann.ok('lineage_stats')).toMatchObject({ total: 7, edges: 7, roots: 1, maxDepth: 5 });
  expect(await record('r1', 'd')).toMatchObject({ code: 'E_LINEAGE_CYCLE' });
  expect(await record('e', 'd')).toMatchObject({ parents: ['d'] });
  expect(await ann.ok('lineage_stats')).toMatchObject({ maxDepth: 6 });
});

it('moves what came of a node deeper in one step, and refuses where that is too much for one call', async () => {
  const patiently = () => ({ deadlineAt: Date.now() + 60_000 });
  const give = (wish: object) => ann.ok('lineage_record', { event: 'x', ...wish }, patiently());
  for (const id of ['r', 'long0', 'wide0']) await give({ id });
  const add = async (name: string, count: number, parent: string, depth: string) => {
    await sql(`INSERT INTO brain.lineage_nodes (workspace, id, event, data, depth, edges, by, at)
      SELECT 'acme', '${name}' || n, 'x', 'null', ${depth}, 1, 'ann', now() FROM generate_series(1, ${count}) n`);
    await sql(`INSERT INTO brain.lineage_edges (workspace, child, parent)
      SELECT 'acme', '${name}' || n, ${parent} FROM generate_series(1, ${count}) n`);
  };
  await add('long', 2000, `'long' || (n - 1)`, 'n');
  expect(await give({ id: 'long0', parent: 'r' })).toMatchObject({ existed: true, parents: ['r'] });
  expect(await depthOf('long2000')).toEqual([{ depth: 2001 }]);
  expect(await ann.ok('lineage_stats')).toMatchObject({ maxDepth: 2001 });
  expect(await give({ id: 'r', parent: 'long2000' })).toMatchObject({ code: 'E_LINEAGE_CYCLE' });
  await add('wide', LINEAGE_LIMITS.edgesMoved + 1, `'wide0'`, '1');
  expect(await give({ id: 'wide0', parent: 'r' })).toMatchObject({ code: 'E_QUOTA', recorded: false });
  expect(await ann.ok('lineage_trace', { id: 'wide0' })).toMatchObject({ ancestors: [] });
}, 120_000);

it('keeps workspaces apart', async () => {
  await record('a');
  expect(await eve.no('lineage_trace', { id: 'a' })).toMatchObject({ code: 'E_LINEAGE_ABSENT' });
  expect(await eve.no('lineage_record', { event: 'x', parent: 'a' })).toMatchObject({ code: 'E_LINEAGE_PARENT' });
  expect(await eve.ok('lineage_record', { id: 'a', event: 'other' })).toMatchObject({ existed: false });
  expect(await eve.ok('lineage_stats')).toMatchObject({ total: 1, workspace: 'beta' });
});

it('never closes a ring, however many try at once', async () => {
  for (let pair = 0; pair < 20; pair += 1) {
    const [one, other] = [`one-${pair}`, `other-${pair}`];
    await record(one);
    await record(other);
    const answers = await Promise.all([record(one, other), record(other, one)]);
    expect(answers.map(({ code }) => code).filter((code) => code === 'E_LINEAGE_CYCLE')).toHaveLength(1);
  }
  expect(await ann.ok('lineage_stats')).toMatchObject({ total: 40, edges: 20, roots: 20 });
});

it('takes as much as there is room for, and no more', async () => {
  await record('a');
  await sql(`UPDATE brain.lineage_graphs SET nodes = ${LINEAGE_LIMITS.nodes - 2}`);
  const answers = await Promise.all(Array.from({ length: 8 }, () => ann.ok('lineage_record', { event: 'x' })));
  expect(answers.filter(({ recorded }) => recorded)).toHaveLength(2);
  expect(answers.find(({ recorded }) => recorded === false)).toMatchObject({ code: 'E_QUOTA' });
  await sql('UPDATE brain.lineage_graphs SET nodes = 3');
  await sql(`UPDATE brain.lineage_nodes SET edges = ${LINEAGE_LIMITS.edges} WHERE id = 'a'`);
  expect(await record('b', 'a')).toMatchObject({ code: 'E_QUOTA' });
  await expect(record('b', [], { data: 'x'.repeat(64 * 1024) })).rejects.toThrow('VAF_INPUT_INVALID');
});

it('shows no more than an answer carries', async () => {
  const data = 'x'.repeat(60_000);
  let parent: string[] = [];
  for (let step = 0; step < 20; step += 1) {
    const { id } = await ann.ok('lineage_record', { event: 'long', data, parent });
    parent = [String(id)];
  }
  const { ancestors, truncated } = await ann.ok('lineage_trace', { id: 'long', depth: 100 });
  expect(ancestors).toHaveLength(17);
  expect(truncated).toBe(true);
});

it('is of nobody where there is no such workspace, so that whoever makes it later inherits nothing', async () => {
  const lost = testCaller(() => node, { ...ANN, workspace: 'nowhere', unknownWorkspace: true });
  for (const [tool, args] of [
    ['lineage_record', { event: 'planted' }],
    ['lineage_trace', { id: 'planted' }],
    ['lineage_stats', {}],
  ] as const)
    expect(await lost.no(tool, args)).toEqual({ code: 'RLS_DENIED' });
  const maker = testCaller(() => node, { ...ANN, workspace: 'nowhere' });
  expect(await maker.ok('lineage_stats')).toMatchObject({ total: 0 });
});
