/** Islands with a boundary: who gets through, and what the others learn. */
import { expect } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { newName, type Scenario, verifies } from '../verifies.ts';

interface Crew {
  readonly team: string;
  readonly workspace: string;
  /** Of the team. */
  readonly insider: Caller;
  /** A viewer of the team's workspace that is not of the team. */
  readonly viewer: Caller;
  readonly viewerId: string;
}

/** A team with its workspace, made by the operator. */
async function gather({ place }: Scenario, operator: Caller): Promise<Crew> {
  const team = newName('t').replaceAll('-', '');
  const workspace = `org-${team}`;
  const { agentId } = await operator.ok('agent_spawn', { team, name: 'insider' });
  const viewerId = `${team}-viewer`;
  await operator.ok('svc_habitat_addRole', { workspaceId: workspace, userId: viewerId, role: 'viewer' });
  const callerOf = async (id: unknown): Promise<Caller> => {
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId: id });
    return new Caller(place, { key: null, headers: { 'x-habitat-token': String(token) } });
  };
  return { team, workspace, insider: await callerOf(agentId), viewer: await callerOf(viewerId), viewerId };
}

async function gate(operator: Caller, island: string, policy: Fields): Promise<void> {
  await operator.ok('svc_habitat_setPolicy', { resource: `_island:${island}`, policy });
}

verifies('islands:gated-read', async (scenario) => {
  const listener = await scenario.socket();
  const { user: operator, brain } = await scenario.fresh();
  const { team, workspace, insider, viewer, viewerId } = await gather(scenario, operator);
  const island = newName('ops');
  const word = newName('word').replaceAll('-', '');
  await operator.ok('svc_create_island', { name: island, triggers: [word], content: `the ${word}` });
  expect(await viewer.ok('svc_load_island', { name: island, brain })).toMatchObject({ loaded: true });
  await gate(operator, island, { container: workspace, readableBy: [`team:${team}`] });

  expect(await insider.ok('svc_load_island', { name: island, brain })).toMatchObject({
    loaded: true,
    data: { content: `the ${word}` },
  });
  await viewer.fails('RLS_DENIED', 'svc_load_island', { name: island, brain });
  await listener.until('the denial', (event) => event.name === 'island:denied' && event.island === island);
  const file = `islands/${island}`;
  expect(await viewer.refused('E_FILE_ABSENT', 'brain_read', { name: file, brain })).toBeTruthy();
  await viewer.refused('E_FILE_ABSENT', 'svc_get_memory', { category: 'islands', filename: island, brain });
  for (const [tool, args] of [
    ['svc_get_islands', {}],
    ['svc_export_islands', {}],
    ['svc_find_islands_by_trigger', { trigger: word }],
    ['svc_search', { query: word }],
    ['brain_list_files', {}],
    ['brain_corpus', { content: true }],
    ['svc_branch_is_dirty', {}],
  ] as const) {
    const reply = await viewer.call(tool, { ...args, brain });
    expect([tool, reply.status]).toEqual([tool, 200]);
    expect(reply.text, tool).not.toContain(island);
    const shown = await insider.call(tool, { ...args, brain });
    expect(shown.text, tool).toContain(island);
  }
  expect(await viewer.ok('svc_island_status', { name: island, brain })).toMatchObject({ exists: false, gated: true });
  const told = listener.heard.filter((event) => event.name === 'island:denied' && event.island === island);
  expect(told).toMatchObject([
    { workspace, mode: 'read', op: 'load', userId: viewerId, because: 'no-match', container: workspace },
  ]);
});

verifies(
  'islands:gated-read',
  async (scenario) => {
    const { user: operator, brain } = await scenario.fresh();
    const { team, workspace, viewer } = await gather(scenario, operator);
    const island = newName('ops');
    await operator.ok('svc_create_island', { name: island, content: 'x' });
    const shut = { container: workspace, readableBy: [`team:${team}`] };
    for (let round = 0; round < 25; round += 1) {
      const at = { gateway: round };
      await gate(operator, island, shut);
      await viewer.fails('RLS_DENIED', 'svc_load_island', { name: island, brain }, at);
      await gate(operator, island, { ...shut, readableBy: ['role:viewer'] });
      await viewer.ok('svc_load_island', { name: island, brain }, at);
    }
  },
  { title: 'a changed boundary holds from the next request on, through every gateway' },
);

