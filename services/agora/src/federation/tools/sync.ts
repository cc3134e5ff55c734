/** Votes on topics of other nodes, and copies of them. */
import { IdentityId } from '@svc/contract/names.ts';
import { familyOf } from '@svc/contract/subject.ts';
import type { ToolContext } from '@svc/contract/tool.ts';
import { z } from 'zod';
import { actorOfCall } from '../../acting.ts';
import { type AgoraDeps, defineTool } from '../../deps.ts';
import { TopicName } from '../domain/messages.ts';
import { outcomeOf } from '../../ledger/domain/topic.ts';
import { PULL_CODES, PUSH_CODES, VOTE_CODES } from '../domain/refusals.ts';
import type { Asking } from '../syncing.ts';

const Node = z.string().min(1).max(64).describe('Name of the other node.');
const Topic = TopicName.describe('Name of the topic.');
const Status = z.enum(['open', 'passed', 'rejected', 'expired']);
const Hash = z.string().describe('Of the whole ledger: equal hashes, equal ledgers.');

const vote = defineTool({
  name: 'agora_vote',
  area: 'sync',
  description:
    'Vote, as the voting agent of this node, on a topic that belongs to another one; repeating it does no harm.',
  input: z.strictObject({
    node: Node,
    topic: Topic,
    outcome: z.string().min(1).max(100).describe('One of the options of the topic.'),
    agentId: IdentityId.optional().describe('Has to be the voting agent of this node, which it is by default.'),
  }),
  output: z.strictObject({
    voted: z.literal(true),
    node: z.string(),
    topic: z.string(),
    voter: z.string(),
    outcome: z.string(),
    duplicate: z.boolean().describe('The same ballot was there already.'),
    tally: z.strictObject({ status: Status, votes: z.int(), hash: Hash }),
  }),
  access: 'identified',
  effect: 'external',
  dress: { voted: false },
  refuses: [...VOTE_CODES, 'E_NO_AGENT'],
  raises: ['FORBIDDEN'],
  aliases: { choice: 'outcome' },
  example: { node: 'beta', topic: 'lunch', outcome: 'yes' },
  async handler({ node, topic, outcome: said, agentId }, { deps, caller, take, refuse }) {
    const outcome = outcomeOf(said);
    const voter = actorOfCall(deps, caller, agentId);
    if (voter === null) throw refuse('E_NO_AGENT');
    const { duplicate, tally } = take(await deps.syncing.vote(node, topic, voter, outcome));
    return { voted: true as const, node, topic, voter, outcome, duplicate, tally };
  },
});

const pull = defineTool({
  name: 'agora_pull',
  area: 'sync',
  description: 'Fetch a topic of another node and check every signature in it; later the same brings it up to date.',
  input: z.strictObject({ node: Node, topic: Topic }),
  output: z.strictObject({
    pulled: z.literal(true),
    node: z.string(),
    topic: z.string(),
    created: z.boolean().describe('It was not here before.'),
    adopted: z.int().describe('Ballots that were not here before.'),
    status: Status,
    hash: Hash,
    verified: z.literal(true),
  }),
  access: 'identified',
  effect: 'external',
  dress: { pulled: false },
  refuses: PULL_CODES,
  example: { node: 'beta', topic: 'lunch' },
  async handler({ node, topic }, call) {
    const pulled = call.take(await call.deps.syncing.pull(node, topic, askingOf(call)));
    return { pulled: true as const, node, topic, ...pulled, verified: true as const };
  },
});

const push = defineTool({
  name: 'agora_push',
  area: 'sync',
  description:
    'Send a topic to another node, which takes of it what its owner signed; one of this node is sent by its author or a member of its scope.',
  input: z.strictObject({ node: Node, topic: Topic }),
  output: z.strictObject({
    pushed: z.literal(true),
    node: z.string(),
    topic: z.string(),
    adopted: z.int().describe('Ballots that were not there before.'),
    created: z.boolean().describe('It was not there before.'),
    status: Status,
    hash: Hash,
  }),
  access: 'identified',
  effect: 'external',
  dress: { pushed: false },
  refuses: PUSH_CODES,
  raises: ['FORBIDDEN'],
  example: { node: 'beta', topic: 'lunch' },
  async handler({ node, topic }, call) {
    const pushed = call.take(await call.deps.syncing.push(node, topic, askingOf(call)));
    return { pushed: true as const, node, topic, ...pushed };
  },
});

function askingOf({ deps, caller }: Pick<ToolContext<AgoraDeps, never, never>, 'deps' | 'caller'>): Asking {
  const agentId = actorOfCall(deps, caller);
  return { caller, agentId, family: familyOf(caller.subject) ?? agentId ?? '' };
}

export const syncTools = [vote, pull, push];
