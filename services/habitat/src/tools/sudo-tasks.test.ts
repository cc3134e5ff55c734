import { expect, test } from 'vitest';
import { freshId, sudoBed } from '../../testing/sudo-test-bed.ts';
import { codeOf, enrol } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

const { node } = useHabitat();
const bed = sudoBed(node);

test('a task holds what its owner gets at once; the rest waits until somebody grants it', async () => {
  const { owner, admin } = await bed.cast();
  const task = await owner.call('svc_sudo_createTask', { scopes: ['canRead', 'write', 'admin', 'read'] });
  const taskId = String(task.taskId);
  expect(task).toEqual({
    taskId: expect.stringMatching(/^tsk_/),
    scopes: ['read', 'write'],
    pending: [{ scope: 'admin', requestId: expect.stringMatching(/^req_/) }],
    level: 3,
    expiresAt: expect.any(Number),
    created: true,
  });
  expect(Number(task.expiresAt) - Date.now()).toBeGreaterThan(86_000_000);
  const { requestId } = (task.pending as { requestId: string }[])[0] ?? {};
  expect(await owner.call('svc_sudo_escalate', { taskId, scope: 'admin' })).toMatchObject({
    granted: false,
    pending: true,
    scope: 'admin',
    requestId,
  });
  expect(await bed.can(owner, taskId, 'admin')).toEqual({
    task: taskId,
    taskId,
    scope: 'admin',
    allowed: false,
    because: 'no-grant',
  });
  expect(await admin.code('svc_sudo_grant', { taskId, scope: 'admin' })).toBe('FORBIDDEN');
  const granted = await node.call('svc_sudo_grant', { taskId, scope: 'canAdmin' });
  expect(granted).toEqual({ task: taskId, taskId, granted: 'admin', expiresAt: expect.any(Number), requestId });
  expect(Math.abs(Number(granted.expiresAt) - Date.now() - 600_000)).toBeLessThan(20_000);
  expect(await bed.can(owner, taskId, 'exec:python')).toMatchObject({
    allowed: true,
    because: 'admin',
    expiresAt: granted.expiresAt,
  });
  expect(await node.registry.sudo({ principal: `task:${taskId}`, scope: 'spawn' })).toEqual({
    allowed: true,
    because: 'admin',
    expiresAt: granted.expiresAt,
  });
  expect(await owner.call('svc_sudo_getTask', { taskId })).toMatchObject({
    owner: owner.id,
    level: 10,
    requests: [{ requestId, state: 'granted', endedBy: 'operator', by: owner.id }],
  });
});

test('a grant ends at its time without any sweep, and a revoked one at once', async () => {
  const { owner, taskId } = await bed.cast();
  const principal = `task:${taskId}`;
  await node.call('svc_sudo_grant', { taskId, scope: 'exec' });
  expect(await bed.can(owner, taskId, 'exec')).toMatchObject({ allowed: true });
  await bed.expire('sudo_grants', 'principal', principal);
  expect(await bed.can(owner, taskId, 'exec')).toMatchObject({ allowed: false, because: 'no-grant' });
  expect(await node.call('svc_sudo_revoke', { taskId, scope: 'exec' })).toMatchObject({ revoked: false });
  await node.call('svc_sudo_grant', { taskId, scope: 'exec' });
  expect(await owner.call('svc_sudo_revoke', { taskId, scope: 'exec' })).toEqual({
    task: taskId,
    taskId,
    scope: 'exec',
    revoked: true,
  });
  expect(await bed.can(owner, taskId, 'exec')).toMatchObject({ allowed: false });
  expect(await node.audited('principal', principal)).toEqual(['sudo:granted', 'sudo:granted', 'sudo:revoked']);
});

test('a grant for a task that is not there creates nothing', async () => {
  for (const tool of ['svc_sudo_grant', 'svc_sudo_revoke', 'svc_sudo_escalate']) {
    expect(await codeOf(node.call(tool, { taskId: 'nowhere', scope: 'read' }))).toBe('E_SUDO_TASK_ABSENT');
  }
  expect(await node.call('sudo_escalate', { task: 'nowhere' })).toMatchObject({
    granted: false,
    error: expect.any(String),
    code: 'E_SUDO_TASK_ABSENT',
  });
  for (const table of ['sudo_grants', 'sudo_requests', 'sudo_history', 'sudo_tasks']) {
    const where = table === 'sudo_tasks' ? "task_id = 'nowhere'" : "principal = 'task:nowhere'";
    expect(await node.rows(`SELECT 1 FROM habitat.${table} WHERE ${where}`)).toEqual([]);
  }
});