verifies('islands:anonymous-write', async (scenario) => {
  const { user: operator, brain } = await scenario.fresh();
  const { workspace, viewer, insider } = await gather(scenario, operator);
  const island = newName('ops');
  await operator.ok('svc_create_island', { name: island, triggers: ['a'], content: 'x' });
  await gate(operator, island, { container: workspace, readableBy: ['public'], writableBy: ['role:admin'] });
  const before = await insider.ok('svc_get_island', { name: island, brain });
  for (const [tool, args] of [
    ['svc_enable_island', {}],
    ['svc_disable_island', {}],
    ['svc_update_island_triggers', { triggers: ['b'] }],
    ['svc_delete_island', {}],
    ['svc_create_island', {}],
  ] as const) {
    const denied = await operator.fails('E_ISLAND_WRITE_DENIED', tool, { name: island, brain, ...args });
    expect([tool, denied.status]).toEqual([tool, 403]);
    await viewer.fails('FORBIDDEN', tool, { name: island, brain, ...args });
  }
  const bulk = { brain, islands: [{ name: newName('free') }, { name: island }] };
  await operator.fails('E_ISLAND_WRITE_DENIED', 'svc_bulk_create_islands', bulk);
  const write = { name: `islands/${island}`, content: 'mine', brain };
  await operator.fails('E_ISLAND_WRITE_DENIED', 'brain_write', write);
  const declared = { userCtx: { userId: 'u', workspace, roles: ['editor'] } };
  await operator.fails('RLS_DENIED', 'svc_disable_island', { name: island, brain, ...declared });
  expect(await insider.ok('svc_get_island', { name: island, brain })).toEqual(before);
  const admin = { userCtx: { userId: 'u', workspace, roles: ['admin'] } };
  expect(await operator.ok('svc_disable_island', { name: island, brain, ...admin })).toMatchObject({ changed: true });
});

verifies('islands:can-access', async (scenario) => {
  const { user: operator } = await scenario.fresh();
  const { workspace, viewer, viewerId } = await gather(scenario, operator);
  const name = newName('ops');
  expect(await viewer.ok('islands_canAccess', { name, mode: 'write' })).toMatchObject({ gated: false, allowed: true });
  await gate(operator, name, { container: workspace, readableBy: ['role:viewer'], writableBy: ['role:admin'] });
  const claimed = { userCtx: { roles: ['admin'] } };
  expect(await viewer.ok('islands_canAccess', { name, mode: 'write', ...claimed })).toMatchObject({
    name,
    mode: 'write',
    allowed: false,
    gated: true,
    verified: true,
    resolved: { userId: viewerId, workspace },
  });
  expect(await viewer.ok('islands_canAccess', { name })).toMatchObject({ mode: 'read', allowed: true });
  const admin = { userCtx: { userId: 'u', workspace, roles: ['admin'] } };
  expect(await operator.ok('islands_canAccess', { name, mode: 'write', ...admin })).toMatchObject({
    allowed: true,
    verified: false,
    resolved: { userId: 'u', workspace, roles: ['admin'] },
  });
  expect(await operator.ok('islands_canAccess', { name, mode: 'write' })).toMatchObject({
    allowed: false,
    resolved: { anonymous: true },
  });
  await operator.fails('VAF_INPUT_INVALID', 'islands_canAccess', { name, mode: 'delete' });
});

