import { expect, test } from 'vitest';
import { couldMeetHidden } from './unseen-names.ts';

const HIDDEN = ['hr', 'docs/pay/plan.md', 'islands/ops.md', 'a.b/c'];

test.each([
  ['HR/new.md', true],
  ['hr/new.md', false],
  ['hr.md', false],
  ['Docs/new.md', true],
  ['docs/new.md', false],
  ['docs/Pay/new.md', true],
  ['docs/pay/Plan.md', true],
  ['docs/pay/plan.md', false],
  ['docs/pay/plan.md/x.md', false],
  ['docs/pay/plans.md', false],
  ['docs/pay', true],
  ['DOCS', true],
  ['islands/Ops.md', true],
  ['islands/ops.json', false],
  ['a.b', true],
  ['a.b/ｃ', true],
  ['other/hr/new.md', false],
])('%s: %j', (path, could) => {
  expect(couldMeetHidden(path, HIDDEN)).toBe(could);
});
