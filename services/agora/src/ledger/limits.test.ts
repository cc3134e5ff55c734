/** What topics hold, and who is asked for, on the real database. */
import { callTool, type Fields } from '@svc/testing/service-bed.ts';
import { expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';
import { MAX_BALLOTS } from './domain/ballot-gates.ts';
import { MAX_OPEN_TOPICS } from './domain/topic.ts';

const tests = await agoraTests();
const { client } = tests;
const sql = (text: string, ...values: unknown[]) => client.$executeRawUnsafe(text, ...values);

const open = (topic: string, over: Fields = {}) =>
  tests.bed.call('consensus_create', { topic, options: ['yes', 'no'], agentId: 'ann', ...over });
const vote = (topic: string, agentId: string) => tests.bed.call('consensus_vote', { topic, agentId, choice: 'yes' });

test('an author has so many open topics, and room again when one is decided', async () => {
  expect(await open('first', { agentId: 'busy', minQuorum: 1 })).toMatchObject({ status: 'open' });
  await sql(
    `INSERT INTO agora.topics (topic, owner, replica, author, family, header, header_hash, sealed, deadline, created_at, hidden,
       status, sums, voided)
     SELECT 'busy-' || n, owner, replica, author, family, header, header_hash, sealed, deadline, created_at, hidden, status, sums,
       voided FROM agora.topics, generate_series(2, ${MAX_OPEN_TOPICS}) n WHERE topic = 'first'`,
  );
  expect(await open('one-more', { agentId: 'busy' })).toMatchObject({ code: 'E_QUOTA', limit: MAX_OPEN_TOPICS });
  expect(await open('of-another')).toMatchObject({ status: 'open' });
  expect(await vote('first', 'ann')).toMatchObject({ status: 'passed' });
  expect(await open('one-more', { agentId: 'busy' })).toMatchObject({ status: 'open' });
});

test('a vote that was refused under a key stays refused, also where the topic has come to be', async () => {
  const cast = async (key: string) => {
    const args = { topic: 'later', agentId: 'ann', choice: 'yes' };
    return (await callTool(tests.bed.platform.bus, 'agora', 'consensus_vote', args, { idempotencyKey: key })).fields;
  };
  expect(await cast('early')).toMatchObject({ voted: false, code: 'E_TOPIC_ABSENT' });
  await open('later', { minQuorum: 2 });
  expect(await cast('early')).toMatchObject({ voted: false, code: 'E_TOPIC_ABSENT' });
  const voted = await cast('in time');
  expect(voted).toMatchObject({ voted: true, votes: 1 });
  expect(await cast('in time')).toEqual(voted);
});

test('a topic has so many ballots', async () => {
  await open('full');
  await sql(`UPDATE agora.topics SET entries = ${MAX_BALLOTS} WHERE topic = 'full'`);
  expect(await vote('full', 'ann')).toMatchObject({ voted: false, code: 'E_QUOTA', limit: MAX_BALLOTS });
});

test('where an operator wants it only who is registered votes', async () => {
  await open('registered', { minQuorum: 3 });
  await tests.bed.askRegistry(true);
  expect(await vote('registered', 'nobody-knows')).toMatchObject({ voted: false, code: 'E_NOT_REGISTRY' });
  const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team: 't', name: 'voter' });
  expect(await vote('registered', String(agentId))).toMatchObject({ voted: true, votes: 1 });
  await tests.bed.askRegistry(null);
  expect(await vote('registered', 'nobody-knows')).toMatchObject({ voted: true, votes: 2 });
});

test('whoever votes on a copy is told who decides', async () => {
  await open('copied');
  await sql(`UPDATE agora.topics SET replica = true, header = replace(header, '"owner":"local"', '"owner":"alpha"')
             WHERE topic = 'copied'`);
  expect(await vote('copied', 'ann')).toMatchObject({ voted: false, code: 'E_NOT_OWNER', owner: 'alpha' });
});

test('a topic that cannot be closed does not keep others open', async () => {
  const deadline = Date.now() + 1500;
  expect(await open('good', { deadline })).toMatchObject({ status: 'open' });
  expect(await open('bad', { deadline: deadline - 200 })).toMatchObject({ status: 'open' });
  await sql(`UPDATE agora.topics SET sums = '{}' WHERE topic = 'bad'`);
  const status = () =>
    client.$queryRawUnsafe(`SELECT topic, status FROM agora.topics WHERE topic IN ('bad', 'good') ORDER BY topic`);
  await expect.poll(status).toEqual([
    { topic: 'bad', status: 'open' },
    { topic: 'good', status: 'expired' },
  ]);
  await sql(`DELETE FROM agora.topics WHERE topic = 'bad'`);
});

test('topics that cannot be closed, however many, do not keep others open', async () => {
  const deadline = Date.now() + 2000;
  expect(await open('among-many-later', { deadline })).toMatchObject({ status: 'open' });
  expect(await open('among-many-broken', { deadline: deadline - 200 })).toMatchObject({ status: 'open' });
  await sql(
    `INSERT INTO agora.topics (topic, owner, replica, author, family, header, header_hash, sealed, deadline, created_at, hidden,
       status, sums, voided)
     SELECT 'stuck-' || n, owner, replica, author, family, header, header_hash, sealed, deadline, created_at, hidden, status, '{}',
       voided FROM agora.topics, generate_series(1, 600) n WHERE topic = 'among-many-broken'`,
  );
  const status = () => client.$queryRawUnsafe(`SELECT status FROM agora.topics WHERE topic = 'among-many-later'`);
  await expect.poll(status, { timeout: 20_000 }).toEqual([{ status: 'expired' }]);
  expect(
    await client.$queryRawUnsafe(
      `SELECT count(*)::int AS stuck FROM agora.topics WHERE topic LIKE 'stuck-%' AND status = 'open'`,
    ),
  ).toEqual([{ stuck: 600 }]);
  await sql(`DELETE FROM agora.topics WHERE topic LIKE 'stuck-%'`);
});

test('nothing is called what nobody could count by', async () => {
  await expect(open('odd', { options: ['__proto__', 'no'] })).rejects.toThrow('VAF_INPUT_INVALID');
  expect(await open('fine', { options: ['constructor', 'no'], minQuorum: 1 })).toMatchObject({ status: 'open' });
  expect(
    await tests.bed.call('consensus_vote', { topic: 'fine', agentId: 'ann', choice: 'constructor' }),
  ).toMatchObject({
    counts: { constructor: 1, no: 0 },
  });
});
