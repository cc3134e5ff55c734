/** Topics: counted and decided by ballots or by time, weighed, sealed, scoped, and voted on by many at once. */
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields, type Reply } from '../client.ts';
import { inTime } from '../instruments/in-time.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, verifies } from '../verifies.ts';

const RACERS = 50;

async function opened(operator: Caller, over: Fields = {}): Promise<string> {
  const topic = newName('topic');
  await operator.ok('consensus_create', { topic, options: ['yes', 'no'], agentId: 'author', ...over });
  return topic;
}

const votes = (operator: Caller, topic: string, agentId: string, choice: string, gateway = 0) =>
  operator.ok('consensus_vote', { topic, agentId, choice }, { gateway });
const tallyOf = (operator: Caller, topic: string, gateway = 0) =>
  operator.ok('consensus_tally', { topic }, { gateway });

async function closed(operator: Caller, topic: string): Promise<Fields> {
  const isClosed = async () => (await tallyOf(operator, topic)).status !== 'open';
  await waitFor(isClosed, { what: 'the deadline' });
  return tallyOf(operator, topic);
}

verifies('consensus:passed', async ({ caller }) => {
  const operator = caller();
  const topic = await opened(operator);
  expect(await votes(operator, topic, 'ann', 'yes')).toMatchObject({
    voted: true,
    voter: 'ann',
    outcome: 'yes',
    status: 'open',
    percentages: { yes: 100, no: 0 },
    quorum: { required: 2, votes: 1, reached: false, missing: 1 },
    winner: null,
  });
  const decision = { winner: 'yes', votes: 2, percentage: 100 };
  const passed = await votes(operator, topic, 'bob', 'yes', 1);
  expect(passed).toMatchObject({ status: 'passed', winner: 'yes', decision });
  const [one, other] = [await tallyOf(operator, topic), await tallyOf(operator, topic, 2)];
  expect(one).toEqual(other);
  expect(one).toMatchObject({ status: 'passed', hash: passed.hash, decision });
  const ledger = await operator.ok('consensus_get', { topic });
  expect(ledger).toMatchObject({
    hash: passed.hash,
    votes: [
      { voter: 'ann', outcome: 'yes', weight: 1000 },
      { voter: 'bob', outcome: 'yes', weight: 1000 },
    ],
  });
});

verifies('consensus:leader', async ({ caller }) => {
  const operator = caller();
  const topic = await opened(operator, { options: ['a', 'b', 'c'] });
  await votes(operator, topic, 'ann', 'a');
  expect(await votes(operator, topic, 'bob', 'b')).toMatchObject({ status: 'open', leading: null });
  const percentages = { a: 66.67, b: 33.33, c: 0 };
  expect(await votes(operator, topic, 'cy', 'a')).toMatchObject({ status: 'passed', winner: 'a', percentages });
});

verifies('consensus:deadline', async ({ caller }) => {
  const operator = caller();
  const { deadline, tied, single, empty } = await inTime(async (at) => {
    const written = new Date(at).toISOString();
    const topics = {
      tied: await opened(operator, { deadline: at }),
      single: await opened(operator, { deadline: written }),
      empty: await opened(operator, { deadline: at }),
    };
    await votes(operator, topics.tied, 'ann', 'yes');
    await votes(operator, topics.tied, 'bob', 'no');
    await votes(operator, topics.single, 'ann', 'yes');
    return { deadline: at, ...topics };
  });
  expect(await closed(operator, tied)).toMatchObject({
    status: 'rejected',
    deadline,
    decision: { winner: null, votes: 2 },
  });
  for (const topic of [single, empty]) expect(await closed(operator, topic)).toMatchObject({ status: 'expired' });
  for (const topic of [tied, single, empty]) {
    expect(await tallyOf(operator, topic, 1)).toMatchObject({ decision: { decidedAt: deadline } });
  }
  const late = await operator.refused('E_CLOSED', 'consensus_vote', { topic: empty, agentId: 'dee', choice: 'yes' });
  expect(late).toMatchObject({ voted: false, status: 'expired' });
});

verifies('consensus:threshold', async ({ caller }) => {
  const operator = caller();
  const topic = await opened(operator, { options: ['a', 'b'], threshold: 67, minQuorum: 3 });
  for (const [voter, choice] of [
    ['ann', 'a'],
    ['bob', 'a'],
  ] as const)
    await votes(operator, topic, voter, choice);
  const open = await votes(operator, topic, 'cy', 'b');
  expect(open).toMatchObject({ status: 'open', leading: 'a', leadingPercentage: 66.67 });
  expect(await votes(operator, topic, 'dee', 'a')).toMatchObject({ status: 'passed', percentages: { a: 75, b: 25 } });
});

