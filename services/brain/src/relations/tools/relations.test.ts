import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Subject } from '@svc/contract/subject.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { type BrainNode, type BrainTestBed, openBrainTestBed, testCaller } from '../../../testing/brain-test-bed.ts';

type Row = Record<string, unknown>;

const DAY = 86_400_000;
let bed: BrainTestBed;
let node: BrainNode;
let now = 1_800_000_000_000;
let brains = 0;
let brain = '';
const clock = { now: () => now };
const LATER = { deadlineAt: Number.MAX_SAFE_INTEGER };

beforeAll(async () => {
  bed = await openBrainTestBed();
  node = await bed.start({}, { clock });
});
afterAll(async () => {
  await node.stop();
  await bed[Symbol.asyncDispose]();
});
beforeEach(async () => {
  brains += 1;
  brain = `b${brains}`;
  await operator.ok('brain_switch', { name: brain, create: true });
  for (const who of [ann, bob, viewer]) await who.ok('brain_switch', { name: brain });
});

const sql = (text: string, ...values: unknown[]) => poolClient(bed.database.pool).$executeRawUnsafe(text, ...values);
const nodeNow = () => node;
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const BOB: Subject = { ...ANN, userId: 'bob', agentId: 'bob' };
const as = (subject: Subject | null) => {
  const caller = testCaller(nodeNow, subject);
  return {
    no: (tool: string, args: object = {}) => caller.no(tool, { ...args }, LATER),
    ok: (tool: string, args: object = {}, over: object = {}) => caller.ok(tool, { ...args }, { ...LATER, ...over }),
  };
};
const operator = as(null);
const ann = as(ANN);
const bob = as(BOB);
const viewer = as({ ...ANN, userId: 'vic', agentId: 'vic', roles: ['viewer'] });
const nobody = as({});
/** All but ann may not read `secret/`. */
const hideSecret = () =>
  bed.registry.setPolicy(`brain:${brain}/secret`, { readableBy: ['user:ann'], writableBy: ['user:ann'] });