test('levels, names and parts may be asked for', async () => {
  const { owner, taskId } = await bed.cast();
  const ask = (level?: unknown) =>
    owner.call('sudo_escalate', { task: taskId, ...(level === undefined ? {} : { level }) });
  expect(await ask()).toMatchObject({ granted: true, pending: false, scope: 'read' });
  expect(await ask(4)).toMatchObject({ granted: true, scope: 'write' });
  expect(await ask('9')).toMatchObject({ granted: false, pending: true, scope: 'sudo' });
  expect(await ask('canExec')).toMatchObject({ pending: true, scope: 'exec' });
  expect(await ask('network:x.org')).toMatchObject({ pending: true, scope: 'network:x.org' });
  for (const level of ['root', '0', '11'])
    expect(await ask(level)).toMatchObject({ granted: false, code: 'E_SUDO_SCOPE' });
  for (const level of [0, 11, 1.5]) await expect(ask(level)).rejects.toThrow('VAF_INPUT_INVALID');
  const viewer = await enrol(node, freshId(), { role: 'viewer' });
  const theirs = String((await viewer.call('svc_sudo_createTask', { scopes: ['read', 'write'] })).taskId);
  expect(await viewer.call('svc_sudo_getTask', { taskId: theirs })).toMatchObject({
    scopes: ['read'],
    requests: [{ scope: 'write', state: 'pending' }],
  });
  expect(await node.call('svc_sudo_escalate', { taskId: theirs, scope: 'exec' })).toMatchObject({ granted: true });
});

test('the 21st escalation of a minute is refused, however they come', async () => {
  const { owner, taskId } = await bed.cast();
  const codes = await Promise.all(
    Array.from({ length: 25 }, () => owner.code('svc_sudo_escalate', { taskId, scope: 'network' })),
  );
  expect(codes.filter((code) => code === null)).toHaveLength(20);
  expect(codes.filter((code) => code === 'E_RATE_LIMIT')).toHaveLength(5);
  expect(await node.rows('SELECT 1 FROM habitat.sudo_requests WHERE principal = $1', `task:${taskId}`)).toHaveLength(1);
  await bed.sql(
    `UPDATE habitat.sudo_history SET at = at - interval '61 seconds' WHERE principal = $1`,
    `task:${taskId}`,
  );
  expect(await owner.code('sudo_escalate', { task: taskId, level: 1 })).toBeNull();
});

test('a denied request stays denied until the owner asks again', async () => {
  const { owner, admin, taskId } = await bed.cast();
  const principal = `task:${taskId}`;
  await owner.call('svc_sudo_escalate', { taskId, scope: 'network', reason: 'prices' });
  expect(await owner.code('svc_sudo_revoke', { taskId, scope: 'network' })).toBe('FORBIDDEN');
  expect(await admin.call('svc_sudo_revoke', { taskId, scope: 'network' })).toMatchObject({ revoked: true });
  expect(await admin.call('svc_sudo_revoke', { taskId, scope: 'network' })).toMatchObject({ revoked: false });
  expect(await admin.code('svc_sudo_grant', { taskId, scope: 'network' })).toBe('FORBIDDEN');
  expect(await owner.call('svc_sudo_suggest', { taskId })).toMatchObject({
    suggestions: [{ scope: 'network', action: 'request', count: 1 }],
  });
  const { requestId } = await owner.call('svc_sudo_escalate', { taskId, scope: 'network', reason: 'again' });
  expect(await admin.call('svc_sudo_grant', { taskId, scope: 'network' })).toMatchObject({ requestId });
  expect(await owner.call('svc_sudo_getTask', { taskId })).toMatchObject({
    grants: [{ scope: 'network', grantedBy: admin.id, reason: 'again', requestId }],
    requests: [
      { state: 'granted', endedBy: admin.id },
      { state: 'denied', endedBy: admin.id, reason: 'prices' },
    ],
    history: ['granted', 'escalated', 'denied', 'escalated'].map((event) => ({ event, scope: 'network' })),
  });
  expect((await bed.events(principal)).map(({ name }) => name)).toEqual([
    'sudo:requested',
    'sudo:denied',
    'sudo:requested',
    'sudo:granted',
  ]);
  expect(await node.audited('principal', principal)).toEqual(['sudo:denied', 'sudo:granted']);
});

