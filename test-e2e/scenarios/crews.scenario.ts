/** Crews: spawned whole, working on one budget, voting on each task, and to others not there. */
import { expect } from 'vitest';
import { codeOf, type Fields } from '../client.ts';
import { budgetOf, deltasOf, makeCrew } from '../instruments/crew.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { callerOf } from '../instruments/tenants.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, verifies } from '../verifies.ts';

const TASK = 'svc_scenario_task';
const CREW = 'svc_scenario_crew';
const STATUS = 'svc_scenario_status';

verifies('crews:tasks', async ({ caller, socket }) => {
  const operator = caller();
  // Its name decides whom the seed draws, so it is that of the contract, once for each node.
  const known = await operator.call(STATUS, { crew: 'alpha' });
  const name = codeOf(known) === 'E_SCENARIO_ABSENT' ? 'alpha' : newName('crew');
  const ears = await socket();
  const made = await operator.ok(CREW, { name, agents: 3, budget: 120 });
  expect(made).toMatchObject({
    ok: true,
    created: true,
    crew: name,
    phase: 'ready',
    workspace: `crew-${name}`,
    universe: expect.stringMatching(/^[0-9a-f]{64}$/),
    seed: expect.stringMatching(/^[0-9a-f]{64}$/),
    pool: { limit: 120, spent: 0, pending: 0, available: 120 },
  });
  const roster = made.roster as { id: string; name: string; role: string }[];
  expect(roster.map(({ name: called, role }) => [called, role])).toEqual([
    [`crew-${name}-1`, 'lead'],
    [`crew-${name}-2`, 'member'],
    [`crew-${name}-3`, 'member'],
  ]);
  const first = await operator.ok(TASK, { crew: name, task: 'Read the tide tables' });
  const second = await operator.ok(TASK, { crew: name, task: 'Paint the buoys' }, { gateway: 1 });
  if (name === 'alpha') expect([first.executor, second.executor]).toEqual(['crew-alpha-3', 'crew-alpha-2']);
  expect(first).toMatchObject({
    no: 1,
    cost: 60,
    decision: { winner: 'accept', votes: 3, percentage: 100 },
    quorum: { required: 2, reached: true },
    votes: roster.map(({ id }) => ({ voter: id, outcome: 'accept', basis: 'rule' })),
    pool: { limit: 120, spent: 60, pending: 0, available: 60 },
    phase: 'ready',
  });
  expect(second).toMatchObject({ no: 2, cost: 60, pool: { spent: 120, available: 0 }, phase: 'closed' });
  expect(await operator.refused('E_SCENARIO_BUDGET', TASK, { crew: name, task: 'more' })).toMatchObject({
    ok: false,
    available: 0,
  });
  expect(await operator.ok(STATUS, { crew: name })).toMatchObject({
    phase: 'closed',
    tasks: { done: 2, refused: 0 },
    lastTask: { no: 2, state: 'done', cost: 60, executor: second.executor },
    pool: { limit: 120, spent: 120, pending: 0, available: 0 },
  });
  const executorId = roster.find((one) => one.name === second.executor)?.id;
  const [newest] = await deltasOf(operator, name);
  expect(newest).toMatchObject({ id: (second.delta as Fields).id, changed_by: executorId, by: null });
  expect(JSON.parse(String(newest?.change))).toMatchObject({ task: 'Paint the buoys', decision: second.decision });
  expect(await operator.ok('consensus_get', { topic: second.topic, viewerId: roster[0]?.id })).toMatchObject({
    status: 'passed',
    sealed: true,
  });
  const inbox = await operator.ok('stream_list', { stream: `agent:${executorId}` });
  expect(inbox.items).toMatchObject([{ status: 'completed', task: { crew: name, no: 2, task: 'Paint the buoys' } }]);
  const heard = (one: string, key: string, value: unknown) =>
    ears.until(one, (event) => event.name === one && event[key] === value);
  await heard('scenario:assembled', 'crew', name);
  await heard('escrow:held', 'holdId', `crew:${name}:2`);
  await heard('vote:decided', 'topic', second.topic);
  await heard('resolution:tracked', 'file', `scenario/${name}`);
  await heard('scenario:closed-out', 'taskId', second.taskId);
});