describe('links', () => {
  const link = (from: string, to: string, more: object = {}) => ann.ok('brain_link', { from, to, ...more });
  const connected = async (who: typeof ann, args: object): Promise<string[]> =>
    ((await who.ok('brain_connections', args))['connections'] as Row[]).map(
      ({ from, to }) => `${String(from)}-${String(to)}`,
    );

  it('are found from both ends, once each, and follow a renamed brain', async () => {
    const first = { linked: true, from: 'a', to: 'b', type: 'relates', existed: false, totalLinks: 1 };
    expect(await link('a', 'b')).toEqual(first);
    expect(await link('a', 'b')).toEqual({ ...first, existed: true });
    expect(await link('a', 'b', { type: 'builds' })).toMatchObject({ existed: false, totalLinks: 2 });
    for (const [from = '', to = ''] of [
      ['b', 'c'],
      ['b', 'd'],
      ['d', 'e'],
    ])
      await link(from, to);
    expect(await nobody.ok('brain_connections', { brain: 'e', in: brain })).toEqual({
      brain: 'e',
      depth: 2,
      connections: [
        { from: 'd', to: 'e', type: 'relates', depth: 1 },
        { from: 'b', to: 'd', type: 'relates', depth: 2 },
      ],
      nodes: 3,
      count: 2,
      truncated: false,
    });
    await operator.ok('brain_rename', { name: brain, to: `${brain}-new` });
    expect(await connected(ann, { brain: 'a', depth: 6 })).toHaveLength(5);
    expect(await ann.ok('brain_connections')).toMatchObject({ brain: `${brain}-new`, nodes: 1, count: 0 });
    await operator.ok('brain_delete', { name: `${brain}-new`, confirm: `${brain}-new` });
    expect(await ann.no('brain_connections', { brain: 'a', in: `${brain}-new` })).toEqual({ code: 'BRAIN_LOAD_FAIL' });
  });

  it('with what is hidden are neither told nor counted, nor made', async () => {
    hideSecret();
    bed.registry.setPolicy('_island:vault', { readableBy: ['user:ann'], writableBy: ['user:ann'] });
    await link('a', 'secret/x.md');
    await link('a', 'secret/y');
    await link('a', 'vault');
    await link('secret/x.md', 'z');
    expect(await link('a', 'b')).toMatchObject({ totalLinks: 5 });
    expect(await connected(bob, { brain: 'a', depth: 6 })).toEqual(['a-b']);
    expect(await bob.ok('brain_link', { from: 'a', to: 'b' })).toMatchObject({ existed: true, totalLinks: 1 });
    for (const to of ['secret/x.md', 'secret/none.md', 'secret/y', 'vault'])
      expect(await bob.no('brain_link', { from: 'a', to })).toEqual({ code: 'RLS_DENIED' });
    expect(await bob.ok('brain_connections', { brain: 'secret/x.md' })).toMatchObject({ nodes: 1, count: 0 });
  });

  it.each([
    ['to itself', { from: 'a', to: 'a' }],
    ['from nothing', { to: 'a' }],
    ['of a bad type', { from: 'a', to: 'b', type: 'Relates' }],
    ['of a long name', { from: 'a'.repeat(201), to: 'b' }],
  ])('are not made %s', async (_what, args) => {
    await expect(ann.ok('brain_link', args)).rejects.toThrow('VAF_INPUT_INVALID');
  });

  it('need the right to change the brain, and room', async () => {
    expect(await viewer.no('brain_link', { from: 'a', to: 'b' })).toEqual({ code: 'FORBIDDEN' });
    expect(await nobody.no('brain_link', { from: 'a', to: 'b' })).toEqual({ code: 'UNAUTHORIZED' });
    await link('a', 'b');
    await sql("UPDATE brain.brain_usage SET items = 9998 WHERE kind = 'links'");
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => link('hub', `n${n}`)));
    expect(answers.filter(({ linked }) => linked)).toHaveLength(2);
    expect(answers.find(({ linked }) => !linked)).toMatchObject({ code: 'E_QUOTA', limit: 10_000 });
    expect(await link('a', 'b')).toMatchObject({ existed: true, totalLinks: 3 });
    bed.registry.setPolicy(`brain:${brain}`, { readableBy: ['user:ann', 'user:bob'], writableBy: ['user:bob'] });
    expect(await ann.no('brain_link', { from: 'c', to: 'd' })).toEqual({ code: 'RLS_DENIED' });
    expect(await ann.no('brain_attend', { name: 'c' })).toEqual({ code: 'RLS_DENIED' });
    bed.registry.setPolicy(`brain:${brain}`, { readableBy: ['user:bob'], writableBy: ['user:bob'] });
    expect(await ann.no('brain_connections', { brain: 'a' })).toEqual({ code: 'BRAIN_LOAD_FAIL' });
  });
});

