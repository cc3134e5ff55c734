/** Work over data of callers, through the doors: circles, limits, one bad item, attempts that take effect once. */
import { expect } from 'vitest';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';

const ROUND = { start: 'a', nodes: { a: { next: 'b' }, b: { next: 'c' }, c: { next: 'a' } } };
const LOOKUPS = 1000;
const LANES = 20;

verifies('recursion:circle', async ({ caller }) => {
  const user = caller();
  expect(await user.ok('recursion_traverse', { root: ROUND })).toMatchObject({
    visited: 3,
    cycles: [['a', 'b', 'c', 'a']],
  });
  expect(await user.ok('recursion_lookup', { operation: 'last', start: ROUND })).toMatchObject({
    found: false,
    reason: 'cycle',
    path: ['a', 'b', 'c'],
  });
});

verifies('recursion:chain', async ({ caller }) => {
  const user = caller();
  const start = { id: 'a', next: { id: 'b', next: { id: 'c', value: 1 } } };
  expect(await user.ok('recursion_lookup', { start })).toMatchObject({ found: true, depth: 2, value: 1 });
  const nodes = Object.fromEntries(Array.from({ length: 66 }, (_, n) => [`n${n}`, { next: `n${n + 1}` }]));
  const root = { start: 'n0', nodes: { ...nodes, n65: {} } };
  expect(await user.ok('recursion_traverse', { root })).toMatchObject({ visited: 65, truncated: true });
});

verifies('recursion:batch', async ({ caller }) => {
  const user = caller();
  expect(await user.ok('recursion_batch', { operation: 'double', items: [1, 'x', 3] })).toMatchObject({
    results: [2, null, 6],
    errors: [{ index: 1 }],
  });
  const start = { id: 'a', next: { id: 'b', value: { deep: [1] } } };
  const answers = new Set<string>();
  const lane = async (from: number): Promise<void> => {
    for (let n = from; n < LOOKUPS; n += LANES) {
      answers.add(JSON.stringify(await user.ok('recursion_lookup', { start }, { gateway: n % 2 })));
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, from) => lane(from)));
  expect(answers.size).toBe(1);
});

verifies('recursion:rights', async ({ place }) => {
  const home = await createMembers(place, 'editor', 'viewer');
  const [ann, bob] = [memberAt(home, 0), memberAt(home, 1)];
  const { workspace } = home;
  const name = newName('op');
  const args = { stream: newName('q'), workspace };
  await ann.caller.ok('recursion_register', { name, type: 'tool', tool: 'stream_enqueue', arguments: args, workspace });
  const put = { operation: name, arguments: { task: 1 }, workspace };
  const headers = { 'idempotency-key': newName('key') };
  const [first, second] = await Promise.all(
    [0, 1].map((gateway) => ann.caller.ok('recursion_retry', put, { gateway, headers })),
  );
  expect(first).toEqual(second);
  expect(first).toMatchObject({ success: true, result: { seq: 1 } });
  await bob.caller.refused('E_RECURSION_OPERATION', 'recursion_retry', put);
  const own = { operation: 'stream_enqueue', arguments: { ...args, task: 1 } };
  expect(await bob.caller.refused('E_RETRY_FAILED', 'recursion_retry', own)).toMatchObject({
    attempts: 1,
    last: 'FORBIDDEN',
  });
  const other = memberAt(await createMembers(place, 'editor'), 0);
  await other.caller.refused('E_RECURSION_OPERATION', 'recursion_retry', put);
  await bob.caller.refused('E_RECURSION_TAKEN', 'recursion_register', {
    name,
    type: 'pipeline',
    steps: ['upper'],
    workspace,
  });
  expect(await bob.caller.ok('recursion_batch', { operation: 'stream_info', items: [args, {}] })).toMatchObject({
    results: [{ exists: true, pending: 1 }, null],
    errors: [{ index: 1, code: 'VAF_INPUT_INVALID' }],
  });
});
