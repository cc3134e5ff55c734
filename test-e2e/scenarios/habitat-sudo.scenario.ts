/** Sudo: scopes asked for, granted, denied and taken back. */
import { expect } from 'vitest';
import { type Caller, codeOf, type Fields } from '../client.ts';
import { addMember, createMembers, memberAt } from '../instruments/members.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

interface Setting {
  readonly workspace: string;
  readonly owner: { readonly id: string; readonly caller: Caller };
  readonly admin: { readonly id: string; readonly caller: Caller };
  readonly other: { readonly id: string; readonly caller: Caller };
  readonly taskId: string;
}

/** An editor with a task, an admin and another editor. */
async function setting(place: TargetPlace): Promise<Setting> {
  const created = await createMembers(place, 'editor', 'admin', 'editor');
  const [owner, admin, other] = [memberAt(created, 0), memberAt(created, 1), memberAt(created, 2)];
  const { taskId } = await owner.caller.ok('svc_sudo_createTask', { scopes: [] });
  return { workspace: created.workspace, owner, admin, other, taskId: String(taskId) };
}

const held = async (who: Caller, taskId: string, scope: string) =>
  (await who.ok('svc_sudo_can', { taskId, scope })).allowed;

verifies('habitat:sudo:pending', async ({ place, caller }) => {
  const { owner, admin, taskId } = await setting(place);
  const asked = await owner.caller.ok('sudo_escalate', { task: taskId, level: 'admin' });
  expect(asked).toEqual({
    granted: false,
    pending: true,
    scope: 'admin',
    requestId: expect.any(String),
    expiresAt: expect.any(Number),
  });
  expect(await owner.caller.ok('svc_sudo_can', { taskId, scope: 'admin' })).toEqual({
    task: taskId,
    taskId,
    scope: 'admin',
    allowed: false,
    because: 'no-grant',
  });
  await admin.caller.fails('FORBIDDEN', 'svc_sudo_grant', { taskId, scope: 'admin' });
  const granted = await caller().ok('svc_sudo_grant', { taskId, scope: 'canAdmin' });
  expect(granted).toMatchObject({ granted: 'admin', requestId: asked.requestId });
  expect(await held(owner.caller, taskId, 'admin')).toBe(true);
  expect(await held(owner.caller, taskId, 'exec:python')).toBe(true);
  expect(await owner.caller.ok('svc_sudo_getTask', { taskId })).toMatchObject({
    scopes: ['admin'],
    level: 10,
    requests: [{ requestId: asked.requestId, state: 'granted' }],
  });
});

verifies('habitat:sudo:revoke', async ({ place, caller }) => {
  const { owner, taskId } = await setting(place);
  const operators = [caller(), caller({ gateway: 1 })];
  const owners = [owner.caller, owner.caller.with({ gateway: 1 })];
  for (let round = 0; round < 20; round += 1) {
    const [by, other] = round % 2 === 0 ? operators : operators.toReversed();
    const granted = await by?.ok('svc_sudo_grant', { taskId, scope: 'exec' });
    for (const who of owners) {
      const can = await who.ok('svc_sudo_can', { taskId, scope: 'exec' });
      expect(can).toMatchObject({ allowed: true, because: 'exec', expiresAt: granted?.expiresAt });
    }
    const leftMs = Number(granted?.expiresAt) - Date.now();
    expect(leftMs).toBeGreaterThan(500_000);
    expect(leftMs).toBeLessThan(700_000);
    expect(await other?.ok('svc_sudo_revoke', { taskId, scope: 'exec' })).toMatchObject({ revoked: true });
    expect(await Promise.all(owners.map((who) => held(who, taskId, 'exec')))).toEqual([false, false]);
  }
});

verifies('habitat:sudo:self', async ({ place, caller }) => {
  const { owner, admin, taskId } = await setting(place);
  for (const { id, caller: own } of [owner, admin]) {
    await own.fails('FORBIDDEN', 'sudo_grant', { agentId: id, capability: 'canNetwork' });
    expect(await own.ok('sudo_can', { agentId: id, action: 'network' })).toMatchObject({ allowed: false });
  }
  await owner.caller.fails('FORBIDDEN', 'svc_sudo_grant', { taskId, scope: 'network' });
  await owner.caller.ok('svc_sudo_escalate', { taskId, scope: 'network' });
  await owner.caller.fails('FORBIDDEN', 'svc_sudo_revoke', { taskId, scope: 'network' });
  const { granted } = await admin.caller.ok('sudo_grant', { agentId: owner.id, capability: 'canNetwork' });
  expect(granted).toBe('network');
  expect(await caller().ok('sudo_can', { agentId: owner.id, action: 'canNetwork' })).toMatchObject({ allowed: true });
});

verifies('habitat:sudo:parts', async ({ place }) => {
  const { owner, admin, other } = await setting(place);
  const may = async (who: Setting['owner'], action: string) =>
    (await who.caller.ok('sudo_can', { agentId: who.id, action })).allowed;
  await admin.caller.ok('sudo_grant', { agentId: owner.id, capability: 'network' });
  await admin.caller.ok('sudo_grant', { agentId: other.id, capability: 'network:x.org' });
  expect([await may(owner, 'network:x.org'), await may(owner, 'exec')]).toEqual([true, false]);
  expect([await may(other, 'network:x.org'), await may(other, 'network:y.org'), await may(other, 'network')]).toEqual([
    true,
    false,
    false,
  ]);
  await admin.caller.refused('E_SUDO_SCOPE', 'sudo_grant', { agentId: owner.id, capability: 'network:' });
  await admin.caller.refused('E_SUDO_SCOPE', 'sudo_grant', { agentId: owner.id, capability: 'everything' });
});

