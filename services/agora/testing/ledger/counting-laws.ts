/** What is counted and decided, and whose ballot is admitted. */
import * as fc from 'fast-check';
import { decideBallot } from '../../src/ledger/domain/ballot-gates.ts';
import type { Header } from '../../src/ledger/domain/ledger.ts';
import {
  closingByBallot,
  closingByTime,
  countedOf,
  isDecisionOf,
  sumOf,
  weightOf,
} from '../../src/ledger/domain/tally.ts';
import { countedIn, lastOf, type Law, law, same } from './law.ts';
import { OPENED_AT, type Turn } from './owner.ts';
import { closedAs, tell } from './reference.ts';
import { headers, stories } from './stories.ts';

function sameDecision(header: Header, { entries, decision: signed }: Turn): void {
  if (signed === null) return;
  const { decision } = signed;
  const on = countedIn({ entries: entries.slice(0, decision.entries), voided: decision.voided });
  const { counts, winner, leading, percentages } = tell(header, on);
  same(decision.counts, counts, 'counts');
  same(decision.winner, decision.status === 'passed' ? winner : null, 'winner');
  same(decision.percentage, leading === null ? 0 : percentages[leading], 'percentage');
  same(decision.votes, on.length, 'votes');
}

function without({ counts, weights, percentages, leading }: ReturnType<typeof tell>) {
  return { counts, weights, percentages, leading };
}

export const COUNTING: readonly Law[] = [
  law('a topic is counted as by hand', [stories], ({ header, turns }) => {
    for (const { sums, ...turn } of turns) {
      const counted = countedIn(turn);
      const { counts, weights, percentages, leading, votes, leadingPercentage, concentrated } = countedOf(header, sums);
      const told = tell(header, counted);
      same({ counts, weights, percentages, leading, votes }, { ...without(told), votes: counted.length }, 'counted');
      same(leadingPercentage, leading === null ? null : (told.percentages[leading] ?? null), 'of the leader');
      const total = counted.reduce((sum, { weight }) => sum + weight, 0);
      const isHeavy = counted.some(({ weight }) => weight > total - weight);
      same(concentrated, header.weighting === 'trust' && counted.length >= 3 && isHeavy, 'concentrated');
    }
  }),
  law('a topic is decided as by hand, and then for good', [stories], ({ header, turns }) => {
    let before: Turn | null = null;
    for (const turn of turns) {
      const was = before?.decision ?? null;
      if (was !== null) same(turn.decision, was, 'what is decided');
      // Time decides on what was there before it; a ballot and evidence on what is there with them.
      const late = closedAs(header, countedIn(before ?? turn), turn.now);
      const due = late?.decidedAt === header.deadline ? late : closedAs(header, countedIn(turn), turn.now);
      if (was === null) {
        const { status, decidedAt } = turn.decision?.decision ?? {};
        same(turn.decision === null ? null : { status, decidedAt }, due, 'decided');
      }
      sameDecision(header, turn);
      before = turn;
    }
  }),
  law(
    'whatever weighs what, a topic closes as by hand',
    [
      headers,
      fc.array(fc.record({ at: fc.nat(3), weight: fc.constantFrom(100, 200, 300) }), { maxLength: 8 }),
      fc.boolean(),
    ],
    (header, ballots, isOver) => {
      const counted = ballots.map(({ at, weight }, index) => ({
        voter: `v${index}`,
        outcome: header.ballot[at % header.ballot.length] ?? '',
        weight,
      }));
      const sums = sumOf(header, counted);
      const now = header.deadline - (isOver ? 0 : 1);
      same(
        closingByTime(header, sums, now) ?? closingByBallot(header, sums, now),
        closedAs(header, counted, now),
        'closed',
      );
    },
  ),
  law('each voter has one ballot, in gapless order', [stories], (story) => {
    const { entries } = lastOf(story);
    same(
      entries.map(({ entry }) => entry.seq),
      entries.map((_entry, index) => index + 1),
      'numbers',
    );
    same(new Set(entries.map(({ entry }) => entry.ballot.voter)).size, entries.length, 'voters');
    for (const { entry } of entries) same(entry.admittedAt < story.header.deadline, true, 'in time');
  }),
  law(
    'trust weighs whole thousandths, never nothing and never more than one',
    [fc.integer({ min: -50_000, max: 150_000 })],
    (hundredThousandths) => {
      const score = hundredThousandths / 100_000;
      const weight = weightOf(score);
      same(Number.isInteger(weight) && weight >= 100 && weight <= 1000, true, `weight of ${score}`);
      if (score >= 0.1 && score <= 1) same(Math.abs(weight - 1000 * score) <= 0.5, true, `weight of ${score}`);
    },
  ),
  law('no other decision is what the ballots come to', [stories, fc.nat()], (story, which) => {
    const { header } = story;
    const decision = lastOf(story).decision?.decision;
    if (decision === undefined) return;
    const entries = lastOf(story).entries.slice(0, decision.entries);
    const sums = sumOf(header, countedIn({ entries, voided: decision.voided }));
    same(isDecisionOf(header, sums, decision), true, 'the decision');
    const [first = ''] = header.ballot;
    const forged = [
      { ...decision, votes: decision.votes + 1 },
      { ...decision, winner: decision.winner === null ? first : null },
      { ...decision, percentage: decision.percentage === 100 ? 99.99 : 100 },
      { ...decision, counts: { ...decision.counts, [first]: (decision.counts[first] ?? 0) + 1 } },
      { ...decision, counts: { ...decision.counts, other: 0 } },
      { ...decision, status: decision.status === 'passed' ? ('rejected' as const) : ('passed' as const) },
      { ...decision, decidedAt: header.deadline + 1 },
    ];
    const one = forged[which % forged.length];
    if (one !== undefined) same(isDecisionOf(header, sums, one), false, JSON.stringify(one));
  }),
];

