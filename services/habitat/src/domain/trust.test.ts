import * as fc from 'fast-check';
import { runs } from '@svc/testing/counts.ts';
import { expect, test } from 'vitest';
import {
  afterTrade,
  decideRating,
  effectiveScore,
  judgeTrust,
  millionthsOf,
  type Rater,
  type Standing,
  shownScore,
  TRUST,
  UNRATED,
  wardOf,
} from './trust.ts';

const NOW = 1_767_225_600_000;
const DAY_MS = 86_400_000;
const at = (score: number, over: Partial<Standing> = {}): Standing => ({ ...UNRATED, score, lastAt: NOW, ...over });
const peer = (over: Partial<Rater> = {}): Rater => ({
  name: 'ann',
  operator: false,
  ward: 'ward',
  score: 500_000,
  isSelf: false,
  isKin: false,
  sharesWorkspace: true,
  hasStanding: true,
  hasCounted: false,
  ratingsLastMinute: 0,
  ratingsOfEntityLastDay: 0,
  ...over,
});
const operator = peer({ name: 'operator', operator: true, isKin: true, sharesWorkspace: false, ratingsLastMinute: 99 });

test('a good score fades by one step per full period, never below the start; a bad one stays', () => {
  const after = (score: number, days: number) => effectiveScore(at(score), NOW + days * DAY_MS);
  expect(after(900_000, 61)).toBe(880_000);
  expect(after(900_000, 30)).toBe(890_000);
  expect(effectiveScore(at(900_000), NOW + 30 * DAY_MS - 1)).toBe(900_000);
  expect(after(505_000, 30)).toBe(500_000);
  expect(after(900_000, 100_000)).toBe(500_000);
  expect(after(300_000, 90)).toBe(300_000);
  expect(after(900_000, -400)).toBe(900_000);
});

test('an operator weighs fully, others by their own score', () => {
  expect(decideRating(UNRATED, { type: 'task' }, operator, NOW)).toMatchObject({
    value: { delta: 50_000, standing: { score: 550_000, karma: 1, lastAt: NOW } },
  });
  expect(decideRating(UNRATED, { type: 'task' }, peer({ score: 400_000 }), NOW)).toMatchObject({
    value: { delta: 20_000, standing: { score: 520_000 } },
  });
  expect(decideRating(UNRATED, { type: 'task' }, peer({ score: 0 }), NOW)).toMatchObject({
    value: { delta: 0, standing: { score: 500_000, karma: 1 } },
  });
});

test('a second opinion of a family within a day, and one of whom nobody outside it has placed, move nothing', () => {
  for (const rater of [peer({ hasCounted: true }), peer({ hasStanding: false })]) {
    expect(decideRating(at(700_000), { type: 'task' }, rater, NOW + DAY_MS)).toEqual({
      ok: true,
      value: { standing: at(700_000), delta: 0, counts: false, turned: null },
    });
  }
});

test('an admin puts its own family into quarantine too, which then is no opinion; nobody does so to themselves', () => {
  const kin = peer({ isKin: true, ratingsOfEntityLastDay: 99 });
  expect(decideRating(UNRATED, { type: 'quarantine' }, kin, NOW)).toMatchObject({
    value: { turned: 'quarantined', delta: 0, counts: false, standing: { score: TRUST.start, karma: 0, lastAt: NOW } },
  });
  expect(decideRating(at(0, { quarantinedAt: NOW }), { type: 'release' }, kin, NOW)).toMatchObject({ ok: true });
  expect(decideRating(UNRATED, { type: 'task' }, kin, NOW)).toEqual({ ok: false, code: 'E_SELF_TRUST' });
  const self = peer({ isSelf: true, isKin: true });
  expect(decideRating(UNRATED, { type: 'quarantine' }, self, NOW)).toEqual({ ok: false, code: 'E_SELF_TRUST' });
});

test('bad types are negative unless said otherwise', () => {
  for (const type of ['violation', 'failure', 'spam', 'refuted', 'quarantine'])
    expect(decideRating(UNRATED, { type }, operator, NOW)).toMatchObject({
      value: { delta: -100_000, standing: { score: 400_000, karma: -1 } },
    });
  expect(decideRating(UNRATED, { type: 'spam', positive: true }, operator, NOW)).toMatchObject({
    value: { delta: 50_000 },
  });
  expect(decideRating(UNRATED, { type: 'task', positive: false, value: 1000 }, operator, NOW)).toMatchObject({
    value: { delta: -1000 },
  });
});

test('a rating starts from the faded score', () => {
  const old = at(900_000, { lastAt: NOW - 61 * DAY_MS });
  expect(decideRating(old, { type: 'task' }, operator, NOW)).toMatchObject({ value: { standing: { score: 930_000 } } });
});

test('limits hold for everybody but operators', () => {
  const refused = (over: Partial<Rater>) => decideRating(UNRATED, { type: 'task' }, peer(over), NOW);
  expect(refused({ isKin: true })).toMatchObject({ code: 'E_SELF_TRUST' });
  expect(refused({ sharesWorkspace: false })).toMatchObject({ code: 'E_NOT_RELATED' });
  expect(refused({ ratingsLastMinute: 20 })).toMatchObject({ code: 'E_RATE_LIMIT' });
  expect(refused({ ratingsLastMinute: 19, ratingsOfEntityLastDay: 5 })).toMatchObject({ code: 'E_RATE_LIMIT' });
  expect(refused({ ratingsLastMinute: 19, ratingsOfEntityLastDay: 4 })).toMatchObject({ ok: true });
});

