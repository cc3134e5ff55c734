import { randomUUID } from 'node:crypto';
import { isServiceTopic } from '@svc/contract/operations.agora.ts';
import { expect, test } from 'vitest';
import { universeOf, worldSeed } from '../../worlds/domain/seed-chain.ts';
import { rosterOf } from './crew.ts';
import { noteText } from './note.ts';
import { decideCost, decideExecutor, isTaskText, quarantinedOf, quorumOf, topicOf, votersOf } from './task.ts';

const credits = (count: number): bigint => BigInt(Math.round(count * 1_000_000));
const purse = (limit: number, available = limit) => ({ limit: credits(limit), available: credits(available) });

test.each([
  [120, 120, 60],
  [121, 121, 60],
  [3, 3, 1],
  [2.5, 1.5, 1],
  [120, 40, 40],
  [2.5, 0.5, 0.5],
])('of %s credits with %s left a task costs %s', (limit, available, cost) => {
  expect(decideCost(purse(limit, available), null)).toEqual({ ok: true, value: credits(cost) });
});

test('more than is left is refused, and so is nothing', () => {
  expect(decideCost(purse(120, 40), credits(80))).toMatchObject({
    code: 'E_SCENARIO_BUDGET',
    details: { available: 40 },
  });
  expect(decideCost(purse(120, 0), null)).toMatchObject({ code: 'E_SCENARIO_BUDGET', details: { available: 0 } });
  expect(decideCost(purse(120), 0n)).toMatchObject({ code: 'E_SCENARIO_BUDGET' });
  expect(decideCost(purse(120, 40), credits(40)).ok).toBe(true);
});

const ids = ['a1', 'a2', 'a3'];
const roster = rosterOf('alpha', ids);
const state = (agentId: string, over = {}) => ({ agentId, alive: true, quarantined: false, score: 0.5, ...over });
const universe = universeOf({});
const seed = universe.ok ? worldSeed(universe.value, 'alpha').toString('hex') : '';
const executorOf = (no: number, dead: readonly string[] = []) => {
  const drawn = decideExecutor(
    { seed, roster },
    no,
    ids.map((id) => state(id, { alive: !dead.includes(id) })),
  );
  return drawn.ok ? drawn.value.name : drawn.code;
};

test('who does a task is drawn by seed and number, and the next living one instead of a dead one', () => {
  expect([1, 2].map((no) => executorOf(no))).toEqual(['crew-alpha-3', 'crew-alpha-2']);
  expect(executorOf(1, ['a3'])).toBe('crew-alpha-1');
  expect(executorOf(1, ['a3', 'a1'])).toBe('crew-alpha-2');
  expect(executorOf(1, ids)).toBe('E_SCENARIO_DELEGATE');
});

test('the living, who are not in quarantine and trusted a little, vote; more than half of all have to', () => {
  const states = [state('a3', { score: 0.3 }), state('a2', { score: 0.299 }), state('a1')];
  expect(votersOf(roster, states)).toEqual(['a1', 'a3']);
  expect(votersOf(roster, [state('a1', { alive: false }), state('a2', { quarantined: true })])).toEqual([]);
  expect(quarantinedOf([state('a1'), state('a2', { quarantined: true })])).toEqual(['a2']);
  expect([2, 3, 4, 10].map((size) => quorumOf(rosterOf('x', Array(size).fill('a'))))).toEqual([2, 2, 3, 6]);
});

test('a task is 1-512 characters of text', () => {
  const texts = ['x', 'x'.repeat(512), '', 'x'.repeat(513), '\ud800', 'a\0b'];
  expect(texts.map(isTaskText)).toEqual([true, true, false, false, false, false]);
});

test('the longest note that can be is one that the brain takes', () => {
  const voters = Array.from({ length: 10 }, () => `agt_${'0'.repeat(32)}`);
  const decision = { winner: 'accept', votes: 10, percentage: 100, decidedAt: 1_790_000_000_000 };
  const task = { no: 100_000, text: '\u0001'.repeat(512), decision, voters };
  expect(noteText(task, { crewId: `crew_${'0'.repeat(32)}` }).length).toBeLessThanOrEqual(4000);
});

test('a vote is named by the crew and the number, as no other topic is', () => {
  expect(topicOf(`crew_${'a'.repeat(32)}`, 7)).toBe(`crew-${'a'.repeat(32)}-7`);
  expect(isServiceTopic(topicOf(`crew_${randomUUID().replaceAll('-', '')}`, 100_000))).toBe(true);
});
