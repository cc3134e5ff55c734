import { beforeEach, expect, it } from 'vitest';
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
  for (const who of [ann, bob, nobody]) await who.ok('brain_switch', { name: brain });
});

const query = <Found>(text: string, ...values: unknown[]) =>
  poolClient(bed.database.pool).$queryRawUnsafe<Found[]>(text, ...values);
const nodeNow = () => node;
const ANN: Subject = { workspace: 'acme', userId: 'ann', agentId: 'ann', roles: ['editor'], verified: true };
const operator = testCaller(nodeNow, null);
const ann = testCaller(nodeNow, ANN);
const bob = testCaller(nodeNow, { ...ANN, userId: 'bob', agentId: 'bob' });
const nobody = testCaller(nodeNow, {});
const write = (who: typeof ann, name: string, content = 'x') => who.ok('brain_write', { name, content });
const history = async (who: typeof ann): Promise<Row[]> =>
  (await who.ok('brain_evolution_history'))['history'] as Row[];

it('holds what its own session changed and committed while it went on, and nothing else', async () => {
  await write(ann, 'before');
  const started = await ann.ok('brain_evolution_start', { sessionId: 'spring' });
  expect(started).toEqual({
    started: true,
    session: { id: 'spring', brain, branch: 'main', startedAt: expect.any(Number) },
  });
  expect(await ann.no('brain_evolution_start')).toMatchObject({
    started: false,
    code: 'E_EVOLUTION_ACTIVE',
    session: started['session'],
  });
  await write(ann, 'a');
  await write(ann, 'a', 'y');
  await write(ann, 'a', 'y');
  await write(bob, 'of-bob');
  await ann.ok('brain_delete_file', { name: 'before' });
  const { commit } = await ann.ok('svc_commit', { message: 'work' });
  await ann.ok('brain_evolution_insight', { insight: 'it works' });
  await node.stop();
  node = await bed.start();
  expect(await ann.ok('brain_evolution_status')).toEqual({
    active: true,
    session: started['session'],
    changesCount: 3,
    insightsCount: 1,
  });
  expect((await ann.ok('brain_state'))['session']).toEqual(started['session']);
  expect(await bob.ok('brain_evolution_status')).toMatchObject({ active: false, session: null });
  const ended = await ann.ok('brain_evolution_end');
  const summary = {
    id: 'spring',
    brain,
    branch: 'main',
    by: 'ann',
    startedAt: (started['session'] as Row)['startedAt'],
    endedAt: expect.any(Number),
    durationMs: expect.any(Number),
    changes: 3,
    files: ['a.md', 'before.md'],
    commits: [commit],
  };
  expect(ended).toEqual({ ended: true, summary: { ...summary, insights: 1 } });
  expect(await ann.no('brain_evolution_end')).toMatchObject({ ended: false, code: 'E_EVOLUTION_ABSENT' });
  await write(ann, 'after');
  const insights = [{ insight: 'it works', at: expect.any(Number) }];
  expect(await history(bob)).toEqual([{ ...summary, insights, insightsCount: 1 }]);
  expect(await history(nobody)).toEqual([]);
});

it('begins by itself once, however many insights come at once; 200 are kept and all are counted', async () => {
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, n) =>
      ann.ok('brain_evolution_insight', { insight: `insight ${n}` }, { deadlineAt: Date.now() + 120_000 }),
    ),
  );
  expect(new Set(answers.map(({ session }) => session)).size).toBe(1);
  expect(answers.filter(({ autoStarted }) => autoStarted)).toHaveLength(1);
  expect(new Set(answers.map(({ insights }) => insights)).size).toBe(1000);
  const [session] = await history(ann);
  expect(session).toMatchObject({ insightsCount: 1000, endedAt: null });
  expect(session?.['insights']).toHaveLength(200);
}, 120_000);

it('tells changes of hidden files to nobody, and commits by other names', async () => {
  bed.registry.setPolicy(`brain:${brain}/secret`, { readableBy: ['user:ann'], writableBy: ['user:ann'] });
  await ann.ok('brain_evolution_start');
  await write(ann, 'secret/plan');
  await write(ann, 'open');
  const { commit } = await ann.ok('svc_commit', { message: 'both' });
  await ann.ok('brain_evolution_insight', { insight: `see ${String(commit)}` });
  expect(await history(ann)).toMatchObject([{ changes: 2, files: ['open.md', 'secret/plan.md'], commits: [commit] }]);
  const [session] = await history(bob);
  expect(session).toMatchObject({ changes: 1, files: ['open.md'] });
  expect(session).toMatchObject({ commits: [expect.stringMatching(/^[0-9a-f]{40}$/)] });
  expect(JSON.stringify(session)).not.toContain(String(commit));
  expect(await ann.ok('brain_evolution_end')).toMatchObject({ summary: { changes: 2 } });
});

