/** forum_decisions, forum_thread_links: what threads decide on, and what they decided. */
import { encodeCursor, page } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { z } from 'zod';
import { readable, readerOf, shownTo } from '../../access.ts';
import { type AgoraDeps, defineTool } from '../../deps.ts';
import type { TopicRow } from '../../ledger/store/topic-rows.ts';
import { LedgerShown, StatusShown } from '../../ledger/store/views.ts';
import { holdOf } from '../domain/vote-name.ts';
import { conditionOf, type VoteRow } from '../vote-store.ts';
import { shownThreads, Thread } from './votes.ts';

type Deps = Pick<AgoraDeps, 'registry' | 'posts' | 'ledgers'>;

/** Topics of the votes that the caller may see, as they stand now, by name; it takes no more statements for many than for one. */
async function shownTopics(
  deps: Deps,
  caller: Caller,
  votes: readonly VoteRow[],
): Promise<ReadonlyMap<string, TopicRow>> {
  const threads = new Set(votes.flatMap(({ thread }) => thread ?? []));
  const shown = await shownThreads(deps, caller, [...threads]);
  const seen = votes.filter(({ thread }) => thread === null || shown.has(thread));
  const rows = await deps.ledgers.readAll(seen.map(({ topic }) => topic));
  const readableRows = await readable(deps, caller, { rows: [...rows.values()], viewer: readerOf(caller) });
  return new Map(readableRows.map((row) => [row.header.topic, row]));
}

const { decision: DecisionShown, votes: VotesShown } = LedgerShown.shape;

const decisions = defineTool({
  name: 'forum_decisions',
  area: 'forum',
  description: 'What a thread decides on or has decided, who voted what, and the record of it in the ledger of money.',
  input: z.strictObject({ thread: Thread }),
  output: z.strictObject({
    ok: z.literal(true),
    thread: z.string(),
    topic: z.string(),
    proposal: z.string(),
    author: z.string(),
    ledger: z.strictObject({
      status: StatusShown,
      ballot: z.array(z.string()),
      minQuorum: z.int(),
      hash: z.string(),
    }),
    votes: z.array(VotesShown.element.omit({ weight: true })),
    holds: z.array(
      z.strictObject({
        holdId: z.string(),
        held: z.boolean(),
        condition: z
          .strictObject({
            type: z.literal('forum-vote'),
            topic: z.string(),
            thread: z.string().nullable(),
            author: z.string(),
          })
          .nullable(),
      }),
    ),
    earlier: z.array(z.string()).describe('Topics of the votes before, the newest first.'),
    decision: DecisionShown,
    outcome: z.string().nullable().optional(),
  }),
  access: 'public',
  effect: 'read',
  refuses: ['E_FORUM_ABSENT'],
  dress: { ok: false },
  example: { thread: 't1' },
  async handler({ thread }, { deps, caller, refuse }) {
    const viewer = readerOf(caller);
    const votes = await deps.votes.ofThread(thread);
    if (votes.length === 0) await shownTo(deps, caller, { topic: thread, row: null, viewer });
    const shown = await shownTopics(deps, caller, votes);
    const [latest, ...before] = votes.filter(({ topic }) => shown.has(topic));
    const ledger = latest === undefined ? null : await deps.ledgers.ledger(latest.topic, viewer);
    if (latest === undefined || ledger === null) throw refuse('E_FORUM_ABSENT');
    const { topic, proposal } = latest;
    await deps.votes.settle(topic);
    const held = await deps.votes.isHeld(topic);
    const { status, ballot, minQuorum, hash, author, decision } = ledger;
    const condition = held === null ? null : conditionOf({ topic, thread, author });
    return {
      ok: true as const,
      thread,
      topic,
      proposal,
      author,
      ledger: { status, ballot, minQuorum, hash },
      votes: ledger.votes.map(({ voter, outcome, votedAt }) => ({ voter, outcome, votedAt })),
      holds: [{ holdId: holdOf(topic), held: held === true, condition }],
      earlier: before.map((vote) => vote.topic),
      ...(decision === undefined ? {} : { decision, outcome: decision.winner }),
    };
  },
});

const Link = z.strictObject({
  thread: z.string(),
  topic: z.string(),
  proposal: z.string(),
  state: z.enum(['open', 'decided']),
  status: StatusShown,
  deadline: z.number(),
  decidedAt: z.number().optional(),
});

function linkOf({ thread, topic, proposal }: VoteRow, { status, header, decision }: TopicRow): z.output<typeof Link> {
  return {
    thread: thread ?? '',
    topic,
    proposal,
    state: status === 'open' ? 'open' : 'decided',
    status,
    deadline: header.deadline,
    ...(decision === null ? {} : { decidedAt: decision.decision.decidedAt }),
  };
}

const READ_AT_ONCE = 200;
/** Of links that the caller may not see; then the page ends, with a cursor to go on from. */
const MOST_READ = 2000;

const links = defineTool({
  name: 'forum_thread_links',
  area: 'forum',
  description: 'Threads and the votes on them that the caller may see, the newest first.',
  input: z.strictObject({ ...page }),
  output: z.strictObject({ links: z.array(Link), nextCursor: z.string().optional() }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler({ limit, cursor }, { deps, caller }) {
    const position = positionOf(limit, cursor);
    if (position.after !== null && !/^\d{1,18}$/.test(position.after)) {
      throw invalidArguments([{ path: 'cursor', message: 'is not a cursor' }]);
    }
    const found: z.output<typeof Link>[] = [];
    let { after } = position;
    for (let read = 0; read < MOST_READ; read += READ_AT_ONCE) {
      const votes = await deps.votes.linked(after, READ_AT_ONCE);
      const shown = await shownTopics(deps, caller, votes);
      for (const vote of votes) {
        const row = shown.get(vote.topic);
        if (row !== undefined && found.length === position.limit)
          return { links: found, nextCursor: encodeCursor(after ?? '') };
        if (row !== undefined) found.push(linkOf(vote, row));
        after = vote.ordinal;
      }
      if (votes.length < READ_AT_ONCE) return { links: found };
    }
    return { links: found, nextCursor: encodeCursor(after ?? '') };
  },
});

export const threadTools = [decisions, links];
