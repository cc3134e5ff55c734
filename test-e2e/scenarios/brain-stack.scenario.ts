/** Brains and the session pointer: stack, current branch, read-through, separation. */
import { expect } from 'vitest';
import type { Caller, Fields } from '../client.ts';
import { newName, verifies } from '../verifies.ts';

async function newBrain(user: Caller): Promise<string> {
  const name = newName('b');
  await user.with({ session: newName('s') }).ok('brain_switch', { name, create: true });
  return name;
}

verifies('brain:switch:absent', async ({ caller, place }) => {
  const user = caller();
  const name = newName('nope');
  for (const [tool, args] of [
    ['brain_switch', { name }],
    ['brain_push', { name }],
    ['brain_load', { brains: [name] }],
    ['brain_read', { name: 'x', brain: name }],
    ['brain_write', { name: 'x', content: 'x', brain: name }],
  ] as const) {
    const error = await user.fails('BRAIN_LOAD_FAIL', tool, args);
    expect([tool, error.status, error.message]).toEqual([tool, 404, 'Failed to load brain']);
  }
  expect(await user.ok('brain_switch', { name, create: true })).toMatchObject({
    current: name,
    branch: 'main',
    created: true,
  });
  expect(await user.ok('brain_switch', { name, create: true })).toMatchObject({ current: name, created: false });
  expect(await user.ok('svc_list_branches')).toMatchObject({ names: ['main'], current: 'main', brain: name });
  expect(place.dataDir).not.toBe('');
});

verifies('brain:session:own', async ({ caller }) => {
  const [first, second] = [caller(), caller()];
  expect(await first.ok('brain_current')).toMatchObject({
    current: 'svc',
    branch: 'main',
    type: 'private',
    stack: ['svc'],
  });
  const brain = newName('b');
  await first.ok('brain_switch', { name: brain, create: true });
  await first.ok('svc_create_branch', { name: 'feat', switch: true });
  expect(await first.ok('brain_current')).toMatchObject({ current: brain, branch: 'feat' });
  expect(await second.ok('brain_current')).toMatchObject({ current: 'svc', branch: 'main', stack: ['svc'] });
  await second.ok('brain_switch', { name: brain });
  expect(await second.ok('brain_current')).toMatchObject({ current: brain, branch: 'main' });
  expect(await first.with({ gateway: 1 }).ok('brain_current')).toMatchObject({ current: brain, branch: 'feat' });
});

verifies('brain:push:own-stack', async ({ caller }) => {
  const [first, second] = [caller(), caller()];
  const brain = await newBrain(first);
  const before = await second.ok('brain_stack');
  expect(await first.ok('brain_push', { name: brain })).toMatchObject({
    pushed: brain,
    current: brain,
    stack: [brain, 'svc'],
    created: false,
  });
  expect(await second.ok('brain_stack')).toEqual(before);
});

verifies('brain:session:branch-remembered', async ({ caller }) => {
  const user = caller();
  const [one, two] = [await newBrain(user), await newBrain(user)];
  await user.ok('brain_switch', { name: one });
  await user.ok('svc_create_branch', { name: 'feat', switch: true });
  expect(await user.ok('brain_switch', { name: two })).toMatchObject({ current: two, branch: 'main' });
  expect(await user.ok('brain_switch', { name: one })).toMatchObject({ current: one, branch: 'feat' });
  expect(await user.ok('brain_push', { name: two, branch: 'main' })).toMatchObject({ current: two });
  await user.refused('E_BRANCH_ABSENT', 'brain_switch', { name: one, branch: 'none' });
  expect(await user.ok('brain_current')).toMatchObject({ current: two });
});

verifies('brain:session:override', async ({ caller }) => {
  const user = caller();
  const [one, two] = [await newBrain(user), await newBrain(user)];
  await user.ok('brain_switch', { name: one });
  await user.ok('svc_create_branch', { name: 'side', brain: two });
  await user.ok('brain_write', { name: 'x', content: 'there', brain: two, branch: 'side' });
  expect(await user.ok('brain_current')).toMatchObject({ current: one, branch: 'main', stack: [one] });
  await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'x' });
  await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'x', brain: two });
  expect(await user.ok('brain_read', { name: 'x', brain: two, branch: 'side' })).toMatchObject({
    content: 'there',
    brain: two,
    branch: 'side',
  });
});

