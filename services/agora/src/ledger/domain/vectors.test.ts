/** The bytes that every node has to compute alike. */
import { expect, test } from 'vitest';
import { type Ballot, ballotHash, type Decision, type Header, headerHash, ledgerHash } from './ledger.ts';
import { closingByBallot, decisionOf, sumOf } from './tally.ts';

const HEADER: Header = {
  v: 1,
  topic: 'lunch',
  owner: 'alpha',
  author: 'ann',
  ballot: ['yes', 'no'],
  minQuorum: 2,
  threshold: 50,
  weighting: 'equal',
  sealed: false,
  deadline: 1_790_086_400_000,
  createdAt: 1_790_000_000_000,
  scope: null,
  thread: null,
};
const HASH = 'b00ee3ea4927504531bf2b8bcdffdb971e1f3b89933f5c8ddd97165a4c0934f8';

function ballot(voter: string, votedAt: number): Ballot {
  return { header: HASH, topic: 'lunch', voter, node: 'alpha', outcome: 'yes', votedAt };
}

function entry(seq: number, cast: Ballot) {
  const { outcome, votedAt, voter } = cast;
  return { ballot: ballotHash(cast), outcome, seq, void: false, votedAt, voter, weight: 1000 };
}

test('a header, an empty ledger, a first ballot and a second one that decides', () => {
  expect(headerHash(HEADER)).toBe(HASH);
  expect(ledgerHash(HASH, [], null)).toBe('17b06081beb766ff817bef2f7c838b0bed79605ef0ba9676999192355bc23215');
  const [ann, bob] = [ballot('ann', 1_790_000_001_000), ballot('bob', 1_790_000_002_000)] as const;
  expect(ballotHash(ann)).toBe('b9ef8bf056b5b23136ab914b8a2038a41716c94e1b9f30b55dfc5182ee37222b');
  expect(ledgerHash(HASH, [entry(1, ann)], null)).toBe(
    '2f92822cf2bb594a5cd2d3610cf704562ffe707742992c25d4732a85890a18a5',
  );
  expect(ballotHash(bob)).toBe('aab1f05b454cf4ea61e959f4079fa4ed9ac56305f949c8e4ca864fd9611ec1e4');
  const sums = sumOf(
    HEADER,
    [ann, bob].map(({ outcome }) => ({ outcome, weight: 1000 })),
  );
  const closing = closingByBallot(HEADER, sums, bob.votedAt) ?? expect.fail('it is decided');
  const decision = decisionOf(HEADER, sums, closing, { entries: 2, voided: [] });
  expect(decision).toEqual({
    counts: { no: 0, yes: 2 },
    decidedAt: 1_790_000_002_000,
    entries: 2,
    percentage: 100,
    status: 'passed',
    voided: [],
    votes: 2,
    winner: 'yes',
  } satisfies Decision);
  expect(ledgerHash(HASH, [entry(1, ann), entry(2, bob)], decision)).toBe(
    'e9c08bb38e0dbe57d7770f5f6a8f4675bf6f3b15784ca221e78642f4f3d3da5c',
  );
});
