import { expect, test } from 'vitest';
import { rootOf } from './graph.ts';
import { allowanceUntil } from './limits.ts';
import { traverse } from './traverse.ts';

test('the time that a walk may take counts ways that lead back, not nodes alone', () => {
  const ids = Array.from({ length: 60 }, (_, n) => `n${n}`);
  const nodes = Object.fromEntries(ids.map((id) => [id, { children: ids }]));
  const root = rootOf({ start: 'n0', nodes });
  if (root === null) throw new Error('no graph');
  let looks = 0;
  const allowance = allowanceUntil(() => (looks += 1), 500);
  const { truncated } = traverse('count', root, { order: 'breadth', maxDepth: 64 }, allowance);
  expect([truncated, looks]).toEqual([true, 500]);
});