verifies('consensus:trust', async ({ caller }) => {
  const operator = caller();
  const [loved, one, other] = [newName('v'), newName('v'), newName('v')];
  const rated = async (entityId: string, type: string, times: number): Promise<number> => {
    for (let time = 0; time < times; time += 1) await operator.ok('trust_record', { entityId, type });
    return Math.round(1000 * Number((await operator.ok('trust_getScore', { entityId })).score));
  };
  const weights = [await rated(loved, 'task', 6), await rated(one, 'failure', 2), await rated(other, 'failure', 2)];
  const [much = 0, little = 0, least = 0] = weights;
  expect(much).toBeGreaterThan(little + least);
  const topic = await opened(operator, { options: ['a', 'b'], useTrustWeight: true, minQuorum: 3 });
  await votes(operator, topic, one, 'b');
  await votes(operator, topic, other, 'b');
  const passed = await votes(operator, topic, loved, 'a');
  expect(passed).toMatchObject({
    status: 'passed',
    winner: 'a',
    counts: { a: 1, b: 2 },
    weights: { a: much, b: little + least },
    concentrated: true,
  });
  const before = await operator.call('consensus_tally', { topic });
  await rated(loved, 'failure', 4);
  expect((await operator.call('consensus_tally', { topic })).text).toBe(before.text);
});

verifies('consensus:outcome', async ({ caller }) => {
  const operator = caller();
  const topic = await opened(operator);
  const { hash } = await tallyOf(operator, topic);
  const wish = { topic, agentId: 'ann', choice: 'maybe' };
  const refused = await operator.refused('E_OUTCOME', 'consensus_vote', wish);
  expect(refused).toMatchObject({ voted: false, options: ['yes', 'no'] });
  expect(await tallyOf(operator, topic)).toMatchObject({ hash, votes: 0 });
});

verifies('consensus:races', async ({ caller }) => {
  const operator = caller();
  const crowded = await opened(operator, { minQuorum: 1000 });
  const same = await Promise.all(
    Array.from({ length: RACERS }, (_, index) =>
      operator.call(
        'consensus_vote',
        { topic: crowded, agentId: 'ann', choice: index % 2 === 0 ? 'yes' : 'no' },
        { gateway: index },
      ),
    ),
  );
  const codes = same.map((reply) => codeOf(reply) ?? 'voted').sort();
  expect(codes).toEqual([...Array<string>(RACERS - 1).fill('E_ALREADY_VOTED'), 'voted']);
  expect(await tallyOf(operator, crowded)).toMatchObject({ votes: 1 });
  const deciding = await opened(operator);
  await votes(operator, deciding, 'ann', 'yes');
  const last = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      operator.call(
        'consensus_vote',
        { topic: deciding, agentId: `voter-${index}`, choice: 'yes' },
        { gateway: index },
      ),
    ),
  );
  expect(last.map((reply) => codeOf(reply) ?? 'voted').sort()).toEqual([...Array<string>(9).fill('E_CLOSED'), 'voted']);
  expect(await tallyOf(operator, deciding)).toMatchObject({ status: 'passed', votes: 2, decision: { votes: 2 } });
});

/** The reply without what differs between any two calls. */
const blank = ({ status, text }: Reply, topic: string): string =>
  `${status} ${text.replaceAll(topic, '…').replace(/"requestId":"[^"]*"/, '')}`;

verifies('consensus:hidden', async ({ place, socket }) => {
  const { workspace, members } = await createMembers(place, 'editor', 'viewer');
  const [ann, bob] = [memberAt({ workspace, members }, 0), memberAt({ workspace, members }, 1)];
  const stranger = memberAt(await createMembers(place, 'admin'), 0);
  const listener = await socket({ auth: { token: String(stranger.caller.headers()['x-habitat-token']) } });
  expect(await listener.subscribe({ events: ['vote:*'] })).toMatchObject({ ok: true });
  const topic = newName('topic');
  const scope = { owner: `workspace:${workspace}` };
  await ann.caller.ok('consensus_create', { topic, options: ['yes', 'no'], scope });
  for (const step of ['open', 'decided']) {
    for (const [tool, args] of [
      ['consensus_get', {}],
      ['consensus_tally', {}],
      ['consensus_vote', { choice: 'yes' }],
    ] as const) {
      const unknown = newName('topic');
      const [hidden, absent] = [
        await stranger.caller.call(tool, { topic, ...args }),
        await stranger.caller.call(tool, { topic: unknown, ...args }),
      ];
      expect(blank(hidden, topic), `${tool} ${step}`).toBe(blank(absent, unknown));
    }
    const { topics } = await stranger.caller.ok<{ topics: Fields[] }>('consensus_list', { limit: 200 });
    expect(topics.filter((row) => row.topic === topic)).toEqual([]);
    if (step === 'decided') continue;
    await ann.caller.ok('consensus_vote', { topic, choice: 'yes' });
    expect(await bob.caller.ok('consensus_vote', { topic, choice: 'yes' })).toMatchObject({ status: 'passed' });
  }
  const { topics } = await bob.caller.ok<{ topics: Fields[] }>('consensus_list', { status: 'passed', limit: 200 });
  expect(topics).toContainEqual(expect.objectContaining({ topic, scoped: true, votes: 2 }));
  const heard = await opened(stranger.caller, { agentId: undefined, minQuorum: 1 });
  await stranger.caller.ok('consensus_vote', { topic: heard, choice: 'yes' });
  await listener.until('vote:decided', ({ name, topic: of }) => name === 'vote:decided' && of === heard);
  expect(listener.heard.filter((event) => event.topic === topic)).toEqual([]);
  expect(listener.heard.filter((event) => event.topic === heard).map(({ name }) => name)).toEqual([
    'vote:created',
    'vote:cast',
    'vote:decided',
  ]);
});