describe('attention', () => {
  const attend = (who: typeof ann, name: string, score?: number) =>
    who.ok('brain_attend', score === undefined ? { name } : { name, score });
  const attention = async (who: typeof ann): Promise<Row> => (await who.ok('brain_state'))['attention'] as Row;

  it('is half of it after a day, and survives a restart', async () => {
    expect(await attend(ann, 'x', 1)).toEqual({ name: 'x', score: 1, at: now });
    await attend(ann, 'x', 0.5);
    expect(await attend(ann, 'x')).toMatchObject({ score: 0.7 });
    await attend(ann, 'x', 1);
    await attend(ann, 'gone', 0);
    now += DAY;
    await node.stop();
    node = await bed.start({}, { clock });
    expect(await attention(ann)).toEqual({ x: 0.5 });
    now += 6 * DAY;
    expect(await attention(ann)).toEqual({});
    await expect(attend(ann, 'x', 1.5)).rejects.toThrow('VAF_INPUT_INVALID');
  });

  it('adds up when many attend at once, and stays bounded', async () => {
    await Promise.all(Array.from({ length: 4 }, () => attend(ann, 'x')));
    expect(await attention(ann)).toEqual({ x: 0.8 });
    await sql(
      `INSERT INTO brain.brain_attention (brain_id, workspace, name, score, at)
       SELECT h.id, 'acme', 'n' || n, 0.5 + n / 10000.0, to_timestamp($2::float8 / 1000)
       FROM brain.brain_homes h, generate_series(1, 998) n WHERE h.brain = $1`,
      brain,
      now,
    );
    await Promise.all(['p', 'q', 'r'].map((name) => attend(ann, name, 0.9)));
    const names = Object.keys(await attention(ann));
    expect(names).toHaveLength(1000);
    expect(names).toEqual(expect.arrayContaining(['x', 'p', 'q', 'r', 'n3']));
    expect(names).not.toContain('n2');
  });

  it('is that of a workspace: another one neither sees it nor adds to it', async () => {
    const eve = as({ ...ANN, workspace: 'beta', userId: 'eve', agentId: 'eve' });
    await eve.ok('brain_switch', { name: brain });
    await attend(ann, 'plans', 0.5);
    expect(await attention(bob)).toEqual({ plans: 0.5 });
    for (const who of [eve, operator, nobody]) {
      await who.ok('brain_switch', { name: brain });
      expect(await attention(who)).toEqual({});
    }
    expect(await attend(eve, 'plans')).toMatchObject({ score: 0.2 });
    expect(await attend(operator, 'plans', 1)).toMatchObject({ score: 1 });
    expect([await attention(ann), await attention(eve)]).toEqual([{ plans: 0.5 }, { plans: 0.2 }]);
    const lost = as({ ...ANN, workspace: 'nowhere', unknownWorkspace: true });
    expect(await lost.no('brain_attend', { name: 'plans', brain })).toEqual({ code: 'RLS_DENIED' });
  });

  it('for what is hidden is neither told nor given', async () => {
    hideSecret();
    await attend(ann, 'secret/x.md', 1);
    await attend(ann, 'open', 1);
    expect(await attention(ann)).toEqual({ open: 1, 'secret/x.md': 1 });
    expect(await attention(bob)).toEqual({ open: 1 });
    for (const name of ['secret/x.md', 'secret/none'])
      expect(await bob.no('brain_attend', { name })).toEqual({ code: 'RLS_DENIED' });
    expect(await viewer.no('brain_attend', { name: 'x' })).toEqual({ code: 'FORBIDDEN' });
    expect(await nobody.no('brain_attend', { name: 'x' })).toEqual({ code: 'UNAUTHORIZED' });
  });
});

describe('synapses', () => {
  it('grow with each session that goes the same way soon after, and are told of brains that may be seen', async () => {
    const workspace = `w${brains}`;
    const cat = as({ workspace, userId: 'cat', agentId: 'cat', roles: ['editor'], verified: true });
    const dan = as({ workspace, userId: 'dan', agentId: 'dan', roles: ['editor'], verified: true });
    const eve = as({ workspace: `${workspace}-else`, userId: 'eve', agentId: 'eve', roles: ['admin'], verified: true });
    const other = `${brain}-other`;
    await operator.ok('brain_push', { name: other, create: true });
    await cat.ok('brain_switch', { name: brain });
    await cat.ok('brain_push', { name: other });
    await cat.ok('brain_push', { name: other });
    await cat.ok('brain_pop');
    expect(await cat.ok('brain_synapses')).toEqual({
      synapses: { [brain]: { [other]: 1 }, svc: { [brain]: 1 } },
      edges: 2,
    });
    await dan.ok('brain_load', { brains: [brain] });
    await sql("UPDATE brain.brain_sessions SET touched_at = touched_at - interval '11 minutes'");
    await dan.ok('brain_switch', { name: other });
    await dan.ok('brain_switch', { name: brain });
    await Promise.all([cat.ok('brain_push', { name: other }), dan.ok('brain_push', { name: other })]);
    const { synapses } = await dan.ok('brain_state');
    expect(synapses).toMatchObject({ [brain]: { [other]: expect.closeTo(2, 3) }, [other]: { [brain]: 1 } });
    expect(await dan.ok('brain_synapses', { limit: 1 })).toMatchObject({ edges: 1, nextCursor: expect.any(String) });
    bed.registry.setPolicy(`brain:${other}`, { readableBy: ['user:cat'], writableBy: [] });
    expect(await dan.ok('brain_synapses')).toEqual({ synapses: { svc: { [brain]: expect.any(Number) } }, edges: 1 });
    expect(await eve.ok('brain_synapses')).toEqual({ synapses: {}, edges: 0 });
    const before = await nobody.ok('brain_synapses');
    await nobody.ok('brain_switch', { name: brain });
    expect(await nobody.ok('brain_synapses')).toEqual(before);
  });

  it('stay bounded for a workspace, and those of a deleted brain are not told', async () => {
    const workspace = `w${brains}`;
    const cat = as({ workspace, userId: 'cat', agentId: 'cat', roles: ['editor'], verified: true });
    await sql(
      `INSERT INTO brain.brain_synapses (workspace, from_id, to_id, weight, at)
       SELECT $1, 'f' || n / 50, 't' || n, 2 + n, to_timestamp($2::float8 / 1000) FROM generate_series(1, 5000) n`,
      workspace,
      now,
    );
    await cat.ok('brain_switch', { name: brain });
    expect(await cat.ok('brain_synapses')).toEqual({ synapses: { svc: { [brain]: 1 } }, edges: 1 });
    const [count] = await poolClient(bed.database.pool).$queryRawUnsafe<{ n: number; least: number }[]>(
      'SELECT count(*)::int AS n, min(weight) FILTER (WHERE weight > 1) AS least FROM brain.brain_synapses WHERE workspace = $1',
      workspace,
    );
    expect(count).toEqual({ n: 5000, least: 4 });
  });
});