test('a quarantine counts as a negative once set, is kept when set again, and ends with a release that moves nothing', () => {
  const first = decideRating(UNRATED, { type: 'quarantine' }, operator, NOW);
  expect(first).toMatchObject({ value: { turned: 'quarantined', standing: { score: 400_000, quarantinedAt: NOW } } });
  if (!first.ok) throw new Error('refused');
  const { standing } = first.value;
  const again = decideRating(standing, { type: 'quarantine' }, peer({ name: 'bob' }), NOW + 5);
  expect(again).toMatchObject({
    value: { turned: null, standing: { quarantinedAt: NOW, quarantinedBy: 'operator', karma: -2 } },
  });
  expect(judgeTrust({ standing, quarantined: true }, 0, NOW)).toEqual({
    allowed: false,
    because: 'quarantined',
    score: 400_000,
  });
  expect(decideRating(standing, { type: 'release' }, operator, NOW + DAY_MS)).toEqual({
    ok: true,
    value: {
      turned: 'released',
      delta: 0,
      counts: false,
      standing: { ...standing, quarantinedAt: null, quarantinedBy: null, quarantinedIn: null },
    },
  });
  expect(decideRating(UNRATED, { type: 'release' }, operator, NOW)).toMatchObject({
    value: { turned: null, delta: 0, standing: UNRATED },
  });
});

test('a quarantine is lifted where it was set, whoever has the say by then', () => {
  const decided = decideRating(UNRATED, { type: 'quarantine' }, peer({ ward: 'then', sharesWorkspace: false }), NOW);
  if (!decided.ok) throw new Error('refused');
  const { standing } = decided.value;
  const ward = (type: string, of: Standing = standing) => wardOf(of, { type }, 'now');
  expect([ward('release'), ward('quarantine'), ward('release', UNRATED)]).toEqual(['then', 'now', 'now']);
  // One of which nobody kept where.
  expect(ward('release', { ...standing, quarantinedIn: null })).toBe('now');
});

test('a required score of zero means zero', () => {
  expect(judgeTrust({ standing: at(0), quarantined: false }, 0, NOW)).toEqual({
    allowed: true,
    because: 'score',
    score: 0,
  });
  expect(judgeTrust({ standing: at(299_999), quarantined: false }, TRUST.required, NOW)).toMatchObject({
    allowed: false,
    because: 'score',
  });
  expect(judgeTrust({ standing: at(300_000), quarantined: false }, TRUST.required, NOW)).toMatchObject({
    allowed: true,
  });
});

test('trades move the seller, or leave everything as it is', () => {
  expect(afterTrade(UNRATED, { outcome: 'confirmed' }, null, NOW)).toMatchObject({
    delta: 20_000,
    standing: { score: 520_000, karma: 0 },
  });
  expect(afterTrade(UNRATED, { outcome: 'refuted' }, null, NOW)).toMatchObject({
    delta: -20_000,
    standing: { score: 480_000 },
  });
  for (const outcome of ['expired', 'cancelled'] as const)
    expect(afterTrade(at(900_000), { outcome }, null, NOW + 99 * DAY_MS)).toEqual({ delta: 0, standing: at(900_000) });
});

test('the trades of a family speak once a day, whole ones each, and what was for nothing raises nobody', () => {
  const first = { isKin: false, hasStanding: true, hasCounted: false };
  const again = { ...first, hasCounted: true };
  const moved = (outcome: 'confirmed' | 'refuted', amount: number, buyer = first) =>
    Math.sign(afterTrade(UNRATED, { outcome, amount }, buyer, NOW).delta);
  expect([moved('confirmed', 0), moved('confirmed', 0.000001), moved('confirmed', 1_000_000)]).toEqual([0, 1, 1]);
  expect([moved('refuted', 0), moved('refuted', 1_000_000)]).toEqual([-1, -1]);
  expect([moved('confirmed', 99.999999, again), moved('confirmed', 100, again)]).toEqual([0, 1]);
  expect([moved('refuted', 0, again), moved('refuted', 1_000_000, again)]).toEqual([0, 0]);
  for (const nobody of [
    { ...first, isKin: true },
    { ...first, hasStanding: false },
  ]) {
    expect([moved('confirmed', 100, nobody), moved('refuted', 100, nobody)]).toEqual([0, 0]);
  }
});

test('whatever happens, scores are whole millionths between nothing and one', () => {
  const rating = fc.record(
    {
      type: fc.constantFrom('task', 'spam', 'quarantine', 'release'),
      positive: fc.boolean(),
      value: fc.integer({ min: 1, max: 1_000_000 }),
    },
    { requiredKeys: ['type'] },
  );
  const step = fc.record({ rating, weight: fc.integer({ min: 0, max: 1_000_000 }), days: fc.nat(4000) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let standing = UNRATED;
      let now = NOW;
      for (const { rating: given, weight, days } of steps) {
        now += days * DAY_MS;
        const decision = decideRating(standing, given, peer({ score: weight }), now);
        if (!decision.ok) throw new Error('refused');
        const { standing: next, delta } = decision.value;
        const expected = Math.min(1_000_000, Math.max(0, effectiveScore(standing, now) + delta));
        expect(effectiveScore(next, now)).toBe(given.type === 'release' ? effectiveScore(standing, now) : expected);
        standing = next;
      }
      expect(Number.isInteger(standing.score)).toBe(true);
    }),
    { seed: 7, numRuns: runs(300) },
  );
});

test('millionths survive the way to the caller and back', () => {
  for (let score = 0; score <= 1_000_000; score += 37) expect(millionthsOf(shownScore(score))).toBe(score);
  expect(shownScore(520_000)).toBe(0.52);
});
