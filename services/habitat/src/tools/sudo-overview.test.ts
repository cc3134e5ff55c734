import { expect, test } from 'vitest';
import { SCOPE_NAMES } from '../domain/sudo-scopes.ts';
import { sweepSudo } from '../store/sudo-rows.ts';
import { freshId, sudoBed } from '../../testing/sudo-test-bed.ts';
import { codeOf, enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();
const bed = sudoBed(node);

test('to strangers a task is not there', async () => {
  const { owner, admin, other, stranger, taskId } = await bed.cast(['read']);
  for (const who of [other, stranger]) {
    expect(await bed.can(who, taskId, 'read')).toMatchObject({ allowed: false, because: 'no-grant' });
    expect(await who.code('svc_sudo_getTask', { taskId })).toBe('E_SUDO_TASK_ABSENT');
    expect(await who.code('svc_sudo_suggest', { taskId })).toBe('E_SUDO_TASK_ABSENT');
    for (const tool of ['svc_sudo_grant', 'svc_sudo_revoke', 'svc_sudo_escalate']) {
      expect(await who.call(tool, { taskId, scope: 'network' })).toMatchObject({ code: 'E_SUDO_TASK_ABSENT' });
    }
    expect(await who.call('svc_sudo_listTasks')).toEqual({ tasks: [] });
    expect(await who.call('svc_sudo_getLayerStatus')).toMatchObject({ tasks: 0, grants: 0, pending: 0 });
  }
  expect(await stranger.code('svc_sudo_createTask', { taskId })).toBe('E_SUDO_TASK_EXISTS');
  expect(await codeOf(node.call('svc_sudo_createTask', { taskId }))).toBe('E_SUDO_TASK_EXISTS');
  expect(await admin.call('svc_sudo_getTask', { taskId })).toMatchObject({ owner: owner.id, scopes: ['read'] });
  expect(await admin.code('svc_sudo_escalate', { taskId, scope: 'read' })).toBe('FORBIDDEN');
  expect(await bed.can(admin, taskId, 'read')).toMatchObject({ allowed: true });
});

test('lists show own tasks, those of workspaces one runs, and everything to operators, page by page', async () => {
  const { owner, admin, other } = await bed.cast(['read']);
  for (let index = 0; index < 4; index += 1) await owner.call('svc_sudo_createTask', { scopes: ['read', 'network'] });
  await other.call('svc_sudo_createTask', { scopes: [] });
  const { tasks } = await owner.call('sudo_listTasks');
  expect(tasks).toHaveLength(5);
  expect((tasks as object[])[0]).toEqual({
    taskId: expect.any(String),
    owner: owner.id,
    scopes: ['read'],
    level: 1,
    pending: 1,
    expiresAt: expect.any(Number),
  });
  const seen: unknown[] = [];
  for (let cursor: unknown; ; ) {
    const reply = await admin.call('svc_sudo_listTasks', { limit: 4, ...(cursor === undefined ? {} : { cursor }) });
    seen.push(...(reply.tasks as { id: string }[]).map(({ id }) => id));
    if (reply.nextCursor === undefined) break;
    cursor = reply.nextCursor;
  }
  expect(seen).toHaveLength(6);
  expect(new Set(seen).size).toBe(6);
  const all = (await node.call('svc_sudo_listTasks', { limit: 1000 })).tasks as { id: string; history: number }[];
  expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(seen));
  expect(all.find(({ id }) => id === (tasks as { taskId: string }[])[0]?.taskId)?.history).toBe(3);
  await expect(owner.call('sudo_listTasks', { cursor: 'Yzp4' })).rejects.toThrow('VAF_INPUT_INVALID');
  expect(await admin.call('svc_sudo_getLayerStatus')).toEqual({
    name: 'sudo',
    type: 'layer',
    version: '0',
    enabled: true,
    tasks: 6,
    grants: 5,
    pending: 4,
  });
});

