import { expect, test } from 'vitest';
import { guardOf, type HeldRole, homeOf, type IdentityRows } from './identity.ts';

const HELD: Record<string, HeldRole> = {
  outside: { workspace: 'theirs', role: 'admin', source: 'outside' },
  family: { workspace: 'own', role: 'admin', source: 'family' },
  operator: { workspace: 'given', role: 'viewer', source: 'operator' },
  later: { workspace: 'given-later', role: 'admin', source: 'operator' },
};

function holding(names: string, born: string | null = null): IdentityRows {
  const facts = { name: 'x', team: null, brain: null, killed: false, family: 'x', createdBy: 'maker' };
  const agent = born === null ? null : { ...facts, workspace: born };
  const roles = names.split(' ').flatMap((name) => HELD[name] ?? []);
  return { id: 'x', agent, quarantined: false, roles, assignment: null };
}

test.each([
  // Roles in the order in which they were given, where it was spawned, its home, whose admins have a say.
  ['', null, null, null],
  ['outside', null, 'theirs', null],
  ['outside family', null, 'own', null],
  ['outside family operator later', null, 'given', 'given'],
  ['later operator', null, 'given-later', 'given-later'],
  ['operator outside', 'theirs', 'theirs', 'theirs'],
  ['outside operator', 'gone', 'given', 'given'],
  ['outside', 'gone', 'theirs', null],
])('with roles from %j, spawned in %s, it is at home in %s, and under %s', (names, born, home, guard) => {
  const rows = holding(names, born);
  expect([homeOf(rows), guardOf(rows)]).toEqual([home, guard]);
});
