import { expect, test } from 'vitest';
import { type CrewEvent, decideCrew, PHASES, phaseAfter, rosterOf, workspaceOfCrew } from './crew.ts';

const wish = { name: 'alpha', agents: 3, budget: 120 };

test.each(['alpha', 'A', 'a.b-c_d', '..x', '-9-', 'x'.repeat(64)])('%s names a crew', (name) => {
  expect(decideCrew({ ...wish, name })).toMatchObject({ ok: true, value: { name, size: 3, limit: 120_000_000n } });
});

test.each(['', 'a/b', '...', '-_.', 'x'.repeat(65), 'ä', 'a b', 'a\n'])('%j names none', (name) => {
  expect(decideCrew({ ...wish, name })).toMatchObject({ ok: false, code: 'E_SCENARIO_NAME' });
});

test.each([1, 11, 2.5, Number.NaN])('%s agents are no crew', (agents) => {
  expect(decideCrew({ ...wish, agents })).toMatchObject({ ok: false, code: 'E_SCENARIO_CREW' });
});

test.each([2, 100_001, 3.000_000_1, Number.NaN])('a budget of %s is none for three', (budget) => {
  expect(decideCrew({ ...wish, budget })).toMatchObject({ ok: false, code: 'E_SCENARIO_BUDGET' });
});

test.each([3, 3.000_001, 100_000])('a budget of %s is one', (budget) => {
  expect(decideCrew({ ...wish, budget }).ok).toBe(true);
});

test('a long name is cut and marked, so that two of them have two workspaces', () => {
  expect(workspaceOfCrew('x'.repeat(59))).toBe(`crew-${'x'.repeat(59)}`);
  const long = ['a', 'b'].map((end) => workspaceOfCrew(`${'x'.repeat(59)}${end}`));
  expect(new Set(long).size).toBe(2);
  for (const workspace of long) expect(workspace).toMatch(/^crew-x{46}-[0-9a-f]{12}$/);
});

test('the first of a roster leads it', () => {
  expect(rosterOf('alpha', ['a1', 'a2'])).toEqual([
    { id: 'a1', name: 'crew-alpha-1', role: 'lead' },
    { id: 'a2', name: 'crew-alpha-2', role: 'member' },
  ]);
});

test('phases follow each other as the table says, and in no other way', () => {
  const events: CrewEvent[] = ['assembled', 'held', 'quarantined', 'delegated', 'closed-out', 'emptied', 'refused'];
  const steps = PHASES.flatMap((phase) =>
    events.map((event) => [phase, event, phaseAfter(phase, event)]).filter(([, , to]) => to !== null),
  );
  expect(steps.map((step) => step.join(' '))).toEqual([
    'assembling assembled ready',
    'ready held working',
    'ready quarantined quarantined',
    'ready refused ready',
    'quarantined held working',
    'quarantined quarantined quarantined',
    'quarantined refused quarantined',
    'working delegated closing',
    'working refused ready',
    'closing closed-out ready',
    'closing emptied closed',
    'closing refused ready',
  ]);
});
