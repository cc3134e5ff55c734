import { expect, test } from 'vitest';
import { declaredTools } from './declared-tools.ts';
import { codesOf, judge } from './provoked.ts';
import { NOT_HEARD, NOT_PROVOKED } from './provoked-not-yet.ts';
import { EVENTS } from '../shared/contract/src/events.ts';

const declared = {
  codes: new Map([
    ['open', ['E_ABSENT', 'FORBIDDEN']],
    ['shut', ['E_ABSENT']],
  ]),
  events: ['door:opened', 'door:shut'],
};
const nothingOwed = { codes: {}, events: [] };
const all = ['open E_ABSENT', 'open FORBIDDEN', 'shut E_ABSENT', 'event door:opened', 'event door:shut'];

test('a run that saw everything is whole, and what it saw besides does not count', () => {
  const seen = new Set([...all, 'open INTERNAL', 'other E_ABSENT']);
  expect(judge(declared, seen, nothingOwed)).toEqual({ seen: 5, missing: [], owed: 0, settled: [] });
});

test('what nothing provoked is told by tool, and the same code of another tool is no proof', () => {
  const { missing, seen } = judge(declared, new Set(['open E_ABSENT', 'event door:shut']), nothingOwed);
  expect(missing).toEqual([
    'no test provokes FORBIDDEN of open',
    'no test provokes E_ABSENT of shut',
    'no test hears door:opened',
  ]);
  expect(seen).toBe(2);
});

test('what is owed is not missing; what was seen, or is declared no more, is owed no more', () => {
  const owed = { codes: { open: ['FORBIDDEN'], shut: ['E_ABSENT', 'E_GONE'] }, events: ['door:shut'] };
  const seen = new Set(['open E_ABSENT', 'shut E_ABSENT', 'event door:opened']);
  expect(judge(declared, seen, owed)).toEqual({
    seen: 3,
    missing: [],
    owed: 2,
    settled: ['shut E_ABSENT', 'shut E_GONE'],
  });
});

test('only what is declared can be owed', async () => {
  const seen = new Set<string>();
  const real = { codes: codesOf(await declaredTools()), events: Object.keys(EVENTS) };
  expect(judge(real, seen, { codes: NOT_PROVOKED, events: NOT_HEARD }).settled).toEqual([]);
});
