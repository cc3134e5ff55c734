import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import { emptyCopy, join, ledgerOf } from '../../src/ledger/domain/merge.ts';
import { LAWS } from './laws.ts';
import { ballotOf, OPENED_AT, play, signBallot, verifyFor } from './owner.ts';
import { parcelOf, type Piece, piecesOf } from './stories.ts';

/** Ends what hangs: with all counts the longest take a minute of a processor. */
const LIMIT = { timeout: 600_000 };

test.each(LAWS.map(({ name, check }) => [name, check] as const))('%s', LIMIT, (_name, check) => {
  check({ numRuns: runs(1000), seed: 42 });
});

test('who signed two outcomes is void on every node, in 1,000 orders of arrival', () => {
  const header = {
    v: 1 as const,
    topic: 'lunch',
    owner: 'alpha',
    author: 'ann',
    ballot: ['yes', 'no'],
    minQuorum: 4,
    threshold: 50,
    weighting: 'equal' as const,
    sealed: false,
    deadline: OPENED_AT + 60_000,
    createdAt: OPENED_AT,
    scope: null,
    thread: null,
  };
  const votes = ['ann', 'bea', 'cy'].map((voter) => ({ kind: 'vote' as const, voter, option: 0, weight: 1000 }));
  const story = play(header, [...votes, { kind: 'lie', voter: 'bea', option: 1 }]);
  const third = signBallot(ballotOf(header, 'bea', 1, OPENED_AT + 9));
  const [[honest] = []] = story.evidence;
  if (honest === undefined) throw new Error('bea lied');
  const pieces: Piece[] = [...piecesOf(story), { pair: [third, honest] }, { pair: [honest, third] }];
  const outcomes = new Set<string>();
  for (let order = 0; order < 1000; order += 1) {
    const arrival = shuffledBy(order, pieces);
    const copy = arrival.reduce((held, piece) => {
      const next = join(held, parcelOf(header, [piece]), verifyFor(header));
      return next === 'conflict' ? held : next.copy;
    }, emptyCopy(header));
    const { hash, voided, entries, status } = ledgerOf(copy);
    outcomes.add(JSON.stringify([hash, [...voided], entries.length, status, [...copy.evidence]]));
  }
  expect([...outcomes].map((outcome) => JSON.parse(outcome) as unknown)).toEqual([
    [expect.any(String), ['bea'], 3, 'open', [['node-bea bea', expect.anything()]]],
  ]);
});

/** A different order for each number, the same one each time. */
function shuffledBy<Item>(order: number, items: readonly Item[]): Item[] {
  let state = order + 1;
  const left = [...items];
  return items.flatMap(() => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return left.splice(Math.floor((state / 2 ** 32) * left.length), 1);
  });
}