verifies('crews:sizes', async ({ caller }) => {
  const operator = caller();
  for (const agents of [1, 11, 2.5]) await operator.refused('E_SCENARIO_CREW', CREW, { name: newName('c'), agents });
  for (const budget of [2, 100_001, 3.000_000_1]) {
    await operator.refused('E_SCENARIO_BUDGET', CREW, { name: newName('c'), budget });
  }
  for (const name of ['a/b', '', '..', 'x'.repeat(65)]) await operator.refused('E_SCENARIO_NAME', CREW, { name });
  await operator.refused('E_SCENARIO_NAME', STATUS, { crew: 'a/b' });
  await operator.refused('E_SNAPSHOT_UNIVERSE', CREW, { name: newName('c'), universe: '' });
  const { crew } = await makeCrew(operator, { budget: 121, universe: 'acme' });
  for (const task of ['', 'x'.repeat(513)]) await operator.refused('E_SCENARIO_TASK', TASK, { crew, task });
  await operator.refused('E_SCENARIO_ABSENT', TASK, { crew, task: 'x', universe: 'other' });
  await operator.refused('E_SNAPSHOT_UNIVERSE', TASK, { crew, task: 'x', universe: '' });
  await operator.refused('E_SNAPSHOT_UNIVERSE', STATUS, { crew, universe: '' });
  const task = 'x'.repeat(512);
  expect(await operator.ok(TASK, { crew, task, universe: 'acme' })).toMatchObject({ no: 1, cost: 60, task });
  expect(await operator.refused('E_SCENARIO_BUDGET', TASK, { crew, task, cost: 62 })).toMatchObject({ available: 61 });
});

verifies('crews:quarantine', async ({ caller, socket }) => {
  const operator = caller();
  const { crew, roster } = await makeCrew(operator);
  const ears = await socket();
  const [, second] = roster;
  await operator.ok('trust_record', { entityId: second?.id, type: 'quarantine' });
  const refused = await operator.refused('E_SCENARIO_QUARANTINED', TASK, { crew, task: 'x' });
  expect(refused).toMatchObject({ ok: false, members: [second?.id] });
  expect(await operator.ok(STATUS, { crew })).toMatchObject({
    phase: 'quarantined',
    roster: [{ quarantined: false }, { quarantined: true }, { quarantined: false }],
    pool: { spent: 0, pending: 0, available: 120 },
    tasks: { done: 0, refused: 1 },
    lastTask: null,
  });
  await ears.until('scenario:quarantined', (event) => event.name === 'scenario:quarantined' && event['crew'] === crew);
  await operator.ok('trust_record', { entityId: second?.id, type: 'release' });
  expect(await operator.ok(TASK, { crew, task: 'x' })).toMatchObject({ no: 1, phase: 'ready', pool: { spent: 60 } });
  const isOfCrew = ({ holdId }: Fields): boolean => String(holdId).startsWith(`crew:${crew}:`);
  await ears.until('the hold that was taken', (event) => event.name === 'escrow:posted' && isOfCrew(event));
  expect(ears.heard.filter((event) => event.name === 'escrow:held' && isOfCrew(event))).toHaveLength(1);
});

verifies('crews:quorum', async ({ caller, socket }) => {
  const operator = caller();
  const { crew, roster } = await makeCrew(operator);
  const ears = await socket();
  const [first, second, third] = roster;
  for (const one of [first, second]) await operator.ok('agent_kill', { id: one?.id });
  const refused = await operator.refused('E_SCENARIO_NO_QUORUM', TASK, { crew, task: 'x' });
  expect(refused).toMatchObject({ eligible: 1, required: 2 });
  expect(await budgetOf(operator, crew)).toMatchObject({ spent: 0, pending: 0, available: 120 });
  const inbox = await operator.ok('stream_list', { stream: `agent:${third?.id}` });
  expect(inbox.items).toMatchObject([{ status: 'dead', error: { reason: 'E_SCENARIO_NO_QUORUM' } }]);
  await operator.ok('agent_kill', { id: third?.id });
  await operator.refused('E_SCENARIO_DELEGATE', TASK, { crew, task: 'x' });
  expect(await operator.ok(STATUS, { crew })).toMatchObject({
    phase: 'ready',
    roster: [{ alive: false }, { alive: false }, { alive: false }],
    pool: { spent: 0, pending: 0, available: 120 },
    tasks: { done: 0, refused: 2 },
    lastTask: { no: 2, state: 'refused', code: 'E_SCENARIO_DELEGATE' },
  });
  expect(await deltasOf(operator, crew)).toEqual([]);
  await ears.until(
    'scenario:refused',
    (event) => event.name === 'scenario:refused' && event['code'] === 'E_SCENARIO_DELEGATE',
  );
});

verifies('crews:race', async ({ caller }) => {
  const operator = caller();
  const { crew } = await makeCrew(operator);
  const replies = await Promise.all(
    [0, 1].map((gateway) => operator.call(TASK, { crew, task: 'x', cost: 80 }, { gateway })),
  );
  expect(replies.map((reply) => codeOf(reply) ?? 'done').sort()).toEqual(['E_SCENARIO_BUDGET', 'done']);
  expect(await budgetOf(operator, crew)).toMatchObject({ spent: 80, pending: 0, available: 40 });
});

