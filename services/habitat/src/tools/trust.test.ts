import { expect, test } from 'vitest';
import { effectiveScore } from '../domain/trust.ts';
import { enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();

const DAY_MS = 86_400_000;
let named = 0;
function fresh(): string {
  named += 1;
  return `e${named}`;
}
const rate = (entityId: string, over = {}) => node.call('trust_record', { entityId, type: 'task', ...over });
const score = async (entityId: string) => (await node.call('trust_getScore', { entityId })).score;
const count = async (table: string) => {
  const [row] = await node.rows<{ n: number }>(`SELECT count(*)::int AS n FROM habitat.${table}`);
  return row?.n;
};
/** As if what is known of it had been heard that much earlier. */
const age = (entityId: string, ms: number) =>
  node.deps.store.client.$executeRawUnsafe(
    `UPDATE habitat.trust SET last_at = last_at - $2 * interval '1 ms' WHERE entity_id = $1`,
    entityId,
    ms,
  );
const eventsOf = (entityId: string) =>
  node.rows<{ name: string }>(
    `SELECT name FROM habitat.outbox WHERE payload->>'entityId' = $1 ORDER BY written, line`,
    entityId,
  );

test('reading about somebody nobody rated creates nothing', async () => {
  const before = await count('trust');
  const unknown = { entityId: 'nobody', score: 0.5, karma: 0, known: false, quarantined: false };
  expect(await node.call('trust_getScore', { entityId: 'nobody' })).toEqual(unknown);
  expect(await node.call('trust_getScore', { entityId: 'nobody' })).toEqual(unknown);
  expect(await node.call('trust_can', { entityId: 'nobody', action: 'x' })).toEqual({
    entityId: 'nobody',
    action: 'x',
    allowed: true,
    score: 0.5,
    required: 0.3,
    because: 'score',
  });
  expect(await count('trust')).toBe(before);
});

test('an operator counts fully, a peer by its own score', async () => {
  const one = fresh();
  expect(await rate(one)).toMatchObject({
    entityId: one,
    score: 0.55,
    delta: 0.05,
    karma: 1,
    quarantined: false,
    id: expect.stringMatching(/^trr_/),
  });
  const [rater, other] = [await enrol(node, fresh()), await enrol(node, fresh())];
  await rate(rater.id, { positive: false });
  expect(await score(rater.id)).toBe(0.4);
  expect(await rater.call('trust_record', { entityId: other.id, type: 'task' })).toMatchObject({
    score: 0.52,
    delta: 0.02,
  });
  expect(await eventsOf(other.id)).toEqual([{ name: 'trust:recorded' }]);
});

test('a good score fades, a bad one stays, and a rating starts from the faded one', async () => {
  const [good, bad] = [fresh(), fresh()];
  await rate(good, { value: 0.4 });
  await rate(bad, { value: 0.2, positive: false });
  await age(good, 61 * DAY_MS);
  await age(bad, 90 * DAY_MS);
  expect(await score(good)).toBe(0.88);
  expect(await score(bad)).toBe(0.3);
  expect(await rate(good, { value: 0.000_001 })).toMatchObject({ score: 0.880_001, delta: 0.000_001 });
  expect(await score(good)).toBe(0.880_001);
});

test('nobody rates themselves, their parent or children, nor strangers', async () => {
  const parent = await enrol(node, fresh(), { workspace: 'kin' });
  const child = await enrol(node, fresh(), { workspace: 'kin', parent: parent.id });
  const stranger = await enrol(node, fresh(), { workspace: 'elsewhere' });
  const code = (who: typeof parent, whom: string) => who.code('trust_record', { entityId: whom, type: 'task' });
  expect(await code(parent, parent.id)).toBe('E_SELF_TRUST');
  expect(await code(parent, child.id)).toBe('E_SELF_TRUST');
  expect(await code(child, parent.id)).toBe('E_SELF_TRUST');
  expect(await code(parent, stranger.id)).toBe('E_NOT_RELATED');
  expect(await code(parent, 'unheard-of')).toBe('E_NOT_RELATED');
  const bound = await enrol(node, stranger.id, { workspace: 'kin', bound: true });
  await enrol(node, stranger.id, { workspace: 'third' });
  const third = await enrol(node, fresh(), { workspace: 'third' });
  expect(await code(bound, parent.id)).toBeNull();
  expect(await code(bound, third.id)).toBe('E_NOT_RELATED');
  expect(await node.call('trust_getScore', { entityId: stranger.id })).toMatchObject({ known: false });
});

test('the sixth rating of one entity in a day is refused, and so is the 21st in a minute', async () => {
  const rater = await enrol(node, fresh(), { workspace: 'busy' });
  const rated = await Promise.all(Array.from({ length: 5 }, () => enrol(node, fresh(), { workspace: 'busy' })));
  const code = (whom: string) => rater.code('trust_record', { entityId: whom, type: 'task' });
  const first = rated[0]?.id ?? '';
  const raced = await Promise.all(Array.from({ length: 9 }, () => code(first)));
  expect(raced.filter((one) => one === null)).toHaveLength(5);
  expect(raced.filter((one) => one === 'E_RATE_LIMIT')).toHaveLength(4);
  const rest = await Promise.all(rated.flatMap(({ id }) => Array.from({ length: 5 }, () => code(id))));
  expect(rest.filter((one) => one === null)).toHaveLength(15);
  await node.deps.store.client.$executeRawUnsafe(
    `UPDATE habitat.trust_records SET at = at - interval '61 seconds' WHERE "by" = $1`,
    rater.id,
  );
  expect(await code(first)).toBe('E_RATE_LIMIT');
  expect(await code(rated[4]?.id ?? '')).toBeNull();
  await node.deps.store.client.$executeRawUnsafe(
    `UPDATE habitat.trust_records SET at = at - interval '24 hours' WHERE "by" = $1`,
    rater.id,
  );
  expect(await code(first)).toBeNull();
});

test('a quarantine is for operators and admins of the home, and stops every action', async () => {
  const admin = await enrol(node, fresh(), { workspace: 'ward', role: 'admin' });
  const editor = await enrol(node, fresh(), { workspace: 'ward' });
  const outsider = await enrol(node, fresh(), { workspace: 'outside', role: 'admin' });
  const entity = await enrol(node, fresh(), { workspace: 'ward', role: 'admin' });
  const put = (type: string) => ({ entityId: entity.id, type });
  expect(await editor.code('trust_record', put('quarantine'))).toBe('FORBIDDEN');
  expect(await outsider.code('trust_record', put('quarantine'))).toBe('FORBIDDEN');
  expect(await admin.call('trust_record', put('quarantine'))).toMatchObject({
    quarantined: true,
    karma: -1,
    score: 0.45,
  });
  expect(await node.call('trust_can', { entityId: entity.id, action: 'x' })).toMatchObject({
    allowed: false,
    because: 'quarantined',
  });
  expect(await node.registry.trust({ entityId: entity.id })).toEqual({ score: 0.45, quarantined: true });
  expect(await entity.code('trust_record', put('release'))).toBe('E_SELF_TRUST');
  expect(await editor.code('trust_record', put('release'))).toBe('FORBIDDEN');
  expect(await admin.call('trust_record', put('release'))).toMatchObject({ quarantined: false, delta: 0, score: 0.45 });
  expect(await node.audited('entityId', entity.id)).toEqual(['trust:quarantined', 'trust:released']);
  expect(await eventsOf(entity.id)).toEqual([
    { name: 'trust:recorded' },
    { name: 'trust:quarantined' },
    { name: 'trust:released' },
  ]);
  expect(await node.call('trust_record', { entityId: fresh(), type: 'release' })).toMatchObject({
    score: 0.5,
    karma: 0,
  });
});

test('a required score of zero admits everybody but the quarantined', async () => {
  const [low, out] = [fresh(), fresh()];
  await rate(low, { value: 1, positive: false });
  await rate(out, { type: 'quarantine' });
  expect(await node.call('trust_can', { entityId: low, action: 'vote' })).toMatchObject({ allowed: false, score: 0 });
  expect(await node.call('trust_setRequired', { permission: 'vote', minTrust: 0 })).toEqual({
    success: true,
    permission: 'vote',
    minTrust: 0,
  });
  expect(await node.call('trust_can', { entityId: low, action: 'vote' })).toMatchObject({ allowed: true, required: 0 });
  expect(await node.call('trust_can', { entityId: out, action: 'vote' })).toMatchObject({ because: 'quarantined' });
  await node.call('trust_setRequired', { permission: 'vote', minTrust: 0.6 });
  expect(await node.call('trust_can', { entityId: fresh(), action: 'vote' })).toMatchObject({
    allowed: false,
    required: 0.6,
    because: 'score',
  });
  const ann = await enrol(node, fresh(), { role: 'admin' });
  expect(await ann.code('trust_setRequired', { permission: 'vote', minTrust: 0 })).toBe('FORBIDDEN');
});

test('arguments that do not fit change nothing', async () => {
  const entityId = fresh();
  const bad = [
    ...[-1, 0, 2, 'NaN', '0.5'].map((value) => ({ value })),
    { type: 'Task' },
    { type: '' },
    { type: 'quarantine', positive: true },
    { type: 'release', value: 0.5 },
    { note: 'x'.repeat(501) },
    { note: 'a\0b' },
    { entityId: 'anonymous' },
    { entityId: 'ws:x' },
  ];
  for (const over of bad) await expect(rate(entityId, over), JSON.stringify(over)).rejects.toThrow('VAF_INPUT_INVALID');
  for (const minTrust of [-0.1, 1.1]) {
    await expect(node.call('trust_setRequired', { permission: 'x', minTrust })).rejects.toThrow('VAF_INPUT_INVALID');
  }
  const peer = await enrol(node, fresh());
  const other = await enrol(node, fresh());
  expect(await peer.code('trust_record', { entityId: other.id, type: 'task', value: 0.5 })).toBe('FORBIDDEN');
  expect(await node.call('trust_getScore', { entityId })).toMatchObject({ known: false });
  expect(await node.call('trust_getScore', { entityId: other.id })).toMatchObject({ known: false });
});

test('a keyed rating counts once', async () => {
  const entityId = fresh();
  const keyed = () => node.call('trust_record', { entityId, type: 'task' }, { idempotencyKey: 'once' });
  const replies = await Promise.all([keyed(), keyed(), keyed()]);
  expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
  expect(await node.call('trust_getScore', { entityId })).toMatchObject({ score: 0.55, karma: 1 });
});

test('a trade counts once, for its seller, and not with oneself', async () => {
  const seller = fresh();
  const { id: stranger } = await enrol(node, fresh());
  const tell = (tradeId: string, outcome: 'confirmed' | 'refuted' | 'expired', buyer = stranger) =>
    node.registry.recordTrade({ tradeId, seller, buyer, outcome });
  const twice = await Promise.all([tell('t1', 'confirmed'), tell('t1', 'confirmed')]);
  expect(twice.filter(({ recorded }) => recorded)).toHaveLength(1);
  expect(await node.registry.trust({ entityId: seller })).toEqual({ score: 0.52, quarantined: false });
  expect(await tell('t2', 'expired')).toEqual({ recorded: true, score: 0.52 });
  expect(await tell('t2', 'confirmed')).toEqual({ recorded: false, score: 0.52 });
  expect(await tell('t3', 'confirmed', seller)).toEqual({ recorded: false, score: 0.52 });
  expect(await tell('t4', 'refuted')).toEqual({ recorded: true, score: 0.5 });
  expect(await node.call('trust_getScore', { entityId: seller })).toMatchObject({ karma: 0, known: true });
  const untouched = fresh();
  await node.registry.recordTrade({ tradeId: 't5', seller: untouched, outcome: 'cancelled' });
  expect(await node.call('trust_getScore', { entityId: untouched })).toMatchObject({ known: false });
});

test('a buyer who refutes again and again counts once a day, and its family with it', async () => {
  const [seller, friend] = [fresh(), fresh()];
  const { id: buyer } = await enrol(node, fresh());
  const { id: other } = await enrol(node, fresh());
  const tell = (n: string, outcome: 'confirmed' | 'refuted', amount: number, over = {}) =>
    node.registry.recordTrade({ tradeId: `${seller}-${n}`, seller, buyer, outcome, amount, ...over });
  await Promise.all([1, 2, 3, 4, 5].map((n) => tell(`r${n}`, 'refuted', 10)));
  expect(await tell('r6', 'refuted', 10)).toEqual({ recorded: true, score: 0.48 });
  expect(await tell('r7', 'refuted', 10, { buyer: fresh() })).toEqual({ recorded: true, score: 0.48 });
  expect(await tell('r8', 'refuted', 10, { buyer: other })).toEqual({ recorded: true, score: 0.46 });
  await node.deps.store.client.$executeRawUnsafe(
    `UPDATE habitat.trust_records SET at = at - interval '24 hours' WHERE entity_id = $1`,
    seller,
  );
  expect(await tell('r9', 'refuted', 10)).toEqual({ recorded: true, score: 0.44 });
  await Promise.all([1, 2, 3].map((n) => tell(`f${n}`, 'confirmed', 0, { seller: friend })));
  expect(await tell('c1', 'confirmed', 5, { seller: friend })).toEqual({ recorded: true, score: 0.52 });
  expect(await tell('c2', 'confirmed', 5, { seller: friend })).toEqual({ recorded: true, score: 0.52 });
  expect(await tell('c3', 'confirmed', 100, { seller: friend })).toEqual({ recorded: true, score: 0.54 });
});

test('who has traded with somebody still rates it', async () => {
  const [rater, seller] = [await enrol(node, fresh()), await enrol(node, fresh())];
  for (let n = 0; n < 6; n += 1) {
    const what = { tradeId: `${seller.id}-${n}`, seller: seller.id, buyer: rater.id, amount: 100 };
    await node.registry.recordTrade({ ...what, outcome: 'confirmed' });
  }
  const rated = await rater.call('trust_record', { entityId: seller.id, type: 'task' });
  expect(rated).toMatchObject({ delta: 0.025 });
});

test('the leaderboard shows who shares a workspace, by score, karma and id, without the quarantined', async () => {
  const members = await Promise.all(
    ['lb-b', 'lb-a', 'lb-c', 'lb-d', 'lb-q'].map((id) => enrol(node, id, { workspace: 'lb' })),
  );
  const [viewer] = members;
  await enrol(node, 'lb-far', { workspace: 'lb-other' });
  for (const id of ['lb-a', 'lb-b', 'lb-q', 'lb-far']) await rate(id, { value: 0.4 });
  await rate('lb-c', { value: 0.2 });
  await rate('lb-c', { value: 0.2 });
  await rate('lb-d', { value: 0.45 });
  await age('lb-d', 61 * DAY_MS);
  await rate('lb-q', { type: 'quarantine' });
  expect(await viewer?.call('trust_leaderboard')).toEqual({
    leaderboard: [
      { id: 'lb-d', score: 0.93, karma: 1 },
      { id: 'lb-c', score: 0.9, karma: 2 },
      { id: 'lb-a', score: 0.9, karma: 1 },
      { id: 'lb-b', score: 0.9, karma: 1 },
    ],
  });
  expect(await viewer?.call('trust_leaderboard', { limit: 1 })).toMatchObject({ leaderboard: [{ id: 'lb-d' }] });
  const { leaderboard } = await node.call('trust_leaderboard', { limit: 100 });
  const ids = (leaderboard as { id: string }[]).map(({ id }) => id);
  expect(ids).toContain('lb-far');
  expect(ids).not.toContain('lb-q');
  await expect(node.call('trust_leaderboard', { limit: 101 })).rejects.toThrow('VAF_INPUT_INVALID');
});

test('the list fades scores as the rule does', async () => {
  const { client } = node.deps.store;
  await client.$executeRawUnsafe(
    `INSERT INTO habitat.trust (entity_id, score, karma, last_at)
     SELECT 'fade' || n, (n * 7919) % 1000001, 0, clock_timestamp() - ((n * 104729) % 400) * interval '1 day 7 minutes'
     FROM generate_series(1, 1000) n`,
  );
  await client.$executeRawUnsafe(
    `INSERT INTO habitat.roles (workspace_id, user_id, role, granted_by, granted_at)
     SELECT 'fade', id, 'viewer', 'test', now() FROM (SELECT 'fade' || generate_series(1, 1000) AS id) ids`,
  );
  const { readLeaderboard } = await import('../store/trust-rows.ts');
  const listed = await readLeaderboard(client, { everyone: false, identity: 'fade1', bound: null, limit: 1000 });
  const rows = await client.$queryRawUnsafe<{ id: string; score: number; lastAt: number; now: number }[]>(
    `SELECT entity_id AS id, score, (extract(epoch FROM last_at) * 1000)::float8 AS "lastAt",
       (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
     FROM habitat.trust WHERE starts_with(entity_id, 'fade')`,
  );
  const faded = new Map(
    rows.map(({ id, score: stored, lastAt, now }) => [id, effectiveScore({ score: stored, lastAt }, now)]),
  );
  expect(listed).toHaveLength(1000);
  expect(listed.filter(({ id, score: shown }) => faded.get(id) !== shown)).toEqual([]);
  expect(new Set(listed.map(({ score: shown }) => shown)).size).toBeGreaterThan(300);
});
