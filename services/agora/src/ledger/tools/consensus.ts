/** Topics: opened, voted on, counted. */
import type { CallErrorCode } from '@svc/contract/codes.ts';
import { allow } from '@svc/contract/decision.ts';
import { page } from '@svc/contract/params.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { z } from 'zod';
import { readerOf, shownTo } from '../../access.ts';
import { actorOfCall } from '../../acting.ts';
import { defineTool } from '../../deps.ts';
import { pageOfTopics } from '../listing.ts';
import { outcomeOf } from '../domain/topic.ts';
import { decideScope, familyOfAuthor } from '../proposing.ts';
import { LedgerShown, StatusShown, Tally, TopicShown, topicShown } from '../store/views.ts';
import { headerOfNothing, voterFacts } from '../voters.ts';
import {
  actor,
  chosenIn,
  NewTopicName,
  opening,
  Options,
  Outcome,
  readOptions,
  TopicName,
  viewerId,
} from './shapes.ts';

export const CAST_REFUSES = [
  'E_TOPIC_ABSENT',
  'E_SCOPE',
  'E_NOT_REGISTRY',
  'E_QUARANTINED',
  'E_ALREADY_VOTED',
  'E_CLOSED',
  'E_OUTCOME',
  'E_NOT_OWNER',
  'E_QUOTA',
  'E_NO_AGENT',
] as const;
export const OPENING_REFUSES = ['E_COLLISION', 'E_SCOPE', 'E_DEADLINE', 'E_QUOTA', 'E_NO_AGENT'] as const;
export const RAISES = ['FORBIDDEN'] as const satisfies readonly CallErrorCode[];

const create = defineTool({
  name: 'consensus_create',
  area: 'consensus',
  description: 'Opens a topic to vote on: it passes as soon as a quorum agrees, and time closes it otherwise.',
  input: z.strictObject({
    topic: NewTopicName,
    options: Options,
    ...opening,
  }),
  output: LedgerShown,
  access: 'identified',
  effect: 'write',
  refuses: OPENING_REFUSES,
  raises: RAISES,
  example: { topic: 'lunch', options: ['soup', 'salad'], minQuorum: 2 },
  async handler({ topic, options, agentId, ...wish }, context) {
    const { deps, caller } = context;
    const author = actorOfCall(deps, caller, agentId);
    if (author === null) throw context.refuse('E_NO_AGENT');
    const ballot = readOptions(options);
    const scope = await decideScope(deps, caller, { author, scope: wish.scope });
    const said = { topic, author, ballot, ...chosenIn(wish), thread: null, family: familyOfAuthor(caller, author) };
    const outcome = await deps.ledgers.open(context, scope.ok ? allow({ ...said, scope: scope.value }) : scope);
    return settled(context, outcome);
  },
});

const vote = defineTool({
  name: 'consensus_vote',
  area: 'consensus',
  description: 'Votes on a topic; each voter has one ballot, for good.',
  input: z.strictObject({ topic: TopicName, choice: Outcome, agentId: actor('Voter') }),
  output: z.strictObject({ voted: z.literal(true), voter: z.string(), outcome: z.string(), ...Tally.shape }),
  access: 'identified',
  effect: 'write',
  refuses: CAST_REFUSES,
  raises: RAISES,
  dress: { voted: false },
  aliases: { outcome: 'choice' },
  example: { topic: 'lunch', choice: 'soup' },
  async handler({ topic, choice, agentId }, context) {
    const { deps, caller } = context;
    const voter = actorOfCall(deps, caller, agentId);
    if (voter === null) throw context.refuse('E_NO_AGENT');
    const row = await deps.ledgers.read(topic);
    const facts = await voterFacts(deps, caller, row?.header ?? headerOfNothing(topic), voter);
    const wish = { topic, voter, outcome: outcomeOf(choice), signed: null };
    const tally = settled(context, await deps.ledgers.cast(context, wish, row === null ? null : facts));
    return { voted: true as const, voter, outcome: wish.outcome, ...tally };
  },
});

const tally = defineTool({
  name: 'consensus_tally',
  area: 'consensus',
  description: 'Counts a topic.',
  input: z.strictObject({ topic: TopicName, viewerId }),
  output: Tally,
  access: 'public',
  effect: 'read',
  refuses: ['E_TOPIC_ABSENT'],
  example: { topic: 'lunch' },
  async handler({ topic, viewerId: named }, { deps, caller, refuse }) {
    const viewer = readerOf(caller, named);
    const row = await shownTo(deps, caller, { topic, row: await deps.ledgers.read(topic), viewer });
    const counted = row === null ? null : await deps.ledgers.tally(topic);
    if (counted === null) throw refuse('E_TOPIC_ABSENT');
    return counted;
  },
});

const get = defineTool({
  name: 'consensus_get',
  area: 'consensus',
  description: 'A topic with its ballots; null when there is none that the caller may see.',
  input: z.strictObject({ topic: TopicName, viewerId }),
  output: LedgerShown,
  access: 'public',
  effect: 'read',
  refuses: ['E_TOPIC_ABSENT'],
  dress: null,
  example: { topic: 'lunch' },
  async handler({ topic, viewerId: named }, { deps, caller, refuse }) {
    const viewer = readerOf(caller, named);
    const row = await shownTo(deps, caller, { topic, row: await deps.ledgers.read(topic), viewer });
    const shown = row === null ? null : await deps.ledgers.ledger(topic, viewer);
    if (shown === null) throw refuse('E_TOPIC_ABSENT');
    return shown;
  },
});

const list = defineTool({
  name: 'consensus_list',
  area: 'consensus',
  description: 'Topics that the caller may see, the newest first.',
  input: z.strictObject({ viewerId, status: StatusShown.optional(), ...page }),
  output: z.strictObject({ topics: z.array(TopicShown), nextCursor: z.string().optional() }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler({ viewerId: named, status = null, limit, cursor }, { deps, caller }) {
    const position = positionOf(limit, cursor);
    const seen = await pageOfTopics(deps, caller, {
      filter: { status, thread: null },
      viewer: readerOf(caller, named),
      position,
    });
    return { topics: seen.rows.map(topicShown), ...seen.next };
  },
});

export const consensusTools = [create, vote, tally, get, list];