test('a request that nobody answers expires', async () => {
  const { owner, admin, taskId } = await bed.cast();
  const { requestId } = await owner.call('svc_sudo_escalate', { taskId, scope: 'spawn' });
  await bed.expire('sudo_requests', 'request_id', String(requestId));
  expect(await owner.call('svc_sudo_getTask', { taskId })).toMatchObject({ requests: [{ state: 'expired' }] });
  expect(await admin.call('svc_sudo_revoke', { taskId, scope: 'spawn' })).toMatchObject({ revoked: false });
  const again = await owner.call('svc_sudo_escalate', { taskId, scope: 'spawn' });
  expect(again.requestId).not.toBe(requestId);
});

test('a task has one owner, ends with everything it holds, and leaves nothing to the next of its name', async () => {
  const { owner, other, stranger, taskId } = await bed.cast(['read', 'exec']);
  expect(await owner.call('svc_sudo_createTask', { taskId, scopes: ['write'] })).toMatchObject({
    created: false,
    scopes: ['read'],
    pending: [{ scope: 'exec' }],
  });
  await node.call('svc_sudo_grant', { taskId, scope: 'exec' });
  await bed.expire('sudo_tasks', 'task_id', taskId);
  expect(await bed.can(owner, taskId, 'exec')).toMatchObject({ allowed: false });
  expect(await node.registry.sudo({ principal: `task:${taskId}`, scope: 'exec' })).toMatchObject({
    allowed: false,
  });
  expect(await owner.code('svc_sudo_getTask', { taskId })).toBe('E_SUDO_TASK_ABSENT');
  expect(await codeOf(node.call('svc_sudo_grant', { taskId, scope: 'exec' }))).toBe('E_SUDO_TASK_ABSENT');
  expect(await stranger.call('svc_sudo_createTask', { taskId, scopes: [] })).toMatchObject({
    created: true,
    scopes: [],
  });
  expect(await stranger.call('svc_sudo_getTask', { taskId })).toMatchObject({ grants: [], requests: [], history: [] });
  const raced = await Promise.all(
    [owner, other].flatMap((who) =>
      Array.from({ length: 4 }, () => who.call('svc_sudo_createTask', { taskId: `${taskId}.race` })),
    ),
  );
  expect(raced.filter(({ created }) => created === true)).toHaveLength(1);
  expect(raced.filter(({ code }) => code === 'E_SUDO_TASK_EXISTS')).toHaveLength(4);
});

test('a keyed creation answers the same bytes again', async () => {
  const { owner } = await bed.cast();
  const create = () =>
    node.call(
      'svc_sudo_createTask',
      { scopes: ['read', 'network'] },
      { subject: { agentId: owner.id, workspace: 'default' }, operator: false, idempotencyKey: 'k' },
    );
  const first = await create();
  await bed.expire('sudo_grants', 'principal', `task:${String(first.taskId)}`);
  expect(await create()).toEqual(first);
});

test('nobody has more than a hundred live tasks', async () => {
  const owner = await enrol(node, freshId());
  await bed.sql(
    `INSERT INTO habitat.sudo_tasks (task_id, owner, workspace, created_at, expires_at)
     SELECT $1 || n, $1, 'default', now(), now() + interval '1 hour' FROM generate_series(1, 95) n`,
    owner.id,
  );
  const codes = await Promise.all(Array.from({ length: 8 }, () => owner.code('svc_sudo_createTask')));
  expect(codes.filter((code) => code === null)).toHaveLength(5);
  expect(codes.filter((code) => code === 'E_QUOTA')).toHaveLength(3);
});