describe('insights', () => {
  const recent = async (who: typeof ann): Promise<Row[]> => (await who.ok('brain_state'))['recentInsights'] as Row[];

  it('are for the workspace, the newest first, also after a restart', async () => {
    const eve = as({ workspace: 'beta', userId: 'eve', agentId: 'eve', roles: ['admin'], verified: true });
    const shared = await ann.ok('brain_share', { insight: 'one', source: 'notes', tags: ['a', 'b'] });
    expect(shared).toEqual({
      shared: true,
      id: expect.stringMatching(/^ins_/),
      insight: 'one',
      source: 'notes',
      tags: ['a', 'b'],
      sharedAt: now,
    });
    for (let n = 0; n < 10; n += 1) await bob.ok('brain_share', { insight: `more ${n}` });
    await node.stop();
    node = await bed.start({}, { clock });
    const found = await recent(ann);
    expect(found).toHaveLength(10);
    expect(found[0]).toMatchObject({ insight: 'more 9', source: null, tags: [] });
    expect(found.at(-1)).toMatchObject({ insight: 'more 0' });
    expect(await recent(eve)).toEqual([]);
    await operator.ok('brain_share', { insight: 'for all' });
    expect(await recent(nobody)).toMatchObject([{ insight: 'for all' }]);
    expect(await nobody.no('brain_share', { insight: 'x' })).toEqual({ code: 'UNAUTHORIZED' });
    const lost = as({ workspace: 'nowhere', userId: 'x', agentId: 'x', unknownWorkspace: true });
    for (const [tool, args] of [['brain_share', { insight: 'x' }], ['brain_state'], ['brain_synapses']] as const)
      expect(await lost.no(tool, args)).toEqual({ code: 'RLS_DENIED' });
    for (const args of [{ insight: '' }, { insight: 'x'.repeat(2001) }, { insight: 'x', tags: Array(17).fill('t') }])
      await expect(ann.ok('brain_share', args)).rejects.toThrow('VAF_INPUT_INVALID');
  });

  it('are kept as far as there is room, the newest ones', async () => {
    const cat = as({ workspace: 'full', userId: 'cat', agentId: 'cat', roles: ['editor'], verified: true });
    await sql(
      `INSERT INTO brain.brain_insights (workspace, id, insight, tags, by, at)
       SELECT 'full', 'ins_0' || lpad(n::text, 6, '0'), 'old', '{}', 'x', now() FROM generate_series(1, 9998) n`,
    );
    await Promise.all(Array.from({ length: 20 }, (_, n) => cat.ok('brain_share', { insight: `new ${n}` })));
    const kept = await poolClient(bed.database.pool).$queryRawUnsafe<{ n: number; first: string }[]>(
      "SELECT count(*)::int AS n, min(id) AS first FROM brain.brain_insights WHERE workspace = 'full'",
    );
    expect(kept).toEqual([{ n: 10_000, first: 'ins_0000019' }]);
  });
});