verifies('crews:undone', async ({ place, caller }) => {
  const operator = caller();
  const poor = memberAt(await createMembers(place, 'editor'), 0);
  // A family spawns sixty agents a minute: of the crew that comes last two find room, and the third does not.
  for (const size of [10, 10, 10, 10, 10, 8]) await makeCrew(poor.caller, { agents: size });
  const name = newName('crew');
  const refused = await poor.caller.refused('E_SCENARIO_SPAWN', CREW, { name, agents: 3 });
  expect(refused).toMatchObject({ ok: false, reason: 'E_RATE_LIMIT' });
  await operator.refused('E_SCENARIO_ABSENT', STATUS, { crew: name });
  const { agents } = await operator.ok<{ agents: Fields[] }>('agent_list', { limit: 1000 });
  expect(agents.filter((one) => one.workspace === `crew-${name}`)).toEqual([]);
  expect(await budgetOf(operator, name).catch((error: unknown) => error)).not.toMatchObject({ limit: 120 });
  expect(await operator.ok(CREW, { name, agents: 3 })).toMatchObject({ created: true, workspace: `crew-${name}` });
});

verifies('crews:same', async ({ place, caller }) => {
  const { members } = await createMembers(place, 'editor', 'editor');
  const [one, other] = [memberAt({ workspace: '', members }, 0), memberAt({ workspace: '', members }, 1)];
  const wish = { name: newName('crew'), agents: 2, budget: 10 };
  const replies = await Promise.all([0, 1, 2].map(() => one.caller.ok(CREW, wish)));
  expect(replies.filter(({ created }) => created === true)).toHaveLength(1);
  const again = await one.caller.ok(CREW, wish, { gateway: 1 });
  expect(again).toMatchObject({ created: false, phase: 'ready', pool: { limit: 10, available: 10 } });
  for (const { roster } of replies) expect(roster).toEqual(again.roster);
  await one.caller.refused('E_SCENARIO_NAME', CREW, { ...wish, budget: 11 });
  await other.caller.refused('E_SCENARIO_NAME', CREW, wish);
  await caller().refused('E_SCENARIO_NAME', CREW, { ...wish, name: wish.name.toUpperCase() });
  const key = { headers: { 'idempotency-key': newName('key') } };
  const task = { crew: wish.name, task: 'x' };
  const done = await one.caller.ok(TASK, task, key);
  expect(await one.caller.ok(TASK, task, key)).toEqual(done);
  expect(await one.caller.ok(STATUS, { crew: wish.name })).toMatchObject({ tasks: { done: 1 }, pool: { spent: 5 } });
});

verifies('crews:hidden', async ({ place, caller, socket }) => {
  const operator = caller();
  const { members } = await createMembers(place, 'admin', 'editor', 'viewer');
  const [maker, stranger, viewer] = [0, 1, 2].map((n) => memberAt({ workspace: '', members }, n));
  if (maker === undefined || stranger === undefined || viewer === undefined) throw new Error('a member is missing');
  const { crew, workspace, roster } = await makeCrew(maker.caller);
  const { token } = await operator.ok('svc_habitat_mintToken', { agentId: roster[1]?.id });
  const member = callerOf(place, String(token));
  await maker.caller.ok('svc_habitat_addRole', { workspaceId: workspace, userId: viewer.id, role: 'viewer' });
  const deaf = await socket({ auth: { token: stranger.caller.headers()['x-habitat-token'] ?? '' } });
  await stranger.caller.refused('E_SCENARIO_ABSENT', TASK, { crew, task: 'x' });
  await stranger.caller.refused('E_SCENARIO_ABSENT', STATUS, { crew });
  await viewer.caller.refused('E_SCENARIO_ABSENT', TASK, { crew, task: 'x' });
  expect(await viewer.caller.ok(STATUS, { crew })).toMatchObject({ crew, phase: 'ready' });
  expect(await member.ok(TASK, { crew, task: 'x' })).toMatchObject({ no: 1 });
  expect(await maker.caller.ok(TASK, { crew, task: 'x' })).toMatchObject({ no: 2 });
  const own = await makeCrew(stranger.caller);
  await waitFor(() => deaf.heard.some((event) => event['crew'] === own.crew), {
    what: 'the stranger to hear of its own crew',
  });
  expect(deaf.heard.filter((event) => event['crew'] === crew)).toEqual([]);
});
