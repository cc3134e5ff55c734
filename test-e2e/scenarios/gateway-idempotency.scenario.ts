/** One effect per key, whatever gateway a repetition comes through. */
import { expect } from 'vitest';
import type { Fields } from '../client.ts';
import { codeOf } from '../client.ts';
import { git } from '../instruments/git.ts';
import { callerOf } from '../instruments/tenants.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { mint, workspaceWith } from '../instruments/workspaces.ts';
import { brainFolder } from '../targets/target.ts';
import { newName, verifies } from '../verifies.ts';

const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });

verifies(['gateway:idempotency:replay', 'gateway:idempotency:reuse'], async ({ fresh, place }) => {
  const { user, brain } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const key = newName('key');
  const commit = (gateway: number) => user.call('svc_commit', { message: 'once' }, { gateway, ...withKey(key) });
  const replies = await Promise.all(Array.from({ length: 100 }, (_, index) => commit(index)));
  expect(replies.map(({ status }) => status)).toEqual(Array<number>(100).fill(200));
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  expect(replies.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length).toBe(99);
  expect(replies[0]?.body.result).toMatchObject({ content: { committed: true, count: 1 } });
  expect(git(brainFolder(place, brain), 'rev-list', '--count', 'main')).toBe('2');

  const reused = await user.fails('IDEMPOTENCY_KEY_REUSED', 'svc_commit', { message: 'other' }, withKey(key));
  expect(reused.status).toBe(409);
  await user.ok('svc_create_branch', { name: 'same-key-other-tool' }, withKey(key));
  const inMeta = await user.send(
    '/call',
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'svc_commit', arguments: { message: 'once' }, _meta: { idempotencyKey: key } },
    }),
  );
  expect([inMeta.text, inMeta.headers['idempotency-replayed']]).toEqual([replies[0]?.text, 'true']);
  for (const bad of ['x'.repeat(256), 'tab\tbed']) {
    expect((await user.call('svc_commit', { message: 'm' }, withKey(bad))).status).toBe(400);
  }
});

verifies('gateway:idempotency:moved', async ({ fresh }) => {
  const { user } = await fresh();
  const calls: (readonly [tool: string, args: Fields, key: string])[] = [
    ['brain_write', { name: 'x', content: 'one' }, newName('key')],
    ['svc_create_branch', { name: 'next', switch: true }, newName('key')],
    ['brain_link', { from: 'x.md', to: 'next' }, newName('key')],
    ['svc_habitat_addRole', { userId: newName('kate'), role: 'editor' }, newName('key')],
  ];
  const said: string[] = [];
  for (const [tool, args, key] of calls) {
    const reply = await user.call(tool, args, withKey(key));
    expect([tool, codeOf(reply)]).toEqual([tool, null]);
    said.push(reply.text);
  }
  await user.ok('brain_link', { from: 'x.md', to: 'elsewhere' });
  await user.ok('svc_branch_rename', { name: 'next', to: 'after' });
  await user.ok('brain_switch', { name: newName('other'), create: true });
  const workspaceId = newName('workspace');
  await user.ok('svc_habitat_createWorkspace', { workspaceId });
  await user.ok('svc_habitat_setWorkspace', { workspaceId });
  for (const gateway of [0, 1]) {
    for (const [index, [tool, args, key]] of calls.entries()) {
      await waitFor(
        async () => {
          const again = await user.call(tool, args, { gateway, ...withKey(key) });
          expect(again.headers['idempotency-replayed']).toBe('true');
          return again.text === said[index];
        },
        { what: `the first reply of ${tool}` },
      );
    }
  }
});

verifies('gateway:idempotency:refusal', async ({ fresh }) => {
  const { user } = await fresh();
  const key = newName('key');
  const args = { name: 'x', content: 'two', ifMatch: 'f'.repeat(64) };
  const refused = await user.call('brain_save', args, withKey(key));
  expect(codeOf(refused)).toBe('E_CONFLICT');
  const { hash } = await user.ok<{ hash: string }>('brain_write', { name: 'x', content: 'one' });
  const again = await user.call('brain_save', args, withKey(key));
  expect([again.text, again.headers['idempotency-replayed']]).toEqual([refused.text, 'true']);
  expect(await user.ok('brain_read', { name: 'x' })).toMatchObject({ hash });

  const other = newName('key');
  await user.fails('VAF_PATH_BLOCKED', 'brain_save', { name: '../x', content: 'a' }, withKey(other));
  const fixed = await user.call('brain_save', { name: 'y', content: 'a' }, withKey(other));
  expect([codeOf(fixed), fixed.headers['idempotency-replayed']]).toEqual([null, undefined]);
});

verifies('gateway:idempotency:secret', async ({ fresh }) => {
  const { user, brain } = await fresh();
  const args = { action: 'acquire', agentId: 'a' };
  const key = newName('key');
  const first = await user.ok('svc_lock', args, withKey(key));
  expect(first).toMatchObject({ acquired: true, token: expect.stringMatching(/\S{20,}/) });
  const reply = await user.call('svc_lock', args, withKey(key));
  const again = reply.body.result?.content as Fields;
  expect(reply.headers['idempotency-replayed']).toBe('true');
  expect(again).toMatchObject({ acquired: true, token: null, replayed: true, fence: first.fence, brain });
  await user.ok('svc_lock', { action: 'release', token: first.token });
});

verifies('gateway:idempotency:bound', async ({ place, caller }) => {
  const { ids } = await workspaceWith(place, 'editor');
  const [agent = ''] = ids;
  const elsewhere = newName('w');
  const operator = caller();
  await operator.ok('svc_habitat_createWorkspace', { workspaceId: elsewhere });
  await operator.ok('svc_habitat_addRole', { workspaceId: elsewhere, userId: agent, role: 'editor' });
  const free = callerOf(place, await mint(place, agent));
  const bound = await Promise.all(
    [0, 1].map(async () => callerOf(place, await mint(place, agent, { workspace: elsewhere }))),
  );
  const args = { stream: newName('queue') };
  const key = withKey(newName('key'));
  await free.ok('stream_create', args, key);

  const there = await Promise.all(bound.map((caller) => caller.call('stream_create', args, key)));
  expect(there.filter(({ headers }) => headers['idempotency-replayed'] === 'true')).toHaveLength(1);
  expect(new Set(there.map(({ text }) => text)).size).toBe(1);
  expect(await bound[0]?.ok('stream_info', { ...args, workspace: elsewhere })).toMatchObject(args);
});
