import { branchNameProblem } from '@svc/contract/names.ts';
import { expect, test } from 'vitest';
import { autoBranchName } from './auto-branch.ts';

const at = '2026-03-04T05:06:07.000Z';

test.each([
  ['directories', ['learnings/a.md', 'learnings/b.md', 'x.md'], 'auto-learnings-root-20260304-abcd'],
  ['at most three', ['a/x', 'b/x', 'c/x', 'd/x'], 'auto-a-b-c-20260304-abcd'],
  ['names beyond ASCII', ['Äpfel & Birnen/x', '日本/x', '_(draft)/x'], 'auto-Apfel-Birnen-draft-20260304-abcd'],
  ['nothing that can be shown', ['日本/x'], 'auto-20260304-abcd'],
])('it shows %s', (_what, files, name) => {
  expect(autoBranchName({ prefix: 'auto', files, at, tail: 'abcd' })).toBe(name);
});

test('however long its parts are, it is legal and ends with what makes it unique', () => {
  const files = ['a', 'b', 'c'].map((letter) => `${letter.repeat(50)}/x`);
  const name = autoBranchName({ prefix: 'p'.repeat(32), files, at, tail: 'abcd' });
  expect(branchNameProblem(name)).toBeNull();
  expect(name).toMatch(/^p{32}-a{12}-.*-20260304-abcd$/);
});