const flag = fc.boolean();
export const GATES: readonly Law[] = [
  law(
    'the first gate that is shut answers',
    [
      fc.record({
        scope: fc.constantFrom(null, 'scope' as const, 'public' as const),
        isMember: flag,
        isRegistered: fc.constantFrom(true, false, null),
        isQuarantined: flag,
        previous: fc.constantFrom(null, 'no'),
        status: fc.constantFrom('open' as const, 'passed' as const),
        beforeDeadline: fc.constantFrom(1, 0, -1),
        outcome: fc.constantFrom('yes', 'maybe'),
        isFull: flag,
        aheadMs: fc.constantFrom(0, 300_000, 300_001, -300_000, -301_000, -301_001),
      }),
    ],
    ({ scope, beforeDeadline, status, outcome, isFull, aheadMs, ...voter }) => {
      const deadline = OPENED_AT + 1000;
      const header = {
        ballot: ['yes', 'no'],
        createdAt: OPENED_AT,
        deadline,
        scope: scope === null ? null : { owner: 'team:red', visibility: scope },
      };
      const now = deadline - beforeDeadline;
      const votedAt = now + aheadMs;
      const isTimely = votedAt - now <= 300_000 && OPENED_AT - votedAt <= 300_000;
      const shut: [boolean, string][] = [
        [!voter.isMember && scope !== 'public', 'E_TOPIC_ABSENT'],
        [!voter.isMember, 'E_SCOPE'],
        [voter.isRegistered === false, 'E_NOT_REGISTRY'],
        [voter.isQuarantined, 'E_QUARANTINED'],
        [voter.previous !== null, 'E_ALREADY_VOTED'],
        [status !== 'open' || beforeDeadline <= 0 || !isTimely, 'E_CLOSED'],
        [outcome === 'maybe', 'E_OUTCOME'],
        [isFull, 'E_QUOTA'],
      ];
      const ruled = decideBallot({ header, status, entries: isFull ? 10_000 : 9999, now, votedAt }, voter, outcome);
      same(ruled.ok ? null : ruled.code, shut.find(([isShut]) => isShut)?.[1] ?? null, 'the gate');
    },
  ),
];
