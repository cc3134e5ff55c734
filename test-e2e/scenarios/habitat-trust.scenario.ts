/** Trust: ratings, what they weigh, and what hangs on them. */
import { expect } from 'vitest';
import { codeOf, type Fields } from '../client.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';

const rating = (entityId: string, over: Fields = {}) => ({ entityId, type: 'task', ...over });

verifies('habitat:trust:unknown', async ({ caller }) => {
  const entityId = newName('nobody');
  const operator = caller();
  for (let time = 0; time < 2; time += 1) {
    const shown = await operator.ok('trust_getScore', { entityId });
    expect(shown).toEqual({ entityId, score: 0.5, karma: 0, known: false, quarantined: false });
    const can = await operator.ok('trust_can', { entityId, action: 'anything' });
    expect(can).toMatchObject({ allowed: true, required: 0.3, because: 'score' });
  }
});

verifies('habitat:trust:weight', async ({ place, caller }) => {
  const workspace = await createMembers(place, 'editor', 'editor');
  const [rater, rated] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const operator = caller();
  const fresh = newName('e');
  expect(await operator.ok('trust_record', rating(fresh))).toMatchObject({
    entityId: fresh,
    score: 0.55,
    delta: 0.05,
    karma: 1,
    quarantined: false,
  });
  await operator.ok('trust_record', rating(rater.id, { type: 'failure' }));
  expect(await rater.caller.ok('trust_getScore', { entityId: rater.id })).toMatchObject({ score: 0.4, karma: -1 });
  expect(await rater.caller.ok('trust_record', rating(rated.id))).toMatchObject({ score: 0.52, delta: 0.02 });
});

verifies('habitat:trust:kin', async ({ place, caller }) => {
  const workspace = await createMembers(place, 'viewer', 'viewer');
  const one = memberAt(workspace, 0);
  const operator = caller();
  await one.caller.refused('E_SELF_TRUST', 'trust_record', rating(one.id));
  const team = newName('t').replaceAll('-', '');
  const { agentId: parent } = await operator.ok('agent_spawn', { team, name: 'parent' });
  const { agentId: child } = await operator.ok('agent_spawn', { team, name: 'child', parent });
  const asParent = await addMember(place, `org-${team}`, 'editor', String(parent));
  const asChild = await addMember(place, `org-${team}`, 'editor', String(child));
  await asParent.caller.refused('E_SELF_TRUST', 'trust_record', rating(asChild.id));
  await asChild.caller.refused('E_SELF_TRUST', 'trust_record', rating(asParent.id));
  await one.caller.refused('E_NOT_RELATED', 'trust_record', rating(asParent.id));
  for (const entityId of [one.id, asParent.id, asChild.id]) {
    expect(await operator.ok('trust_getScore', { entityId })).toMatchObject({ known: false });
  }
});

verifies('habitat:trust:concurrent', async ({ caller, report }) => {
  const entityId = newName('e');
  const operator = caller();
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      operator.ok('trust_record', rating(entityId, { value: 0.001 }), { gateway: index % 2 }),
    ),
  );
  report(`100 ratings of one entity at once in ${Math.round(performance.now() - startedAt)} ms`);
  for (const gateway of [0, 1]) {
    const shown = await operator.ok('trust_getScore', { entityId }, { gateway });
    expect(shown).toMatchObject({ score: 0.6, karma: 100 });
  }
});

verifies('habitat:trust:required', async ({ place, caller }) => {
  const workspace = await createMembers(place, 'admin', 'editor', 'editor');
  const [admin, low, out] = [memberAt(workspace, 0), memberAt(workspace, 1), memberAt(workspace, 2)];
  const operator = caller();
  const action = newName('act');
  const can = (entityId: string) => admin.caller.ok('trust_can', { entityId, action });
  await operator.ok('trust_record', rating(low.id, { value: 1, positive: false }));
  expect(await can(low.id)).toMatchObject({ allowed: false, score: 0, required: 0.3, because: 'score' });
  await admin.caller.fails('FORBIDDEN', 'trust_setRequired', { permission: action, minTrust: 0 });
  expect(await operator.ok('trust_setRequired', { permission: action, minTrust: 0 })).toEqual({
    success: true,
    permission: action,
    minTrust: 0,
  });
  expect(await can(low.id)).toMatchObject({ allowed: true, score: 0, required: 0 });
  await low.caller.fails('FORBIDDEN', 'trust_record', rating(out.id, { type: 'quarantine' }));
  await admin.caller.ok('trust_record', rating(out.id, { type: 'quarantine' }));
  expect(await can(out.id)).toMatchObject({ allowed: false, because: 'quarantined' });
  await out.caller.ok('trust_getScore', { entityId: out.id });
  await out.caller.fails('E_QUARANTINED', 'trust_record', rating(out.id, { type: 'release' }));
  expect(await admin.caller.ok('trust_record', rating(out.id, { type: 'release' }))).toMatchObject({
    quarantined: false,
    delta: 0,
  });
  expect(await can(out.id)).toMatchObject({ allowed: true });
});

