import { expect, test } from 'vitest';
import { declaredTools } from './declared-tools.ts';
import { codesOf, judge } from './provoked.ts';

const declared = {
  codes: new Map([
    ['open', ['E_ABSENT', 'FORBIDDEN']],
    ['shut', ['E_ABSENT']],
  ]),
  events: ['door:opened', 'door:shut'],
};
const all = ['open E_ABSENT', 'open FORBIDDEN', 'shut E_ABSENT', 'event door:opened', 'event door:shut'];

test('a run that saw everything is whole, and what it saw besides does not count', () => {
  const seen = new Set([...all, 'open INTERNAL', 'other E_ABSENT']);
  expect(judge(declared, seen)).toEqual({ seen: 5, missing: [] });
});

test('what nothing provoked is told by tool, and the same code of another tool is no proof', () => {
  const { missing, seen } = judge(declared, new Set(['open E_ABSENT', 'event door:shut']));
  expect(missing).toEqual([
    'no test provokes FORBIDDEN of open',
    'no test provokes E_ABSENT of shut',
    'no test hears door:opened',
  ]);
  expect(seen).toBe(2);
});

test('a tool is held to what it refuses and to what it raises', async () => {
  const codes = codesOf(await declaredTools());
  expect(codes.get('brain_delete')).toEqual(expect.arrayContaining(['E_QUOTA', 'FORBIDDEN']));
});
