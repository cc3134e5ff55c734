/** A topic as it is shown. While it is sealed and open only headcounts are, and one's own ballot. */
import { z } from 'zod';
import { VISIBILITIES, WEIGHTINGS } from '../domain/ledger.ts';
import type { Evidence } from '../domain/merge.ts';
import { countedOf } from '../domain/tally.ts';
import type { EntryRow, TopicRow } from './topic-rows.ts';

export const StatusShown = z.enum(['open', 'passed', 'rejected', 'expired']);

const DecisionShown = z.strictObject({
  winner: z.string().nullable(),
  votes: z.int(),
  percentage: z.number(),
  decidedAt: z.number(),
});

const byOption = z.record(z.string(), z.number());

export const Tally = z.strictObject({
  topic: z.string(),
  status: StatusShown,
  votes: z.int().describe('Heads that count.'),
  counts: byOption.nullable().describe('Heads by option; null while it is sealed.'),
  weights: byOption.nullable().describe('Thousandths by option, where trust weighs; else null.'),
  percentages: byOption.nullable(),
  leading: z.string().nullable().describe('The one option with the most; null at a tie.'),
  leadingPercentage: z.number().nullable(),
  winner: z.string().nullable(),
  quorum: z.strictObject({ required: z.int(), votes: z.int(), reached: z.boolean(), missing: z.int() }),
  threshold: z.int(),
  deadline: z.number(),
  sealed: z.boolean(),
  concentrated: z.boolean().describe('One ballot holds more than half of the weight.'),
  hash: z.string().describe('Covers header, ballots and decision.'),
  decision: DecisionShown.optional(),
});
export type Tally = z.output<typeof Tally>;

const isSealedNow = ({ header, decision }: Pick<TopicRow, 'header' | 'decision'>) => header.sealed && decision === null;

/** Of a copy that is sealed nothing else is known than what its owner says. */
function votesOf(row: TopicRow): number {
  return row.replica && isSealedNow(row) ? Math.max(row.sums.votes, row.told) : row.sums.votes;
}

function decisionShown({ decision }: Pick<TopicRow, 'decision'>) {
  if (decision === null) return {};
  const { winner, votes, percentage, decidedAt } = decision.decision;
  return { decision: { winner, votes, percentage, decidedAt } };
}

export function tallyOf(row: TopicRow, hash: string): Tally {
  const { header, sums } = row;
  const { topic, threshold, deadline, sealed, minQuorum, weighting } = header;
  const { votes: _counted, concentrated, ...counted } = countedOf(header, sums);
  const votes = votesOf(row);
  const shown = isSealedNow(row)
    ? { counts: null, weights: null, percentages: null, leading: null, leadingPercentage: null, concentrated: false }
    : { ...counted, weights: weighting === 'trust' ? counted.weights : null, concentrated };
  const missing = Math.max(0, minQuorum - votes);
  return {
    topic,
    status: row.status,
    votes,
    ...shown,
    winner: row.decision?.decision.winner ?? null,
    quorum: { required: minQuorum, votes, reached: missing === 0, missing },
    threshold,
    deadline,
    sealed,
    hash,
    ...decisionShown(row),
  };
}

export const LedgerShown = z.strictObject({
  topic: z.string(),
  status: StatusShown,
  ballot: z.array(z.string()),
  options: z.array(z.string()).describe('The same as ballot.'),
  minQuorum: z.int(),
  threshold: z.int(),
  weighting: z.enum(WEIGHTINGS),
  sealed: z.boolean(),
  deadline: z.number(),
  createdAt: z.number(),
  owner: z.string().describe('Node that decides; local while this one has no name.'),
  author: z.string(),
  scope: z.strictObject({ owner: z.string(), visibility: z.enum(VISIBILITIES) }).nullable(),
  thread: z.string().nullable(),
  votes: z.array(
    z.strictObject({
      voter: z.string(),
      outcome: z.string().nullable().describe('null while it is sealed, except for oneself.'),
      votedAt: z.number(),
      weight: z.int().describe('Thousandths.'),
    }),
  ),
  voided: z.array(z.string()).describe('Voters that signed two outcomes.'),
  equivocators: z.array(z.string()).optional().describe('Who signed two outcomes, also after the decision.'),
  hash: z.string(),
  decision: DecisionShown.optional(),
  disputed: z.boolean().optional().describe('Its owner contradicts itself; nothing is taken over any more.'),
  awaitingOwner: z.boolean().optional().describe('Its time is over, and its owner has not told how it was decided.'),
  synced: z.strictObject({ from: z.string(), at: z.number() }).optional(),
});
export type LedgerShown = z.output<typeof LedgerShown>;

export function ledgerOf(
  row: TopicRow,
  { entries, evidence, hash }: { entries: readonly EntryRow[]; evidence: readonly Evidence[]; hash: string },
  viewer: string | null,
): LedgerShown {
  const { header, voided, replica, disputed, synced, now } = row;
  const { topic, owner, author, ballot, minQuorum, threshold, weighting, sealed, deadline, createdAt } = header;
  const { scope, thread } = header;
  const isSealed = isSealedNow(row);
  const options = [...ballot];
  const equivocators = [...new Set(evidence.map(([{ ballot: said }]) => said.voter))];
  return {
    topic,
    status: row.status,
    ballot: options,
    options,
    minQuorum,
    threshold,
    weighting,
    sealed,
    deadline,
    createdAt,
    owner,
    author,
    scope,
    thread,
    votes: entries.map(({ entry: { ballot: said, weight } }) => ({
      voter: said.voter,
      outcome: isSealed && said.voter !== viewer ? null : said.outcome,
      votedAt: said.votedAt,
      weight,
    })),
    voided: [...(row.decision?.decision.voided ?? voided)],
    ...(equivocators.length === 0 ? {} : { equivocators }),
    hash,
    ...decisionShown(row),
    ...(replica && disputed ? { disputed } : {}),
    ...(replica && row.status === 'open' && now >= deadline ? { awaitingOwner: true } : {}),
    ...(synced === null ? {} : { synced }),
  };
}

export const TopicShown = z.strictObject({
  topic: z.string(),
  status: StatusShown,
  votes: z.int(),
  minQuorum: z.int(),
  deadline: z.number(),
  owner: z.string(),
  scoped: z.boolean(),
  thread: z.string().nullable(),
});

export function topicShown(row: TopicRow): z.output<typeof TopicShown> {
  const { topic, minQuorum, deadline, owner, scope, thread } = row.header;
  const scoped = scope !== null;
  return { topic, status: row.status, votes: votesOf(row), minQuorum, deadline, owner, scoped, thread };
}
