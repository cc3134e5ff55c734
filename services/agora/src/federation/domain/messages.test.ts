/** What a peer may say is what can be kept here. */
import { expect, test } from 'vitest';
import { problemOfOptions } from '../../ledger/domain/topic.ts';
import { WireLedger } from './messages.ts';

const header = {
  v: 1,
  topic: 'lunch',
  owner: 'alpha',
  author: 'ann',
  ballot: ['yes', 'no'],
  minQuorum: 2,
  threshold: 50,
  weighting: 'equal',
  sealed: true,
  deadline: 2,
  createdAt: 1,
  scope: null as { owner: string; visibility: 'scope' } | null,
  thread: null as string | null,
};
const ballot = { header: '0'.repeat(64), topic: 'lunch', voter: 'ann', node: 'alpha', outcome: 'yes', votedAt: 1 };
const entry = { seq: 10_000, ballot, ballotSig: 'x', weight: 1000, admittedAt: Number.MAX_SAFE_INTEGER };
const copyWith = (over: object = {}, more: object = {}) => ({
  header: { ...header, ...over },
  headerSig: 'x',
  entries: [],
  more: false,
  evidence: [],
  decision: null,
  ...more,
});
const isTaken = (copy: object): boolean => WireLedger.safeParse(copy).success;

test('what can be kept is taken', () => {
  expect(isTaken(copyWith({ thread: 'menu' }, { entries: [{ entry, sig: 'x' }], count: 10_000 }))).toBe(true);
});

test.each<readonly [string, object]>([
  [
    'a number beyond the last ballot of a topic',
    copyWith({}, { entries: [{ entry: { ...entry, seq: 10_001 }, sig: 'x' }] }),
  ],
  ['more ballots than a topic has', copyWith({}, { count: Number.MAX_SAFE_INTEGER })],
  ['an option with a NUL', copyWith({ ballot: ['a\0', 'b'] })],
  ['an option that is not composed', copyWith({ ballot: ['cafe\u0301', 'tea'] })],
  ['an option with blanks around it', copyWith({ ballot: [' tea', 'b'] })],
  ['the same option twice', copyWith({ ballot: ['a', 'a'] })],
  ['half a character', copyWith({ ballot: ['\ud800', 'a'] })],
  ['a thread with a NUL', copyWith({ thread: '\0' })],
  ['a scope with a NUL', copyWith({ scope: { owner: 'team:\0', visibility: 'scope' } })],
])('%s is not', (_what, copy) => {
  expect(isTaken(copy)).toBe(false);
});

test('nor is a topic opened here with an option that cannot be kept', () => {
  expect(problemOfOptions(['a\0b', 'c'])).not.toBeNull();
});