it('keeps a thousand sessions of a brain; the oldest of whoever has most go first', async () => {
  await bob.ok('brain_evolution_start', { sessionId: 'first of bob' });
  await query(
    `INSERT INTO brain.evolution_sessions (brain_id, id, name, workspace, session, branch, by, started_at)
     SELECT h.id, 'evo_1' || lpad(n::text, 5, '0'), 'old', 'beta', 's', 'main', 'x', now()
     FROM brain.brain_homes h, generate_series(1, 999) n WHERE h.brain = $1`,
    brain,
  );
  await ann.ok('brain_evolution_start', { sessionId: 'one more' });
  expect((await history(bob)).map(({ id }) => id)).toEqual(['one more', 'first of bob']);
  const [found] = await query<{ n: number; first: string }>(
    `SELECT count(*)::int AS n, min(e.id) FILTER (WHERE name = 'old') AS first FROM brain.evolution_sessions e
     JOIN brain.brain_homes h ON h.id = e.brain_id WHERE h.brain = $1`,
    brain,
  );
  expect(found).toEqual({ n: 1000, first: 'evo_100002' });
});

it('keeps a session that goes on, though it is older than those that have ended', async () => {
  await bob.ok('brain_evolution_start', { sessionId: 'goes on' });
  await query(
    `INSERT INTO brain.evolution_sessions (brain_id, id, name, workspace, session, branch, by, started_at, ended_at)
     SELECT h.id, 'evo_z' || lpad(n::text, 5, '0'), 'ended', (SELECT workspace FROM brain.evolution_sessions
       WHERE name = 'goes on' AND brain_id = h.id), 's', 'main', 'x', now(), now()
     FROM brain.brain_homes h, generate_series(1, 999) n WHERE h.brain = $1`,
    brain,
  );
  await ann.ok('brain_evolution_start', { sessionId: 'one more' });
  await write(bob, 'f', 'x');
  expect(await bob.ok('brain_evolution_end')).toMatchObject({ ended: true, summary: { id: 'goes on', changes: 1 } });
});

it('notes nothing of a write that came to nothing, and all of several files that are one step', async () => {
  await ann.ok('brain_evolution_start');
  await ann.no('brain_write', { name: 'x', content: 'x', ifMatch: 'f'.repeat(64) });
  await ann.ok('svc_create_island', { name: 'isle', content: 'x' });
  await Promise.all(Array.from({ length: 20 }, (_, n) => write(ann, `f${n % 4}`, `${n}`)));
  expect(await ann.ok('brain_evolution_end')).toMatchObject({
    summary: { changes: 21, files: ['f0.md', 'f1.md', 'f2.md', 'f3.md', 'islands/isle.md'] },
  });
});

it('comes page by page, and is refused to whom the brain is none', async () => {
  for (const sessionId of ['one', 'two', 'three']) {
    await ann.ok('brain_evolution_start', { sessionId });
    await ann.ok('brain_evolution_end');
  }
  const first = await ann.ok('brain_evolution_history', { limit: 2 });
  expect(first).toMatchObject({ count: 2, history: [{ id: 'three' }, { id: 'two' }] });
  expect(await ann.ok('brain_evolution_history', { limit: 2, cursor: first['nextCursor'] })).toMatchObject({
    count: 1,
    history: [{ id: 'one' }],
  });
  const lost = testCaller(nodeNow, { workspace: 'nowhere', userId: 'x', agentId: 'x', unknownWorkspace: true });
  bed.registry.setPolicy(`brain:${brain}`, { readableBy: ['user:bob'], writableBy: [] });
  for (const [tool, args = {}] of [
    ['brain_evolution_start'],
    ['brain_evolution_end'],
    ['brain_evolution_insight', { insight: 'x' }],
    ['brain_evolution_history'],
    ['brain_evolution_status'],
  ] as const) {
    expect(await ann.no(tool, { ...args })).toEqual({ code: 'BRAIN_LOAD_FAIL' });
    expect(await lost.no(tool, { ...args, brain: 'svc' })).toEqual({ code: 'RLS_DENIED' });
  }
  expect(await nobody.no('brain_evolution_start')).toEqual({ code: 'UNAUTHORIZED' });
});