verifies('consensus:once', async ({ caller }) => {
  const operator = caller();
  const topic = await opened(operator);
  const wish = { topic, agentId: 'ann', choice: 'yes' };
  const headers = { 'idempotency-key': newName('k') };
  const first = await operator.call('consensus_vote', wish, { headers });
  expect((await operator.call('consensus_vote', wish, { headers, gateway: 1 })).text).toBe(first.text);
  const again = await operator.refused('E_ALREADY_VOTED', 'consensus_vote', wish);
  expect(again).toMatchObject({ previous: 'yes' });
  expect(await tallyOf(operator, topic)).toMatchObject({ votes: 1 });
});

verifies('consensus:sealed', async ({ caller, socket }) => {
  const operator = caller();
  const listener = await socket();
  expect(await listener.subscribe({ events: ['vote:*'] })).toMatchObject({ ok: true });
  const { deadline, topic, open } = await inTime(async (at) => {
    const sealed = await opened(operator, { sealed: true, deadline: at });
    for (const [voter, choice] of [
      ['ann', 'yes'],
      ['bob', 'yes'],
      ['cy', 'no'],
    ] as const)
      await votes(operator, sealed, voter, choice);
    const tally = await tallyOf(operator, sealed);
    expect(tally).toMatchObject({ status: 'open', votes: 3, counts: null, percentages: null, leading: null });
    const ledger = await operator.ok<{ votes: Fields[] }>('consensus_get', { topic: sealed, viewerId: 'ann' });
    expect(ledger.votes.map(({ outcome }) => outcome)).toEqual(['yes', null, null]);
    return { deadline: at, topic: sealed, open: tally };
  });
  await listener.until('three ballots', () => listener.heard.filter(({ topic: of }) => of === topic).length >= 4);
  const cast = listener.heard.filter(({ name, topic: of }) => name === 'vote:cast' && of === topic);
  expect(cast.map(({ outcome }) => outcome)).toEqual([null, null, null]);
  const decided = await closed(operator, topic);
  expect(decided).toMatchObject({
    status: 'passed',
    counts: { yes: 2, no: 1 },
    decision: { winner: 'yes', percentage: 66.67, decidedAt: deadline },
  });
  expect(decided.hash).not.toBe(open.hash);
});

verifies('consensus:refused', async ({ place, caller }) => {
  const operator = caller();
  const { workspace, members } = await createMembers(place, 'editor');
  const ann = memberAt({ workspace, members }, 0);
  const topic = await opened(operator);
  const wish = { topic, options: ['yes', 'no'], agentId: 'author' };
  await operator.refused('E_COLLISION', 'consensus_create', wish);
  const fresh = { ...wish, topic: newName('topic') };
  await operator.refused('E_DEADLINE', 'consensus_create', { ...fresh, deadline: Date.now() - 1 });
  const scope = { owner: `workspace:${workspace}`, visibility: 'public' };
  for (const owner of [`workspace:${workspace}`, `workspace:${newName('w')}`, `team:${newName('t')}`]) {
    await operator.refused('E_SCOPE', 'consensus_create', { ...fresh, scope: { owner } });
  }
  for (const wrong of [
    { topic: 'a b' },
    { options: ['yes'] },
    { options: ['yes', ' yes'] },
    { minQuorum: 0 },
    { threshold: 49 },
    { scope: { owner: 'red' } },
  ]) {
    await operator.fails('VAF_INPUT_INVALID', 'consensus_create', { ...fresh, ...wrong });
  }
  await ann.caller.fails('FORBIDDEN', 'consensus_create', fresh);
  await ann.caller.fails('FORBIDDEN', 'consensus_vote', { topic, agentId: 'bob', choice: 'yes' });
  await operator.refused('E_NO_AGENT', 'consensus_create', { topic: fresh.topic, options: wish.options });
  await operator.refused('E_NO_AGENT', 'consensus_vote', { topic, choice: 'yes' });
  const shown = await ann.caller.ok('consensus_create', { topic: newName('topic'), options: wish.options, scope });
  const outsider = { topic: shown.topic, agentId: newName('stranger'), choice: 'yes' };
  await operator.refused('E_SCOPE', 'consensus_vote', outsider);
  expect(await tallyOf(operator, String(shown.topic))).toMatchObject({ votes: 0 });
  const held = newName('held');
  await operator.ok('trust_record', { entityId: held, type: 'quarantine' });
  await operator.refused('E_QUARANTINED', 'consensus_vote', { topic, agentId: held, choice: 'yes' });
  expect(await tallyOf(operator, topic)).toMatchObject({ status: 'open', votes: 0 });
});