verifies('islands:user-ctx', async (scenario) => {
  const { user: operator, brain } = await scenario.fresh();
  const { team, workspace, viewer } = await gather(scenario, operator);
  const name = newName('ops');
  await operator.ok('svc_create_island', { name, content: 'x' });
  await gate(operator, name, { container: workspace, readableBy: [`team:${team}`] });
  const userCtx = { userId: 'u', workspace, team };
  await operator.fails('RLS_DENIED', 'svc_load_island', { name, brain });
  for (const args of [{ userCtx }, { options: { userCtx } }, { options: { userCtx, brain } }]) {
    expect(await operator.ok('svc_load_island', { name, brain, ...args })).toMatchObject({ loaded: true });
    await viewer.fails('RLS_DENIED', 'svc_load_island', { name, brain, ...args });
  }
  expect(await operator.ok('svc_find_islands_by_trigger', { trigger: 'x', brain, userCtx })).toMatchObject({
    count: 0,
  });
  expect(await operator.ok('svc_export_islands', { brain, userCtx })).toMatchObject({
    islands: [{ name, content: 'x' }],
  });
});

verifies('islands:data', async (scenario) => {
  const { user: operator, brain } = await scenario.fresh();
  const { workspace, viewer, insider } = await gather(scenario, operator);
  const name = newName('staff');
  await operator.ok('svc_create_island', { name, content: { who: 'Ann', salary: 91_357, phone: '555-0199' } });
  await gate(operator, name, {
    container: workspace,
    readableBy: ['role:viewer', 'role:admin'],
    writableBy: ['role:admin'],
    filter: ['salary'],
    mask: ['phone'],
  });
  const data = { who: 'Ann', phone: '[masked]' };
  expect((await viewer.ok('svc_load_island', { name, brain })).data).toEqual(data);
  expect(await viewer.ok('svc_export_islands', { brain })).toMatchObject({ islands: [{ name, data }] });
  const { content } = await viewer.ok('brain_read', { name: `islands/${name}.json`, brain });
  expect(JSON.parse(String(content))).toMatchObject({ island: { enabled: true }, data });
  for (const [tool, args] of [
    ['svc_load_island', { name }],
    ['svc_export_islands', {}],
    ['svc_get_island', { name }],
    ['brain_read', { name: `islands/${name}.json` }],
    ['brain_corpus', { content: true }],
  ] as const) {
    expect((await viewer.call(tool, { ...args, brain })).text, tool).not.toMatch(/91357|555-0199/);
  }
  for (const query of ['91357', '0199']) {
    expect(await viewer.ok('svc_search', { query, brain })).toMatchObject({ results: [], total: 0 });
  }
  await insider.ok('svc_update_island_triggers', { name, brain, triggers: ['pay'] });
  await gate(operator, name, { container: workspace, readableBy: ['role:viewer'], writableBy: ['role:admin'] });
  expect((await viewer.ok('svc_load_island', { name, brain })).data).toEqual({
    who: 'Ann',
    salary: 91_357,
    phone: '555-0199',
  });
});

verifies(
  'islands:gated-read',
  async (scenario) => {
    const { user: operator, brain } = await scenario.fresh();
    const { team, workspace, viewer, insider } = await gather(scenario, operator);
    const { token } = await operator.ok('svc_habitat_mintToken', { agentId: await adminOf(operator, workspace) });
    const asAdmin = await scenario.socket({ auth: { token: String(token) } });
    const asViewer = await scenario.socket({ auth: { token: viewer.headers()['x-habitat-token'] ?? '' } });
    const island = newName('ops');
    await operator.ok('svc_create_island', { name: island, content: 'x' });
    await gate(operator, island, { container: workspace, readableBy: [`team:${team}`, 'role:admin'] });
    await viewer.fails('RLS_DENIED', 'svc_get_island', { name: island, brain });
    await asAdmin.until('the denial', (event) => event.name === 'island:denied' && event.island === island);
    await insider.ok('brain_write', { name: newName('later'), content: 'x', brain });
    await waitFor(() => asViewer.of(brain).some(({ file }) => String(file).startsWith('later')), {
      what: 'what came after the denial',
    });
    expect(asViewer.heard.filter(({ name }) => name === 'island:denied')).toEqual([]);
  },
  { title: 'the denial is told to admins of the container alone' },
);

async function adminOf(operator: Caller, workspaceId: string): Promise<string> {
  const userId = newName('admin');
  await operator.ok('svc_habitat_addRole', { workspaceId, userId, role: 'admin' });
  return userId;
}
