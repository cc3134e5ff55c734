/** forum_vote, forum_castVote: a proposal to vote on, also of a thread. */
import { allow, deny } from '@svc/contract/decision.ts';
import { PlainText } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { actorOfCall } from '../../acting.ts';
import { type AgoraDeps, defineTool } from '../../deps.ts';
import { outcomeOf } from '../../ledger/domain/topic.ts';
import { decideScope, familyOfAuthor } from '../../ledger/proposing.ts';
import { Tally } from '../../ledger/store/views.ts';
import { CAST_REFUSES, OPENING_REFUSES, RAISES } from '../../ledger/tools/consensus.ts';
import { actor, chosenIn, opening, Options, Outcome, readOptions, TopicName } from '../../ledger/tools/shapes.ts';
import { headerOfNothing, voterFacts } from '../../ledger/voters.ts';
import { reasonOf, VOTE_PREFIX, voteName } from '../domain/vote-name.ts';
import { tenancyOf } from '../tenancy.ts';

export const Thread = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/,
    'must be 1-128 letters, digits or ._:- and start with a letter or digit',
  )
  .describe('Thread: the id of a post, or any other name.');

/** Those of the threads that are there for the caller: one that is a post is there for who may see the post. */
export async function shownThreads(
  deps: Pick<AgoraDeps, 'registry' | 'posts'>,
  caller: Caller,
  threads: readonly string[],
): Promise<ReadonlySet<string>> {
  const [posts, others] = [threads.filter(isPost), threads.filter((thread) => !isPost(thread))];
  if (posts.length === 0) return new Set(others);
  return new Set([...others, ...(await deps.posts.known(await tenancyOf(deps, caller), posts))]);
}

/**
 * Who sees a vote on a post is who sees the post, unless its author says otherwise. Null = the thread is not there for the caller,
 * `{}` = it is everybody's.
 */
async function scopeOfThread(
  deps: Pick<AgoraDeps, 'registry' | 'posts'>,
  caller: Caller,
  thread: string | null,
): Promise<{ readonly scope?: { readonly owner: string } } | null> {
  if (thread === null || !isPost(thread)) return {};
  const post = await deps.posts.post(await tenancyOf(deps, caller), thread);
  if (post === null) return null;
  return post.workspace === null ? {} : { scope: { owner: `workspace:${post.workspace}` } };
}

const isPost = (thread: string): boolean => thread.startsWith('pub_');

/** What a refusal says beside its code. */
function whyNot(decision: { readonly ok: boolean; readonly code?: string; readonly details?: object }) {
  return decision.code === undefined ? {} : { ...decision.details, reason: reasonOf(decision.code) };
}

const vote = defineTool({
  name: 'forum_vote',
  area: 'forum',
  description:
    'Asks for votes on a proposal; with a thread it is what the thread decides on, one at a time among those who see it.',
  input: z.strictObject({
    proposal: PlainText.min(1).max(500),
    options: Options.optional().describe('Default: yes and no.'),
    thread: Thread.optional(),
    ...opening,
  }),
  output: z.strictObject({
    voted: z.literal(true),
    voteId: z.string(),
    topic: z.string(),
    thread: z.string().nullable(),
    tally: Tally,
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_FORUM_ABSENT', 'E_THREAD_LINKED', ...OPENING_REFUSES],
  raises: RAISES,
  dress: { voted: false },
  example: { proposal: 'Soup for lunch?' },
  async handler({ proposal, options = ['yes', 'no'], thread = null, agentId, ...wish }, call) {
    const { deps, caller } = call;
    const author = actorOfCall(deps, caller, agentId);
    if (author === null) throw call.refuse('E_NO_AGENT', { reason: reasonOf('E_NO_AGENT') });
    const usual = await scopeOfThread(deps, caller, thread);
    const ballot = readOptions(options);
    const scope =
      usual === null
        ? deny('E_FORUM_ABSENT')
        : await decideScope(deps, caller, { author, scope: wish.scope ?? usual.scope });
    const said = {
      topic: voteName(proposal, deps.ids.next('vote').slice('vote_'.length)),
      proposal,
      author,
      ballot,
      ...chosenIn(wish),
      thread,
      family: familyOfAuthor(caller, author),
    };
    const outcome = await deps.votes.open(call, scope.ok ? allow({ ...said, scope: scope.value }) : scope);
    const tally = settled(call, outcome, whyNot(outcome.decision));
    return { voted: true as const, voteId: tally.topic, topic: tally.topic, thread, tally };
  },
});

const castVote = defineTool({
  name: 'forum_castVote',
  area: 'forum',
  description: 'Votes on a proposal of the forum; each voter has one ballot, for good.',
  input: z.strictObject({ voteId: TopicName, choice: Outcome, agentId: actor('Voter') }),
  output: z.strictObject({
    cast: z.literal(true),
    voteId: z.string(),
    voter: z.string(),
    outcome: z.string(),
    result: Tally,
  }),
  access: 'identified',
  effect: 'write',
  refuses: CAST_REFUSES,
  raises: RAISES,
  dress: { cast: false },
  aliases: { outcome: 'choice' },
  example: { voteId: 'forum-soup-for-lunch-0123456789abcdef0123456789abcdef', choice: 'yes' },
  async handler({ voteId, choice, agentId }, call) {
    const { deps, caller } = call;
    const voter = actorOfCall(deps, caller, agentId);
    if (voter === null) throw call.refuse('E_NO_AGENT', { reason: reasonOf('E_NO_AGENT') });
    const row = voteId.startsWith(VOTE_PREFIX) ? await deps.ledgers.read(voteId) : null;
    const facts = await voterFacts(deps, caller, row?.header ?? headerOfNothing(voteId), voter);
    const wish = { topic: voteId, voter, outcome: outcomeOf(choice), signed: null };
    const outcome = await deps.ledgers.cast(call, wish, row === null ? null : facts);
    const result = settled(call, outcome, whyNot(outcome.decision));
    if (result.status !== 'open') await deps.votes.settle(voteId);
    return { cast: true as const, voteId, voter, outcome: wish.outcome, result };
  },
});

export const voteTools = [vote, castVote];
