/** A vote that another service held, entered whole, on the real database. */
import { AGORA } from '@svc/contract/operations.agora.ts';
import { createOperationClient } from '@svc/runtime/operations.ts';
import { expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';

const tests = await agoraTests();

const ballots = [
  { voter: 'ann', outcome: 'yes' },
  { voter: 'bob', outcome: 'no' },
  { voter: 'cy', outcome: 'yes' },
];
const vote = { topic: 'crew-1', options: ['yes', 'no'], minQuorum: 2, scope: null, author: 'ann', ballots };
const universe = () => createOperationClient(tests.bed.platform, AGORA, 'universe');

test('a closeout opens, casts and decides at once, and is the same when it is asked for again', async () => {
  const answers = await Promise.all([1, 2, 3].map(() => universe().closeout(vote)));
  const [first] = answers;
  expect(first).toMatchObject({
    ok: true,
    value: { topic: 'crew-1', status: 'passed', winner: 'yes', votes: 3, percentage: 66.67 },
  });
  for (const answer of answers) expect(answer).toEqual(first);
  const ledger = await tests.bed.call('consensus_get', { topic: 'crew-1' });
  expect(ledger).toMatchObject({ sealed: true, status: 'passed', votes: ballots, decision: { winner: 'yes' } });
  if (first?.ok === true) expect(ledger).toMatchObject({ hash: first.value.hash, deadline: first.value.decidedAt });
});

test('nobody opens a topic under the name of one that a crew will have', async () => {
  const topic = `crew-${'a'.repeat(32)}-2`;
  const wish = { topic, options: ['yes', 'no'], agentId: 'ann' };
  await expect(tests.bed.call('consensus_create', wish)).rejects.toThrow('VAF_INPUT_INVALID');
  expect(await universe().closeout({ ...vote, topic })).toMatchObject({ ok: true, value: { winner: 'yes' } });
  for (const free of ['crew-lunch', `crew-${'a'.repeat(31)}-2`]) {
    expect(await tests.bed.call('consensus_create', { ...wish, topic: free })).toMatchObject({ status: 'open' });
  }
});

test('without a quorum it has expired', async () => {
  const answer = await universe().closeout({ ...vote, topic: 'crew-2', minQuorum: 4 });
  expect(answer).toMatchObject({ ok: true, value: { status: 'expired', winner: null, votes: 3 } });
});

test.each([
  ['another vote of the name', { topic: 'crew-1', minQuorum: 3 }, 'E_COLLISION'],
  ['two ballots of one voter', { topic: 'crew-3', ballots: [...ballots, ...ballots] }, 'E_ALREADY_VOTED'],
  ['what is no option', { topic: 'crew-3', ballots: [{ voter: 'ann', outcome: 'maybe' }] }, 'E_OUTCOME'],
])('%s is refused, and nothing is entered', async (_what, over, code) => {
  expect(await universe().closeout({ ...vote, ...over })).toMatchObject({ ok: false, code });
  expect(await tests.bed.call('consensus_tally', { topic: 'crew-3' })).toMatchObject({ code: 'E_TOPIC_ABSENT' });
});
