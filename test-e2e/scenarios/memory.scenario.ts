/** Values under keys, and data under addresses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { codeOf } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';

verifies('memory:workspaces', async ({ place, socket }) => {
  const workspace = await createMembers(place, 'viewer', 'editor');
  const foreign = await createMembers(place, 'admin');
  const [ann, bob, eve] = [memberAt(workspace, 0), memberAt(workspace, 1), memberAt(foreign, 0)];
  const key = newName('key');
  const operatorHears = await socket();
  const strangerHears = await socket({ headers: eve.caller.headers(), auth: {} });
  expect(await ann.caller.ok('svc_memory_state', { key, value: 0 })).toMatchObject({
    stored: true,
    workspace: workspace.workspace,
    version: 1,
  });
  const recall = (args: object) => ann.caller.ok('svc_memory_recall', { key, ...args });
  expect(await recall({})).toMatchObject({ found: true, value: 0 });
  expect(await bob.caller.with({ gateway: 1 }).ok('svc_memory_recall', { key })).toMatchObject({ found: true });
  expect(await recall({ workspace: '' })).toMatchObject({ found: false, workspace: null });
  expect(await recall({ userCtx: { workspace: foreign.workspace } })).toMatchObject({ found: true, value: 0 });
  expect(await eve.caller.ok('svc_memory_recall', { key })).toMatchObject({ found: false });
  await eve.caller.fails('RLS_DENIED', 'svc_memory_recall', { key, workspace: workspace.workspace });
  await operatorHears.until('memory:stated', (event) => event.name === 'memory:stated' && event['key'] === key);
  await eve.caller.ok('svc_memory_state', { key: `${key}-own`, value: 1 });
  await strangerHears.until('memory:stated', (event) => event['key'] === `${key}-own`);
  expect(strangerHears.heard.filter((event) => event['key'] === key)).toEqual([]);
});

verifies('memory:keys', async ({ place, caller }) => {
  const workspace = await createMembers(place, 'editor');
  const { caller: member } = memberAt(workspace, 0);
  const room = 100 - `ws${workspace.workspace.length}.${workspace.workspace}.`.length;
  await member.ok('svc_memory_state', { key: 'k'.repeat(room), value: 1 });
  const { message } = await member.fails('VAF_INPUT_INVALID', 'svc_memory_state', {
    key: 'k'.repeat(room + 1),
    value: 1,
  });
  expect(message).toContain('key');
  await member.ok('svc_memory_state', { key: 'k', value: 'ours' });
  const pose = `ws${workspace.workspace.length}.${workspace.workspace}.k`;
  await caller().fails('VAF_INPUT_INVALID', 'svc_memory_state', { key: pose, value: 'theirs' });
  expect(await member.ok('svc_memory_recall', { key: 'k' })).toMatchObject({ value: 'ours', version: 1 });
});

verifies('memory:versions', async ({ caller }) => {
  const user = caller();
  const key = newName('key');
  for (const value of [1, 2, 3]) await user.ok('svc_memory_state', { key, value });
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, value) =>
      caller({ gateway: value }).call('svc_memory_state', { key, value, ifVersion: 3 }),
    ),
  );
  const contents = replies.map(({ body }) => body.result?.content);
  expect(contents.filter((_content, index) => codeOf(replies[index] as never) === null)).toMatchObject([
    { stored: true, version: 4 },
  ]);
  const lost = contents.filter((_content, index) => codeOf(replies[index] as never) !== null);
  expect(lost).toHaveLength(49);
  for (const content of lost) expect(content).toMatchObject({ code: 'E_CONFLICT', version: 4 });
});

verifies('memory:ttl', async ({ caller }) => {
  const user = caller();
  const key = newName('key');
  const { expiresAt } = await user.ok('svc_memory_state', { key, value: 'brief', ttl: 1000 });
  expect(await user.ok('svc_memory_recall', { key })).toMatchObject({ found: true, expiresAt });
  await sleep(1020);
  expect(await user.with({ gateway: 1 }).ok('svc_memory_recall', { key })).toMatchObject({ found: false, value: null });
  await user.ok('svc_memory_state', { key, value: 'again', ifVersion: 0 });
});

verifies('address:same', async ({ fresh, socket }) => {
  const { user, brain } = await fresh();
  const hears = await socket();
  const first = await user.ok('svc_memory_address', { data: { a: 1, b: 2 } });
  expect(first).toMatchObject({ existed: false, brain });
  const barcode = String(first['barcode']);
  const again = await user.with({ gateway: 1 }).ok('svc_memory_address', { data: { b: 2, a: 1 } });
  expect(again).toEqual({ ...first, existed: true });
  const typed = barcode.toLowerCase().replaceAll('-', '');
  expect(await user.ok('svc_memory_locate', { barcode: typed })).toMatchObject({
    barcode,
    data: { a: 1, b: 2 },
    brain,
  });
  const slip = `${barcode.slice(0, 3)}${barcode[3] === '7' ? '8' : '7'}${barcode.slice(4)}`;
  await user.refused('E_BARCODE_INVALID', 'svc_memory_locate', { barcode: slip });
  await user.refused('E_ADDRESS_COLLISION', 'svc_memory_address', { data: '{"a":1,"b":2}' });
  expect(await user.ok('brain_geo_load', { barcode })).toMatchObject({ data: { a: 1, b: 2 }, keys: [] });
  await hears.until('address:stored', (event) => event.name === 'address:stored' && event['barcode'] === barcode);
  const { user: other } = await fresh();
  expect(await other.ok('svc_memory_locate', { barcode })).toMatchObject({ found: false });
});

verifies('memory:learned', async ({ fresh, socket }) => {
  const { user, brain } = await fresh();
  const hears = await socket();
  await user.ok('svc_memory_learn', { key: 'go/errors', content: 'wrap with %w' });
  const { results } = await user.ok<{ results: { file: string }[] }>('svc_memory_query', { key: 'wrapping errors' });
  expect(results.map(({ file }) => file)).toContain('go/errors.md');
  expect(await user.with({ gateway: 1 }).ok('svc_memory_query', { key: 'go/errors' })).toMatchObject({
    found: true,
    content: 'wrap with %w',
  });
  expect(await user.ok('svc_memory_learn', { key: 'copy', content: 'wrap with %w' })).toMatchObject({
    file: 'memory/copy.md',
    duplicateOf: 'go/errors.md',
  });
  const { learned, commit } = await user.ok('svc_memory_clear', { what: 'learned' });
  expect(learned).toBe(1);
  await user.refused('E_FILE_ABSENT', 'brain_read', { name: 'memory/copy' });
  expect(await user.ok('brain_read', { name: 'memory/copy', at: commit })).toMatchObject({ content: 'wrap with %w' });
  await hears.until('memory:learned', (event) => event.name === 'memory:learned' && event['key'] === 'go/errors');
  await hears.until('memory:cleared', (event) => event.name === 'memory:cleared' && event.brain === brain);
});

verifies('memory:stats', async ({ place }) => {
  const workspace = await createMembers(place, 'editor');
  const { caller: member } = memberAt(workspace, 0);
  const brain = newName('b');
  await member.ok('brain_switch', { name: brain, create: true });
  await member.ok('svc_memory_state', { key: 'k', value: 'four', ttl: 100_000 });
  await member.ok('svc_memory_learn', { key: 'doc', content: 'text' });
  await member.ok('svc_memory_address', { data: [1] });
  expect(await member.ok('svc_memory_stats')).toMatchObject({
    workspace: workspace.workspace,
    state: { keys: 1, bytes: 6, expiring: 1 },
    learned: { files: 1, bytes: 4 },
    addresses: { objects: 1, bytes: 3 },
    brain,
  });
  expect(await member.ok('svc_memory_clear')).toMatchObject({ cleared: true, state: 1, learned: 0 });
  expect(await member.ok('svc_memory_recall', { key: 'k' })).toMatchObject({ found: false });
});

verifies('geometry:places', async ({ fresh }) => {
  const { user } = await fresh();
  const { barcode } = await user.ok('svc_geometry_remember', { category: 'city', key: 'rome', content: 'x' });
  for (const brainPath of ['city/rome', barcode])
    expect(await user.with({ gateway: 1 }).ok('svc_geometry_recall', { brainPath })).toMatchObject({ content: 'x' });
  expect(await user.ok('svc_geometry_remember', { category: 'city', key: 'roma', content: 'x' })).toMatchObject({
    barcode,
  });
  expect(await user.ok('svc_geometry_knows', { key: barcode })).toMatchObject({ places: [{ barcode }, { barcode }] });
  expect(await user.ok('svc_geometry_knows', { key: 'paris' })).toMatchObject({ known: false });
  await user.ok('brain_delete_file', { name: 'geometry/city/rome' });
  expect(await user.ok('svc_geometry_knows', { key: 'rome' })).toMatchObject({ known: false });
  expect(await user.ok('svc_geometry_init')).toMatchObject({ initialized: true, objects: 0 });
});

verifies('address:workspace', async ({ caller }) => {
  const operator = caller();
  const workspaceId = newName('w');
  const { geometry } = await operator.ok('svc_habitat_createWorkspace', { workspaceId });
  expect(geometry).toMatch(/^9(-[0-9A-Z]{5}){4}-.$/);
  expect(await operator.ok('svc_memory_address', { data: workspaceId })).toMatchObject({ barcode: geometry });
});