verifies('habitat:sudo:unknown-task', async ({ place, caller }) => {
  const { taskId } = await setting(place);
  const stranger = memberAt(await createMembers(place, 'admin'), 0);
  const absent = newName('task');
  const operator = caller();
  for (const tool of ['svc_sudo_grant', 'svc_sudo_revoke', 'svc_sudo_escalate']) {
    await operator.refused('E_SUDO_TASK_ABSENT', tool, { taskId: absent, scope: 'read' });
    await stranger.caller.refused('E_SUDO_TASK_ABSENT', tool, { taskId, scope: 'read' });
  }
  expect(await operator.refused('E_SUDO_TASK_ABSENT', 'sudo_escalate', { task: absent })).toMatchObject({
    granted: false,
  });
  await operator.refused('E_SUDO_TASK_ABSENT', 'svc_sudo_getTask', { taskId: absent });
  expect(await operator.ok('svc_sudo_getTask', { taskId })).toMatchObject({ grants: [], requests: [], history: [] });
  expect(await stranger.caller.ok('svc_sudo_listTasks')).toEqual({ tasks: [] });
});

verifies('habitat:sudo:nobody-else', async ({ place, caller }) => {
  const operator = caller();
  const team = newName('t').replaceAll('-', '');
  const spawn = async (over: Fields) =>
    addMember(place, `org-${team}`, 'editor', String((await operator.ok('agent_spawn', { team, ...over })).agentId));
  const parent = await spawn({ name: 'parent' });
  const child = await spawn({ name: 'child', parent: parent.id });
  const other = await spawn({ name: 'other' });
  const { taskId } = await child.caller.ok('svc_sudo_createTask');
  await operator.ok('sudo_grant', { agentId: parent.id, capability: 'network' });
  expect(await parent.caller.ok('sudo_can', { agentId: parent.id, action: 'network' })).toMatchObject({
    allowed: true,
  });
  for (const { id, caller: own } of [child, other]) {
    expect(await own.ok('sudo_can', { agentId: id, action: 'network' })).toMatchObject({ allowed: false });
  }
  expect(await held(child.caller, String(taskId), 'network')).toBe(false);
  await other.caller.fails('FORBIDDEN', 'sudo_can', { agentId: parent.id, action: 'network' });
  await operator.ok('agent_kill', { id: parent.id });
  expect(await operator.ok('sudo_can', { agentId: parent.id, action: 'network' })).toMatchObject({ allowed: false });
});

verifies('habitat:sudo:rate', async ({ place }) => {
  const { owner, taskId } = await setting(place);
  const wish = { taskId, scope: 'spawn' };
  const ask = (index: number) => owner.caller.call('svc_sudo_escalate', wish, { gateway: index % 2 });
  const codes = (await Promise.all(Array.from({ length: 25 }, (_, index) => ask(index)))).map(codeOf);
  expect(codes.filter((code) => code === null)).toHaveLength(20);
  expect(codes.filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(5);
  expect((await owner.caller.ok<{ requests: Fields[] }>('svc_sudo_getTask', { taskId })).requests).toHaveLength(1);
});

verifies('habitat:sudo:race', async ({ place, report }) => {
  const won: string[] = [];
  for (let round = 0; round < 12; round += 1) {
    const { workspace, owner, admin, taskId } = await setting(place);
    const second = await addMember(place, workspace, 'admin');
    const scope = 'network';
    const { requestId } = await owner.caller.ok('svc_sudo_escalate', { taskId, scope });
    const approve = () => admin.caller.call('svc_sudo_grant', { taskId, scope });
    const deny = () => second.caller.with({ gateway: 1 }).call('svc_sudo_revoke', { taskId, scope });
    const approveFirst = round % 2 === 0;
    const replies = await Promise.all(approveFirst ? [approve(), deny()] : [deny(), approve()]);
    const codes = (approveFirst ? replies : replies.toReversed()).map(codeOf);
    const isHeld = await held(owner.caller, taskId, scope);
    expect(codes).toEqual(isHeld === true ? [null, 'FORBIDDEN'] : ['FORBIDDEN', null]);
    const state = isHeld === true ? 'granted' : 'denied';
    expect(await owner.caller.ok('svc_sudo_getTask', { taskId })).toMatchObject({
      requests: [{ requestId, state, endedBy: isHeld === true ? admin.id : second.id }],
    });
    won.push(state);
  }
  report(`approvals that won against a denial at once: ${won.filter((state) => state === 'granted').length} of 12`);
});

verifies('habitat:sudo:events', async ({ place, socket }) => {
  const { owner, admin, other, taskId } = await setting(place);
  const listen = async (who: Setting['owner']) =>
    socket({ auth: { token: who.caller.headers()['x-habitat-token'] ?? '' } });
  const [ofOwner, ofAdmin, ofOther] = [await listen(owner), await listen(admin), await listen(other)];
  const principal = `task:${taskId}`;
  const named = (name: string) => (event: Fields) => event.principal === principal && event.name === name;
  const { requestId } = await owner.caller.ok('svc_sudo_escalate', { taskId, scope: 'network' });
  const asked = await ofAdmin.until('the request', named('sudo:requested'));
  expect(asked).toMatchObject({ scope: 'network', requestId, by: owner.id });
  await admin.caller.ok('svc_sudo_grant', { taskId, scope: 'network' });
  const granted = await ofOwner.until('the grant', named('sudo:granted'));
  expect(granted).toMatchObject({ scope: 'network', by: admin.id, expiresAt: expect.any(Number) });
  await ofAdmin.until('its own grant', named('sudo:granted'));
  await admin.caller.ok('svc_sudo_revoke', { taskId, scope: 'network' });
  await ofOwner.until('the end', named('sudo:revoked'));
  expect(ofOther.heard.filter((event) => event.principal === principal)).toEqual([]);
});