verifies('habitat:trust:values', async ({ place, caller }) => {
  const workspace = await createMembers(place, 'editor', 'editor');
  const [rater, rated] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const operator = caller();
  for (const value of [-1, 0, 2, 'NaN', true]) {
    await operator.fails('VAF_INPUT_INVALID', 'trust_record', rating(rated.id, { value }));
  }
  for (const minTrust of [-0.1, 1.1, 'x']) {
    await operator.fails('VAF_INPUT_INVALID', 'trust_setRequired', { permission: newName('p'), minTrust });
  }
  await rater.caller.fails('FORBIDDEN', 'trust_record', rating(rated.id, { value: 0.5 }));
  expect(await operator.ok('trust_getScore', { entityId: rated.id })).toMatchObject({ known: false });
});

verifies('habitat:trust:limits', async ({ place }) => {
  const workspace = await createMembers(place, 'editor', 'editor');
  const [rater, rated] = [memberAt(workspace, 0), memberAt(workspace, 1)];
  const rate = (index: number) => rater.caller.call('trust_record', rating(rated.id), { gateway: index % 2 });
  const codes = (await Promise.all(Array.from({ length: 12 }, (_, index) => rate(index)))).map(codeOf);
  expect(codes.filter((code) => code === null)).toHaveLength(5);
  expect(codes.filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(7);
  await rater.caller.refused('E_RATE_LIMIT', 'trust_record', rating(rated.id));
});

verifies('habitat:trust:leaderboard', async ({ place, caller }) => {
  const workspace = await createMembers(place, 'viewer', 'viewer', 'viewer');
  const [first, second, third] = [memberAt(workspace, 0), memberAt(workspace, 1), memberAt(workspace, 2)];
  const stranger = memberAt(await createMembers(place, 'viewer'), 0);
  const operator = caller();
  for (const [entityId, value] of [
    [first.id, 0.1],
    [second.id, 0.3],
    [third.id, 0.4],
    [stranger.id, 0.5],
  ] as const) {
    await operator.ok('trust_record', rating(entityId, { value }));
  }
  await operator.ok('trust_record', rating(third.id, { type: 'quarantine' }));
  expect(await first.caller.ok('trust_leaderboard')).toEqual({
    leaderboard: [
      { id: second.id, score: 0.8, karma: 1 },
      { id: first.id, score: 0.6, karma: 1 },
    ],
  });
});

verifies('habitat:trust:events', async ({ place, caller, socket }) => {
  const workspace = await createMembers(place, 'viewer', 'viewer');
  const rated = memberAt(workspace, 0);
  const bystander = memberAt(workspace, 1);
  const tokenOf = (member: typeof rated) => ({ token: member.caller.headers()['x-habitat-token'] ?? '' });
  const concerned = await socket({ auth: tokenOf(rated) });
  const other = await socket({ auth: tokenOf(bystander), gateway: 1 });
  const operators = await socket();
  const operator = caller();
  const permission = newName('p');
  await operator.ok('trust_record', rating(rated.id));
  await operator.ok('trust_setRequired', { permission, minTrust: 0.4 });
  const about = (event: Fields) => event.entityId === rated.id || event.permission === permission;
  const told = await concerned.until('the rating', about);
  expect(told).toMatchObject({ name: 'trust:recorded', type: 'task', delta: 0.05, score: 0.55 });
  expect(told).not.toHaveProperty('parties');
  await operators.until('the requirement', (event) => event.permission === permission);
  await operator.ok('trust_record', rating(bystander.id));
  await other.until('its own rating', (event) => event.entityId === bystander.id);
  expect(other.heard.filter(about)).toEqual([]);
  expect(concerned.heard.filter((event) => event.permission === permission)).toEqual([]);
});