verifies('brain:write:fallthrough', async ({ caller }) => {
  const user = caller();
  const [top, bottom] = [await newBrain(user), await newBrain(user)];
  await user.ok('brain_load', { brains: [top, bottom] });
  await user.ok('brain_write', { name: 'low', content: 'bottom', brain: bottom });
  await user.ok('brain_write', { name: 'both', content: 'bottom', brain: bottom });
  await user.ok('brain_write', { name: 'both', content: 'top' });
  expect(await user.ok('brain_read', { name: 'low' })).toMatchObject({ content: 'bottom', brain: bottom });
  expect(await user.ok('svc_get_memory', { category: '', filename: 'both' })).toMatchObject({
    content: 'top',
    brain: top,
  });
  expect(await user.ok('brain_write', { name: 'low', content: 'now on top' })).toMatchObject({
    brain: top,
    created: true,
  });
  expect(await user.ok('brain_read', { name: 'low', brain: bottom })).toMatchObject({ content: 'bottom' });

  expect(await user.ok('brain_push', { name: top, type: 'public' })).toMatchObject({
    current: top,
    stack: [top, bottom],
  });
  await user.refused('E_READ_ONLY', 'brain_write', { name: 'low', content: 'x' });
  await user.refused('E_READ_ONLY', 'svc_commit', { message: 'x' });
  await user.refused('E_READ_ONLY', 'brain_delete_file', { name: 'low' });
  expect(await user.ok('brain_read', { name: 'low' })).toMatchObject({ content: 'now on top' });
  await user.ok('brain_push', { name: top, type: 'private' });
  await user.ok('brain_write', { name: 'low', content: 'again' });
});

verifies('brain:stack:walk', async ({ caller }) => {
  const user = caller();
  const names = [await newBrain(user), await newBrain(user), await newBrain(user)];
  const [a = '', b = '', c = ''] = names;
  await user.ok('brain_push', { name: a });
  await user.ok('brain_push', { name: b });
  expect(await user.ok('brain_push', { name: a })).toMatchObject({ stack: [a, b, 'svc'], current: a });
  expect(await user.ok('brain_pop')).toMatchObject({ popped: a, current: b, stack: [b, 'svc'] });
  await user.ok('brain_pop');
  expect(await user.refused('E_STACK_EMPTY', 'brain_pop')).toMatchObject({ popped: null });
  expect(await user.ok('brain_load', { brains: names })).toMatchObject({
    loaded: names,
    current: a,
    stack: names,
    created: false,
  });
  const missing = newName('none');
  const failed = await user.fails('BRAIN_LOAD_FAIL', 'brain_load', { brains: [c, missing] });
  expect(JSON.stringify(failed.data)).toContain(missing);
  expect(await user.ok('brain_stack')).toMatchObject({ stack: names });
  expect(await user.ok('brain_load', { brains: c, type: 'public' })).toMatchObject({
    stack: [c],
    entries: [{ brain: c, branch: 'main', type: 'public' }],
  });
  expect(await user.ok('brain_stack', { wait: true })).toMatchObject({ stack: [c], current: c, settled: true });
  await user.fails('VAF_INPUT_INVALID', 'brain_load', { brains: Array(17).fill(a) });
  await user.fails('VAF_INPUT_INVALID', 'brain_load', { brains: [] });
});

verifies('brain:stack:walk', async ({ caller }) => {
  const user = caller();
  const prefix = newName('many');
  const names = Array.from({ length: 16 }, (_, index) => `${prefix}-${index}`);
  await user.ok('brain_load', { brains: names, create: true });
  await user.refused('E_LIMIT', 'brain_push', { name: `${prefix}-more`, create: true });
  expect(await user.ok<Fields>('brain_stack')).toMatchObject({ stack: names });
});

verifies(['brain:current', 'brain:list'], async ({ caller }) => {
  const user = caller();
  const brain = newName('b');
  await user.ok('brain_push', { name: brain, create: true });
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const { commit } = await user.ok<{ commit: string }>('svc_commit', { message: 'm' });
  expect(await user.ok('brain_current')).toMatchObject({
    current: brain,
    branch: 'main',
    type: 'private',
    commit,
    dirty: false,
  });
  await user.ok('brain_write', { name: 'x', content: 'two' });
  expect(await user.ok('brain_current')).toMatchObject({ commit, dirty: true });
  expect(await user.ok('brain_state')).toMatchObject({
    current: brain,
    branch: 'main',
    stack: expect.arrayContaining([brain]),
  });
  const { brains, names } = await user.ok<{ brains: Fields[]; names: string[] }>('brain_list', { limit: 1000 });
  expect(names).toEqual(expect.arrayContaining(['svc', brain]));
  expect(brains.find(({ name }) => name === brain)).toMatchObject({
    current: true,
    onStack: true,
    branch: 'main',
    files: 1,
    modifiedAt: expect.any(Number),
  });
  expect(brains.find(({ name }) => name === 'svc')).toMatchObject({ current: false, onStack: true });
});