test('what is held and not used for ten minutes is suggested to be dropped', async () => {
  const { owner, taskId } = await bed.cast(['read', 'write']);
  const suggested = async () => (await owner.call('svc_sudo_suggest', { taskId })).suggestions;
  const age = () =>
    bed.sql(
      `UPDATE habitat.sudo_grants SET granted_at = granted_at - interval '10 minutes',
         used_at = used_at - interval '10 minutes' WHERE principal = $1`,
      `task:${taskId}`,
    );
  expect(await suggested()).toEqual([]);
  await age();
  expect(await bed.can(owner, taskId, 'write')).toMatchObject({ allowed: true });
  expect(await suggested()).toMatchObject([{ scope: 'read', action: 'drop', count: 1 }]);
  const used = () => node.rows(`SELECT used_at FROM habitat.sudo_grants WHERE principal = $1`, `task:${taskId}`);
  const before = await used();
  await bed.can(owner, taskId, 'write:doc');
  expect(await used()).toEqual(before);
  await age();
  expect(await suggested()).toHaveLength(2);
});

test('the scopes are public', async () => {
  const { scopes } = await node.call('svc_sudo_getScopes', {}, { subject: {}, operator: false });
  expect((scopes as { scope: string }[]).map(({ scope }) => scope)).toEqual(SCOPE_NAMES);
  expect(scopes).toContainEqual({ scope: 'exec', level: 6, capability: 'canExec', grantedBy: ['operator'] });
  const anonymous = { subject: { workspace: 'default' }, operator: false };
  await expect(node.call('sudo_can', { agentId: 'a', action: 'read' }, anonymous)).rejects.toThrow('UNAUTHORIZED');
});

test('a request is told to the admins of the workspace, a grant to those concerned', async () => {
  const { owner, taskId } = await bed.cast();
  await owner.call('svc_sudo_escalate', { taskId, scope: 'network' });
  const [asked] = await bed.events(`task:${taskId}`);
  expect(asked).toMatchObject({ name: 'sudo:requested', workspace: expect.stringMatching(/^ws-/) });
  await node.call('svc_sudo_grant', { taskId, scope: 'network' });
  const [, granted] = await node.rows<{ payload: { parties: string[] } }>(
    `SELECT payload FROM habitat.outbox WHERE payload->>'principal' = $1 ORDER BY written, line`,
    `task:${taskId}`,
  );
  expect(granted?.payload.parties).toEqual([owner.id, 'operator']);
});

test('a token that is bound elsewhere sees and opens nothing here', async () => {
  const { owner, taskId } = await bed.cast(['read']);
  const bound = await enrol(node, owner.id, { workspace: freshId('ws-'), bound: true });
  expect(await bed.can(bound, taskId, 'read')).toMatchObject({ allowed: false });
  expect(await bound.code('svc_sudo_escalate', { taskId, scope: 'read' })).toBe('E_SUDO_TASK_ABSENT');
  expect(await bound.call('sudo_listTasks')).toEqual({ tasks: [] });
  expect(await bound.code('svc_sudo_createTask', { taskId })).toBe('E_SUDO_TASK_EXISTS');
});

test('the sweep takes what has been over for a day, and nothing else', async () => {
  const { taskId } = await bed.cast(['read', 'exec']);
  const { taskId: old } = await bed.cast(['read', 'exec']);
  await sweepSudo(node.deps.store.client);
  await bed.sql(`UPDATE habitat.sudo_tasks SET expires_at = now() - interval '25 hours' WHERE task_id = $1`, old);
  await bed.sql(
    `UPDATE habitat.sudo_grants SET expires_at = now() - interval '25 hours' WHERE principal = $1`,
    `task:${old}`,
  );
  for (const table of ['sudo_requests', 'sudo_history']) {
    await bed.sql(`UPDATE habitat.${table} SET at = now() - interval '49 hours' WHERE principal = $1`, `task:${old}`);
  }
  expect(await sweepSudo(node.deps.store.client)).toBe(6);
  expect(await node.call('svc_sudo_getTask', { taskId })).toMatchObject({ scopes: ['read'], requests: [{}] });
});
