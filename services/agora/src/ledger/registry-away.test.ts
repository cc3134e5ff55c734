/** While nobody answers for the registry, a hidden topic and one that does not exist are told apart by nothing. */
import { expect, test } from 'vitest';
import { agoraTests } from '../../testing/agora-tests.ts';

const tests = await agoraTests();

test('a hidden topic, vote and thread are answered as those that are not there, also without the registry', async () => {
  const { agentId } = await tests.bed.of('habitat', 'agent_spawn', { team: 'red', name: 'rhea' });
  const scope = { owner: `agent:${String(agentId)}` };
  await tests.bed.call('consensus_create', { topic: 'hidden', options: ['yes', 'no'], scope, agentId });
  const { voteId } = await tests.bed.call('forum_vote', { proposal: 'soup', thread: 'behind', scope }, String(agentId));
  await tests.bed.stopRegistry();
  const said = async (tool: string, args: object) => {
    try {
      return await tests.bed.call(tool, { ...args }, 'stranger');
    } catch (error) {
      return String(error);
    }
  };
  for (const [tool, hidden, absent] of [
    ['consensus_get', { topic: 'hidden' }, { topic: 'absent' }],
    ['consensus_tally', { topic: 'hidden' }, { topic: 'absent' }],
    ['consensus_vote', { topic: 'hidden', choice: 'yes' }, { topic: 'absent', choice: 'yes' }],
    ['forum_castVote', { voteId, choice: 'yes' }, { voteId: 'forum-absent', choice: 'yes' }],
    ['forum_decisions', { thread: 'behind' }, { thread: 'nothing' }],
  ] as const) {
    const answers = await Promise.all([said(tool, hidden), said(tool, absent)]);
    expect(answers[0], tool).toContain('SERVICE_UNAVAILABLE');
    expect(answers[1], tool).toEqual(answers[0]);
  }
});
