/** What a deployment can reach, and how sessions begin and end their work. */
import { expect } from 'vitest';
import { createMembers, memberAt } from '../instruments/members.ts';
import { newName, verifies } from '../verifies.ts';

const OPTIONAL = ['remote-host', 'embedder', 'peers'];

verifies('connectors:listed', async ({ caller, place, socket }) => {
  const operator = caller();
  const ears = await socket({ gateway: 1 });
  const { connectors } = await operator.ok<{ connectors: { service: string; missing: string[] }[] }>(
    'svc_connector_list',
  );
  const servers = place.kind === 'cluster' ? 'up' : 'off';
  for (const service of ['postgres', 'bus', 'queue']) {
    expect(connectors).toContainEqual(expect.objectContaining({ service, state: servers }));
  }
  const off = { configured: false, state: 'off', checkedAt: null };
  for (const service of OPTIONAL) expect(connectors).toContainEqual(expect.objectContaining({ service, ...off }));
  const host = { service: 'remote-host', missing: ['HOST_TOKEN', 'HOST_REPO'] };
  expect(connectors).toContainEqual(expect.objectContaining(host));
  for (const service of OPTIONAL) {
    const { missing } = connectors.find((one) => one.service === service) ?? {};
    expect(await operator.refused('E_NOT_CONFIGURED', 'svc_connector_connect', { service })).toMatchObject({
      connected: false,
      service,
      missing,
    });
  }
  await operator.refused('E_CONNECTOR_ABSENT', 'svc_connector_connect', { service: 'constructor' });
  if (place.kind !== 'cluster') return;
  for (const [service, detail] of [
    ['postgres', 'PostgreSQL'],
    ['bus', 'NATS'],
    ['queue', 'Redis'],
  ] as const) {
    const answer = await operator.ok('svc_connector_connect', { service });
    expect(answer).toMatchObject({ service, connected: true, detail: expect.stringContaining(detail) });
    await ears.until(`contact with ${service}`, (event) => event['connector'] === service && event['code'] === null);
  }
});

verifies('boot:scopes', async ({ place, caller }) => {
  const { caller: viewer } = memberAt(await createMembers(place, 'viewer'), 0);
  const begun = await viewer.ok('svc_boot_init', { scopes: ['read', 'admin'] });
  expect(begun).toMatchObject({ success: true, taskId: 'default', scopes: ['read'], alreadyInitialized: false });
  expect(begun['pending']).toEqual([{ scope: 'admin', requestId: expect.any(String) }]);
  expect(await viewer.with({ gateway: 1 }).ok('svc_boot_status')).toMatchObject({
    initialized: true,
    taskId: 'default',
    scopes: ['read'],
    ready: true,
    error: null,
  });
  expect(await viewer.ok('svc_boot_init', { scopes: ['read'] })).toMatchObject({ alreadyInitialized: true });
  const operator = caller();
  expect(await operator.ok('svc_boot_init', { scopes: ['admin'] })).toMatchObject({ scopes: ['admin'], pending: [] });
  await operator.ok('svc_boot_reset');
});

verifies('boot:sessions', async ({ place, socket }) => {
  const { id, caller: ann } = memberAt(await createMembers(place, 'editor'), 0);
  const ears = await socket({ gateway: 1 });
  const [one, other] = [ann.with({ session: newName('s') }), ann.with({ session: newName('s') })];
  for (const session of [one, other]) await session.ok('svc_boot_init', { taskId: 'work', scopes: ['write', 'exec'] });
  expect(await one.ok('svc_boot_reset')).toEqual({ reset: true, taskId: 'work' });
  expect(await one.ok('svc_boot_reset')).toEqual({ reset: true, taskId: null });
  expect(await one.ok('svc_boot_status')).toMatchObject({ initialized: false, taskId: null, scopes: [] });
  expect(await other.ok('svc_boot_status')).toMatchObject({ initialized: true, scopes: ['write'] });
  const again = await one.ok('svc_boot_init', { taskId: 'work', scopes: ['read', 'exec'] });
  expect(again).toMatchObject({ scopes: ['read'], pending: [{ scope: 'exec' }], alreadyInitialized: false });
  expect(await one.ok('svc_boot_init', { taskId: 'play' })).toMatchObject({ taskId: 'play', scopes: ['read'] });
  await one.ok('svc_boot_init', { taskId: 'work', scopes: [] });
  expect(await one.ok('svc_boot_status')).toMatchObject({ taskId: 'work', scopes: [] });
  await ears.until('a session that began', ({ name, by }) => name === 'boot:initialized' && by === id);
  await ears.until('a session that ended', ({ name, by }) => name === 'boot:reset' && by === id);
  const { layers } = await ann.ok<{ layers: { name: string; state: string; order: number }[] }>('svc_boot_layers');
  expect(layers.map(({ order }) => order)).toEqual(layers.map((_layer, index) => index + 1));
  expect(layers.filter(({ state }) => state === 'down')).toEqual([]);
  expect(layers).toContainEqual(expect.objectContaining({ name: 'sync', state: 'off' }));
});

verifies('boot:refused', async ({ place, caller }) => {
  const { members } = await createMembers(place, 'viewer', 'viewer');
  const [first, second] = members.map((member) => member.caller);
  const session = newName('s');
  const [ann, bob] = members.map(({ id }) => caller({ session, headers: { 'x-svc-agent': id } }));
  if (ann === undefined || bob === undefined || first === undefined || second === undefined)
    throw new Error('nobody is there');
  await ann.ok('svc_boot_init', { taskId: 'ours' });
  await bob.refused('E_SUDO_TASK_EXISTS', 'svc_boot_init', { taskId: 'ours' });
  await ann.ok('svc_boot_reset');
  await second.fails('VAF_INPUT_INVALID', 'svc_sudo_createTask', { taskId: 'boot.0123456789abcdef.default' });
  expect(await first.refused('E_SUDO_SCOPE', 'svc_boot_init', { scopes: ['root'] })).toMatchObject({
    taskId: 'default',
  });
  const hosts = (from: number) => Array.from({ length: 11 }, (_, index) => `network:h${from + index}.example.org`);
  await first.ok('svc_boot_init', { scopes: hosts(0) });
  await first.refused('E_RATE_LIMIT', 'svc_boot_init', { scopes: hosts(11) });
  await Promise.all(Array.from({ length: 100 }, () => second.ok('svc_sudo_createTask', { scopes: [] })));
  await second.refused('E_QUOTA', 'svc_boot_init');
});
