/** What agents hear of while they listen, and calls that take long, through several gateways. */
import { follow, listen, MODERN, type OpenedStream, WITH_TASKS } from '@svc/testing/mcp-wire.ts';
import { expect, onTestFinished } from 'vitest';
import { Caller, type Fields } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { mint, workspaceWith } from '../instruments/workspaces.ts';
import type { TargetPlace } from '../targets/target.ts';
import { KEYED, newName, verifies } from '../verifies.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function gatewayOf({ gateways }: TargetPlace, index: number): string {
  return gateways[index % gateways.length] ?? '';
}

/** A message to /mcp, and what it was answered. */
async function post(url: string, token: string, body: Fields, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(token), ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
  });
  const reply = (await response.json()) as { result?: Fields; error?: Fields };
  return { headers: response.headers, result: reply.result ?? {}, error: reply.error };
}

function updatesOf({ messages }: OpenedStream): unknown[] {
  const told = messages.filter(({ method }) => method === 'notifications/resources/updated');
  return [...new Set(told.map(({ params }) => params?.['uri']))];
}

function kept(stream: OpenedStream): OpenedStream {
  onTestFinished(() => stream.leave());
  return stream;
}

verifies('mcp:updates', async ({ keyed: place }) => {
  const { workspace, ids } = await workspaceWith(place, 'admin', 'editor');
  const [adminToken = '', editorToken = ''] = await Promise.all(ids.map((id) => mint(place, id)));
  const admin = new Caller(place).with({ key: adminToken, gateway: 1 });
  const brain = newName('heard');
  await admin.ok('brain_push', { name: brain, create: true });
  await admin.ok('svc_habitat_setPolicy', {
    resource: `brain:${brain}/hidden`,
    policy: { readableBy: ['role:admin'], writableBy: ['role:admin'], container: workspace },
  });
  const [open, hidden, last] = ['open/plan.md', 'hidden/pay.md', 'open/last.md'];
  const uriOf = (file: string) => `brain:///${brain}/${file}`;
  const wanted = { resourceSubscriptions: [open, hidden, last].map(uriOf), resourcesListChanged: true };
  const [first, second] = [gatewayOf(place, 0), gatewayOf(place, 1)];

  const begun = await post(first, editorToken, { method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  const session = begun.headers.get('mcp-session-id') ?? '';
  const followed = kept(await follow(second, bearer(editorToken), session));
  for (const file of [open, hidden, last]) {
    const subscribe = { method: 'resources/subscribe', params: { uri: uriOf(file) } };
    const { error } = await post(first, editorToken, subscribe, { 'mcp-session-id': session });
    expect(error).toBeUndefined();
  }
  const [editorHears, adminHears] = [
    kept(await listen(first, bearer(editorToken), wanted)),
    kept(await listen(first, bearer(adminToken), wanted)),
  ];
  await waitFor(() => [editorHears, adminHears].every(({ messages }) => messages.length > 0), { what: 'open streams' });

  for (const file of [open, hidden, last]) await admin.ok('brain_write', { brain, name: file, content: file });
  for (const stream of [editorHears, adminHears, followed])
    await waitFor(() => updatesOf(stream).includes(uriOf(last)), { what: 'word of the last change' });
  expect(updatesOf(adminHears)).toEqual([open, hidden, last].map(uriOf));
  expect(updatesOf(editorHears)).toEqual([open, last].map(uriOf));
  expect(updatesOf(followed)).toEqual([open, last].map(uriOf));
  const told = [...editorHears.messages.slice(1), ...followed.messages];
  expect(JSON.stringify(told)).not.toContain('pay');
});

function task(url: string, token: string, method: string, params: Fields) {
  return post(
    url,
    token,
    { method, params: { ...params, _meta: WITH_TASKS } },
    {
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      'mcp-name': String(params['name'] ?? params['taskId']),
    },
  );
}

async function outcome(url: string, token: string, taskId: unknown): Promise<Fields> {
  let shown: Fields = {};
  const hasEnded = async (): Promise<boolean> => {
    shown = (await task(url, token, 'tasks/get', { taskId })).result;
    return shown['status'] !== 'working';
  };
  await waitFor(hasEnded, { what: 'the end of a task', everyMs: 200 });
  return shown;
}

verifies('mcp:tasks', async ({ keyed, gateways }) => {
  // One of two is killed; where one process is everything, its tasks are its own.
  const own = keyed.kind === 'cluster' ? await gateways(2, KEYED) : null;
  const place = own ?? keyed;
  const { ids } = await workspaceWith(place, 'editor', 'viewer');
  const [mine = '', theirs = ''] = await Promise.all(ids.map((id) => mint(place, id)));
  const [first, second] = [gatewayOf(place, 0), gatewayOf(place, 1)];
  const user = new Caller(place).with({ key: mine, gateway: 1 });
  const brain = newName('tasks');
  await user.ok('brain_push', { name: brain, create: true });
  await user.ok('svc_create_branch', { brain, name: 'side' });
  await user.ok('brain_save', { brain, branch: 'side', name: 'notes/a', content: 'from the side' });
  const merge = { name: 'svc_branch_merge', arguments: { brain, from: 'side', into: 'main' } };

  const begun = await task(first, mine, 'tools/call', merge);
  expect(begun.result).toMatchObject({ resultType: 'task', status: 'working' });
  const { taskId } = begun.result;
  await own?.processes[0]?.kill();
  for (const method of ['tasks/get', 'tasks/cancel'])
    expect((await task(second, theirs, method, { taskId })).error).toMatchObject({ code: -32_602 });
  expect(await outcome(second, mine, taskId)).toMatchObject({
    status: 'completed',
    result: { isError: false, structuredContent: { merged: true, brain } },
  });
  expect(await user.ok('brain_read', { brain, branch: 'main', name: 'notes/a' })).toMatchObject({
    content: 'from the side',
  });
  expect((await task(second, mine, 'tasks/cancel', { taskId })).error).toBeUndefined();
  expect(await outcome(second, mine, taskId)).toMatchObject({ status: 'completed' });
});
