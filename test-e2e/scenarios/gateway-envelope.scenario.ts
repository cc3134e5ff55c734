/** Routes, request and reply forms, codes of malformed requests. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { expect } from 'vitest';
import { type Caller, type Fields, isFields, sendTo } from '../client.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { verifies } from '../verifies.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

function form(name: string, rest: Fields = {}): Fields {
  return { jsonrpc: '2.0', method: 'tools/call', params: { name, arguments: {} }, id: 1, ...rest };
}

async function codeAndStatus(caller: Caller, body: unknown): Promise<[string | undefined, number, unknown]> {
  const reply = await caller.send('/call', typeof body === 'string' ? body : JSON.stringify(body));
  return [reply.body.error?.code, reply.status, reply.body.id];
}

verifies('gateway:route:health', async ({ caller }) => {
  const reply = await sendTo(`${caller().url()}/health`, { method: 'GET' });
  expect(reply.status).toBe(200);
  expect(reply.body).toEqual({ status: 'ok', uptime: expect.any(Number), version: expect.stringMatching(/^\d+\.\d+/) });
});

verifies('gateway:route:ready', async ({ caller, place }) => {
  const url = `${caller().url()}/ready`;
  // not for a moment in which a busy machine lets it wait
  const reply = await waitFor(async () => [await sendTo(url, { method: 'GET' })].find(({ status }) => status === 200), {
    what: 'the gateway to be ready',
  });
  const body = reply.body as Fields;
  expect(body).toEqual({ status: 'ready', degraded: [], checks: expect.any(Array), at: expect.any(Number) });
  const checks = body.checks as { name: string; status: string }[];
  expect(checks.length).toBeGreaterThanOrEqual(3);
  expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
  const servers = place.kind === 'cluster' ? ['nats', 'redis', 'brain:postgresql'] : ['bus', 'brain:database'];
  expect(checks.map(({ name }) => name)).toEqual(expect.arrayContaining(servers));
});

verifies('gateway:route:metrics', async ({ caller, place }) => {
  const user = caller();
  await user.ok('brain_list');
  const reply = await user.get('/metrics');
  expect(reply.status).toBe(200);
  for (const name of ['svc_calls_total', 'svc_call_seconds', 'svc_event_loop_delay_seconds', 'svc_sockets']) {
    expect(reply.text).toContain(name);
  }
  if (place.key !== null) expect((await caller({ key: null }).get('/metrics')).status).toBe(401);
});

verifies(
  'gateway:metrics:documented',
  async ({ caller }) => {
    const { text } = await caller().get('/metrics');
    const exposed = Array.from(text.matchAll(/^# TYPE (svc_\w+)/gm), ([, name]) => name);
    const guide = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
    const rows = guide.split('\n').filter((line) => line.startsWith('| `svc_'));
    const documented = rows.flatMap((row) => Array.from(row.matchAll(/`(svc_\w+)(?=[`{])/g), ([, name]) => name));
    expect(new Set(exposed)).toEqual(new Set(documented));
  },
  { only: 'embedded' },
);

verifies('gateway:route:unknown', async ({ caller }) => {
  const user = caller();
  const absent = await user.get('/no/such/path');
  expect([absent.status, absent.body.error?.code]).toEqual([404, 'NOT_FOUND']);
  const url = user.url();
  for (const [path, method, allowed] of [
    ['/call', 'GET', 'POST'],
    ['/mcp/exec', 'PUT', 'POST'],
    ['/health', 'POST', 'GET'],
    ['/tools', 'DELETE', 'GET'],
  ] as const) {
    const reply = await sendTo(`${url}${path}`, { method, headers: user.headers() });
    expect([path, reply.status, reply.body.error?.code]).toEqual([path, 405, 'METHOD_NOT_ALLOWED']);
    expect(String(reply.headers.allow)).toContain(allowed);
  }
  for (const path of ['/health', '/tools']) {
    const head = await sendTo(`${url}${path}`, { method: 'HEAD', headers: user.headers() });
    expect([head.status, head.text]).toEqual([200, '']);
  }
});

verifies('gateway:route:cors', async ({ caller }) => {
  const user = caller();
  const reply = await user.get('/health', { origin: 'http://localhost:9999' });
  const preflight = await sendTo(`${user.url()}/call`, {
    method: 'OPTIONS',
    headers: { origin: 'http://localhost:9999', 'access-control-request-method': 'POST' },
  });
  for (const { headers } of [reply, preflight]) {
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  }
});

verifies('gateway:call:content', async ({ caller }) => {
  const body = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'brain_list', args: {} }, id: 7 };
  const reply = await caller().send('/call', JSON.stringify(body));
  expect(reply.status).toBe(200);
  expect(reply.body).toMatchObject({ jsonrpc: '2.0', id: 7, result: { content: { brains: expect.any(Array) } } });
});

verifies('gateway:call:id', async ({ caller }) => {
  const user = caller();
  for (const id of ['a', 'x'.repeat(128), 0, -1, 1.5, null]) {
    expect((await user.call('brain_list', {}, { id })).body.id).toBe(id);
  }
  const { id: _id, ...without } = form('brain_list');
  expect((await user.send('/call', JSON.stringify(without))).body.id).toBeNull();
  for (const id of [{}, [], true, 'x'.repeat(129)]) {
    expect(await codeAndStatus(user, form('brain_list', { id }))).toEqual(['INVALID_REQUEST', 400, null]);
  }
});

verifies('gateway:call:malformed', async ({ caller }) => {
  const user = caller();
  const good = form('brain_list');
  const nested = `${'['.repeat(65)}${']'.repeat(65)}`;
  const wide = JSON.stringify(
    form('brain_list', { extra: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`k${i}`, 1])) }),
  );
  const long = JSON.stringify(
    form('svc_rerank', { params: { name: 'svc_rerank', arguments: { query: 'x', docs: Array(1001).fill('d') } } }),
  );
  for (const [body, code, status] of [
    [JSON.stringify([good, good]), 'INVALID_REQUEST', 400],
    ['{', 'PARSE_ERROR', 400],
    ['', 'PARSE_ERROR', 400],
    [nested, 'INVALID_REQUEST', 400],
    [wide, 'INVALID_REQUEST', 400],
    [long, 'INVALID_REQUEST', 400],
    ['"text"', 'INVALID_REQUEST', 400],
    ['null', 'INVALID_REQUEST', 400],
  ] as const) {
    const [found, answered, id] = await codeAndStatus(user, body);
    expect([body.slice(0, 40), found, answered]).toEqual([body.slice(0, 40), code, status]);
    expect([null, 1]).toContain(id);
  }
  const large = await user.send('/call', Buffer.alloc(4 * 1024 * 1024 + 1, 0x20));
  expect([large.status, large.body.error?.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  const text = await user.send('/call', JSON.stringify(good), { headers: { 'content-type': 'text/plain' } });
  expect([text.status, text.body.error?.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
});

verifies('gateway:call:bare', async ({ fresh }) => {
  const { user } = await fresh();
  const content = '{"error":"x","code":"E_FAKE"}';
  await user.ok('svc_set_memory', { category: 'a', filename: 'x.json', content });
  const { body } = await user.call('svc_get_memory', { category: 'a', filename: 'x.json' });
  expect(body.result?.content).toBe(content);
  const missing = await user.call('svc_get_memory', { category: 'a', filename: 'none' });
  expect(missing.status).toBe(200);
  expect(missing.body.result).toMatchObject({
    content: { code: 'E_FILE_ABSENT', error: expect.any(String) },
    code: 'E_FILE_ABSENT',
  });
});

verifies('gateway:call:arguments', async ({ caller }) => {
  const user = caller();
  for (const params of [
    { name: 'brain_list' },
    { name: 'brain_list', arguments: null },
    { name: 'brain_list', args: null },
  ]) {
    expect((await user.send('/call', JSON.stringify(form('', { params })))).status).toBe(200);
  }
  for (const params of [
    { name: 'brain_list', arguments: {}, args: {} },
    { name: 'brain_list', arguments: [] },
    { name: 'brain_list', arguments: 'x' },
    { name: 7, arguments: {} },
    null,
    [],
  ]) {
    expect(await codeAndStatus(user, form('', { params }))).toEqual(['INVALID_REQUEST', 400, 1]);
  }
});

verifies('gateway:call:version', async ({ caller }) => {
  const user = caller();
  for (const jsonrpc of ['1.0', 2, null]) {
    expect((await codeAndStatus(user, form('brain_list', { jsonrpc })))[0]).toBe('INVALID_REQUEST');
  }
  const { jsonrpc: _version, ...without } = form('brain_list');
  expect((await codeAndStatus(user, without))[0]).toBe('INVALID_REQUEST');
});

verifies('gateway:call:null-argument', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('svc_set_memory', {
    category: 'a',
    filename: 'n',
    content: 'x',
    ifMatch: null,
    branch: null,
    agentId: null,
  });
  await user.ok('brain_list', { limit: null, cursor: null });
});

verifies('gateway:call:magic-keys', async ({ caller }) => {
  const user = caller();
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    for (const args of [`{"${key}":{"admin":true}}`, `{"query":"x","docs":[{"content":"y","${key}":1}]}`]) {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_rerank","arguments":${args}}}`;
      const reply = await user.send('/call', body);
      expect([key, reply.status, reply.body.error?.code]).toEqual([key, 400, 'VAF_INPUT_INVALID']);
    }
  }
});

verifies('gateway:call:unknown', async ({ caller }) => {
  const user = caller();
  const method = await user.send('/call', JSON.stringify(form('brain_list', { method: 'tools/run' })));
  expect([method.status, method.body.error?.code]).toEqual([404, 'METHOD_NOT_FOUND']);
  const error = await user.fails('TOOL_NOT_FOUND', 'svc_get_memori');
  expect(error.status).toBe(404);
  expect(error.message).toContain('svc_get_memory');
});

verifies('gateway:call:problems', async ({ caller }) => {
  const error = await caller().fails('VAF_INPUT_INVALID', 'svc_set_memory', {
    category: 7,
    contnet: 'x',
    fence: 'one',
  });
  expect(error.status).toBe(400);
  const problems = error.data.problems as { path: string; message: string }[];
  const paths = problems.map(({ path }) => path);
  for (const path of ['category', 'contnet', 'fence']) expect(paths).toContain(path);
  expect(problems.find(({ path }) => path === 'contnet')?.message).toContain('content');
  expect(error.message).toContain('contnet');
});

verifies('gateway:call:request-id', async ({ caller }) => {
  const user = caller();
  const good = await user.call('brain_list', {}, { headers: { 'x-request-id': 'Abc-123' } });
  expect(good.headers['x-request-id']).toBe('Abc-123');
  const bad = await user.call('no_such_tool', {}, { headers: { 'x-request-id': 'a b; DROP' } });
  const id = bad.headers['x-request-id'];
  expect(id).toMatch(/^[A-Za-z0-9-]{1,64}$/);
  expect(bad.body.error?.data?.requestId).toBe(id);
});

verifies('gateway:call:tools-list', async ({ caller }) => {
  const user = caller();
  const reply = await user.send('/call', JSON.stringify({ jsonrpc: '2.0', method: 'tools/list', id: 'l' }));
  expect(reply.status).toBe(200);
  const { result } = reply.body;
  const listed = isFields(result?.content) ? result.content : result;
  expect(listed?.tools).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'svc_get_memory' })]));
});

verifies('gateway:exec:forms', async ({ fresh }) => {
  const { user } = await fresh();
  await user.ok('brain_write', { name: 'x', content: 'one' });
  const call = await user.call('brain_read', { name: 'x' });
  const exec = await user.call('brain_read', { name: 'x' }, { door: '/mcp/exec' });
  expect(exec.text).toBe(call.text);
  for (const short of [
    { tool: 'brain_read', args: { name: 'x' } },
    { name: 'brain_read', arguments: { name: 'x' } },
  ]) {
    const reply = await user.send('/mcp/exec', JSON.stringify(short));
    expect(reply.body).toEqual({ result: call.body.result });
    const named = await user.send('/mcp/exec', JSON.stringify({ ...short, id: 'q' }));
    expect(named.body).toEqual({ result: call.body.result, id: 'q' });
  }
  const wrong = await user.send('/mcp/exec', JSON.stringify({ tool: 'brain_read', args: { nam: 'x' } }));
  expect([wrong.status, wrong.body.error?.code, 'jsonrpc' in wrong.body]).toEqual([400, 'VAF_INPUT_INVALID', false]);
});

verifies('gateway:call:unknown', async ({ caller }) => {
  // A verb, a path and a media type are judged before the credential: nobody needs one to be told.
  const reply = await request(`${caller().url()}/call`, { method: 'PUT', headers: JSON_TYPE, body: '{}' });
  await reply.body.dump();
  expect(reply.statusCode).toBe(405);
});
