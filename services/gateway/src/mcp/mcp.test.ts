/** /mcp in both eras: the official clients of both as users of it, and what no client of theirs would send. */
import { Client } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LEGACY, MODERN } from '../domain/mcp-wire.ts';
import { type Harness, startHarness } from '../../testing/harness.ts';
import { KEY } from '../../testing/platform.ts';
import { startLateService } from '../../testing/probe.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const bearer = (token: string = KEY) => ({ authorization: `Bearer ${token}` });
const address = (query = '') => new URL(`/mcp${query}`, harness.url);

async function openStreams(): Promise<number> {
  const response = await harness.fetch('/metrics', { headers: bearer() });
  return Number(/^svc_mcp_streams (\d+)$/m.exec(await response.text())?.[1]);
}

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly id?: unknown;
  readonly result: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data: Record<string, unknown> };
}

async function post(body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(address(), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const parsed = text === '' ? {} : (JSON.parse(text) as Partial<Reply>);
  return { result: {}, ...parsed, status: response.status, headers: response.headers };
}

/** A well-formed request of the newer era; `headers` replace or, empty, remove its own. */
async function modern(
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Reply> {
  const name = params['name'] ?? params['uri'];
  const own = {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
  };
  const all = Object.entries({ ...own, ...headers }).filter(([, value]) => value !== '');
  const message = { jsonrpc: '2.0', id: 7, method, params: { _meta: META, ...params } };
  return post(message, Object.fromEntries(all));
}

const call = (name: string, args: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  modern('tools/call', { name, arguments: args }, headers);

describe('the official clients', () => {
  test('of 2026 find out the revision, list and call', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(
      new StreamableHTTPClientTransport(address('?profile=full'), { requestInit: { headers: bearer() } }),
    );
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('probe_echo');
    const answered = await client.callTool({ name: 'probe_echo', arguments: { text: 'Grüße' } });
    expect(answered).toMatchObject({ isError: false, structuredContent: { text: 'Grüße' } });
    const refused = await client.callTool({ name: 'probe_read', arguments: { missing: true } });
    expect(refused.isError).toBe(true);
    await client.close();
  });

  test('of 2025 shake hands, keep a session, list, call and hear of new tools', async () => {
    const client = new LegacyClient({ name: 'test', version: '1' });
    const transport = new LegacyTransport(address('?profile=full'), { requestInit: { headers: bearer() } });
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1));
    await client.connect(transport);
    expect(transport.sessionId).toMatch(/^[0-9a-f]{32}$/);
    await client.ping();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('probe_echo');
    expect(await client.callTool({ name: 'probe_echo', arguments: { text: 'x' } })).toMatchObject({
      structuredContent: { text: 'x' },
    });
    await expect.poll(openStreams).toBe(1);
    const late = await startLateService(harness.platform);
    await expect.poll(() => changes).toBe(1);
    await late.stop();
    await transport.terminateSession();
    await client.close();
    await expect.poll(openStreams).toBe(0);
  });
});

describe('the newer era', () => {
  test('discovers the server, and every result says what it is', async () => {
    const { status, id, result } = await modern('server/discover');
    expect({ status, id }).toEqual({ status: 200, id: 7 });
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: [MODERN],
      capabilities: { tools: { listChanged: true } },
      ttlMs: 300_000,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'brain-service', version: '1.2.3' } },
    });
  });

  test('answers with the object of a tool, bare or not, as text and as structure', async () => {
    const { result } = await call('probe_echo', { text: 'a "b"' });
    expect(result).toMatchObject({ resultType: 'complete', isError: false, structuredContent: { text: 'a "b"' } });
    const [block] = result['content'] as { type: string; text: string }[];
    expect(JSON.parse(block?.text ?? '')).toEqual(result['structuredContent']);
    expect((await call('probe_read')).result).toMatchObject({ structuredContent: { content: '{"error":"x"}' } });
  });

  test.each([
    ['probe_read', { missing: true }, 'E_FILE_ABSENT'],
    ['probe_echo', { text: 1 }, 'VAF_INPUT_INVALID'],
    ['svc_call', { name: 'svc_call' }, 'VAF_INPUT_INVALID'],
  ])('%s %j is an answer for the agent to read', async (name, args, code) => {
    const { status, result } = await call(name, args);
    expect(status).toBe(200);
    expect(result).toMatchObject({ isError: true, _meta: { 'svc/code': code } });
    expect(result).not.toHaveProperty('structuredContent');
    const [block] = result['content'] as { text: string }[];
    expect(JSON.parse(block?.text ?? '')).toMatchObject({ code });
  });

  test('a bug and a tool that is not there are errors with a number and our code', async () => {
    expect(await call('probe_bug')).toMatchObject({
      status: 500,
      error: { code: -32_603, data: { code: 'INTERNAL' } },
    });
    const { status, error } = await call('probe_ecko');
    expect({ status, error }).toMatchObject({
      status: 200,
      error: { code: -32_602, data: { code: 'TOOL_NOT_FOUND' } },
    });
    expect(error?.message).toContain('probe_echo');
    expect(error?.data['requestId']).toEqual(expect.any(String));
  });

  test('an idempotency key is taken from the header or from _meta', async () => {
    const params = { name: 'probe_write', arguments: { amount: 1 }, _meta: { ...META, idempotencyKey: 'k-1' } };
    expect((await modern('tools/call', params)).result).toMatchObject({ structuredContent: { key: 'k-1' } });
    const { result } = await call('probe_write', { amount: 1 }, { 'idempotency-key': 'k-2' });
    expect(result).toMatchObject({ structuredContent: { key: 'k-2' } });
    const again = await call('probe_write', { amount: 1 }, { 'idempotency-key': 'seen-before' });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('arguments are taken under either name, never under both, and null is none', async () => {
    const asArgs = await modern('tools/call', { name: 'probe_echo', args: { text: 'dropped?' } });
    expect(asArgs.result).toMatchObject({ structuredContent: { text: 'dropped?' } });
    const nothing = await modern('tools/call', { name: 'probe_echo', arguments: null, task: {} });
    expect([nothing.status, nothing.result['isError']]).toEqual([200, false]);
    for (const params of [{ arguments: {}, args: {} }, { args: [] }, { arguments: 'x' }]) {
      const { error } = await modern('tools/call', { name: 'probe_echo', ...params });
      expect(error).toMatchObject({ code: -32_602, data: { code: 'INVALID_REQUEST' } });
    }
  });

  test.each([
    ['mcp-protocol-version', '', 'missing'],
    ['mcp-protocol-version', '2025-06-18', 'says'],
    ['mcp-method', '', 'missing'],
    ['mcp-method', 'tools/list', 'says'],
    ['mcp-name', '', 'missing'],
    ['mcp-name', 'probe_admin', 'says'],
    ['mcp-name', '=?base64?cHJvYmVfYWRtaW4=?=', 'says'],
  ])('the header %s: %s does not stand against the body', async (header, value, text) => {
    const { status, error } = await call('probe_echo', {}, { [header]: value });
    expect({ status, code: error?.code }).toEqual({ status: 400, code: -32_020 });
    expect(error?.message).toContain(text);
  });

  test('a name in the encoded form of the header is decoded', async () => {
    expect((await call('probe_echo', {}, { 'mcp-name': '=?base64?cHJvYmVfZWNobw==?=' })).status).toBe(200);
  });

  test.each([
    [{ 'io.modelcontextprotocol/protocolVersion': '2031-01-01' }, '2031-01-01', -32_022],
    [{}, MODERN, -32_602],
    [{ 'io.modelcontextprotocol/protocolVersion': MODERN }, MODERN, -32_602],
  ])('_meta %j under the header %s is malformed', async (_meta, version, code) => {
    const reply = await modern('tools/list', { _meta }, { 'mcp-protocol-version': version });
    expect({ status: reply.status, code: reply.error?.code }).toEqual({ status: 400, code });
    if (code === -32_022) expect(reply.error?.data).toMatchObject({ supported: [MODERN] });
  });

  test('methods it has not are 404, and verbs it has not are 405', async () => {
    expect(await modern('prompts/list')).toMatchObject({ status: 404, error: { code: -32_601 } });
    expect(await modern('ping')).toMatchObject({ status: 404, error: { code: -32_601 } });
    const wrongVerb = async (method: string, extra: Readonly<Record<string, string>>) => {
      const { status, headers } = await fetch(address(), { method, headers: { ...bearer(), ...extra } });
      return [status, headers.get('allow')];
    };
    const inModern = { 'mcp-protocol-version': MODERN, 'mcp-session-id': 'x' };
    for (const method of ['GET', 'DELETE']) {
      expect(await wrongVerb(method, inModern)).toEqual([405, 'POST']);
      expect(await wrongVerb(method, {})).toEqual([405, 'POST']);
    }
    expect(await wrongVerb('PUT', inModern)).toEqual([405, 'POST, GET, DELETE']);
  });

  test('an answer to a question that was never asked is refused under no id, which the client may use itself', async () => {
    for (const said of [{ result: {} }, { error: { code: -1, message: 'no' } }]) {
      const refused = await post({ jsonrpc: '2.0', id: 7, ...said });
      expect([refused.status, refused.error?.code]).toEqual([400, -32_600]);
      expect(refused).not.toHaveProperty('id');
    }
  });

  test('a notification is accepted without a body', async () => {
    const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: META, requestId: 1 } };
    const { status, headers } = await post(body, { 'mcp-protocol-version': MODERN });
    expect([status, headers.get('content-length')]).toEqual([202, '0']);
  });

  test('the list is that of core unless a profile is asked for, and in pages', async () => {
    const names = async (headers = {}) =>
      ((await modern('tools/list', {}, headers)).result['tools'] as { name: string }[]).map(({ name }) => name);
    expect(await names()).toEqual(['svc_call', 'tool_describe', 'tool_search']);
    expect(await names({ 'x-svc-profile': 'full' })).toContain('probe_admin');
    expect(await modern('tools/list', {}, { 'x-svc-profile': 'nowhere' })).toMatchObject({
      status: 400,
      error: { code: -32_600, data: { code: 'INVALID_REQUEST' } },
    });
    expect(await modern('tools/list', { cursor: 'bm9wZQ' })).toMatchObject({ status: 400, error: { code: -32_602 } });
  });
});

describe('the earlier era', () => {
  const initialize = (version: string, headers: Record<string, string> = {}) =>
    post(
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 't', version: '1' } },
      },
      headers,
    );
  const inSession = (session: string, method: string, params = {}, headers: Record<string, string> = {}) =>
    post({ jsonrpc: '2.0', id: 2, method, params }, { 'mcp-session-id': session, ...headers });

  test.each<[string, string]>([...LEGACY.map((each): [string, string] => [each, each]), ['1999-01-01', LEGACY[0]]])(
    'asked for %s it speaks %s',
    async (asked, spoken) => {
      const { status, headers, result } = await initialize(asked);
      expect(status).toBe(200);
      expect(headers.get('mcp-session-id')).toMatch(/^[0-9a-f]{32}$/);
      expect(result).toMatchObject({ protocolVersion: spoken, serverInfo: { name: 'brain-service' } });
    },
  );

  test('a session is its own, and belongs to who opened it', async () => {
    harness.registry.grant('a1', 'acme', 'viewer');
    const token = harness.registry.mint('a1');
    const open = async (credential: string) =>
      (await initialize(LEGACY[0], bearer(credential))).headers.get('mcp-session-id') ?? '';
    const [first, second, foreign] = [await open(KEY), await open(KEY), await open(token)];
    const sessionOf = async (session: string) => {
      const { result } = await inSession(session, 'tools/call', { name: 'probe_echo', arguments: {} });
      return (result['structuredContent'] as { caller: { session: string } }).caller.session;
    };
    expect(await sessionOf(first)).not.toBe(await sessionOf(second));
    expect(await inSession(foreign, 'tools/list')).toMatchObject({
      status: 404,
      error: { data: { code: 'NOT_FOUND' } },
    });
    expect(await inSession(first, 'tools/list', {}, bearer(token))).toMatchObject({ status: 404 });
    const bound = harness.registry.mint('a1', { bound: 'acme' });
    expect(await inSession(foreign, 'tools/list', {}, bearer(bound))).toMatchObject({ status: 404 });
    const end = await fetch(address(), { method: 'DELETE', headers: { ...bearer(), 'mcp-session-id': first } });
    expect(end.status).toBe(204);
    expect(await inSession(first, 'tools/list')).toMatchObject({ status: 404 });
    expect(await inSession(second, 'tools/list')).toMatchObject({ status: 200 });
  });

  test('without a session nothing is answered, and what it has not is an answer', async () => {
    expect(await post({ jsonrpc: '2.0', id: 2, method: 'tools/list' })).toMatchObject({ status: 400 });
    const session = (await initialize(LEGACY[0])).headers.get('mcp-session-id') ?? '';
    expect(await inSession(session, 'prompts/list')).toMatchObject({ status: 200, error: { code: -32_601 } });
    const { result } = await inSession(session, 'tools/call', { name: 'probe_read', arguments: { missing: true } });
    expect(result).toMatchObject({ isError: true, _meta: { 'svc/code': 'E_FILE_ABSENT' } });
    expect(result).not.toHaveProperty('resultType');
  });
});

describe('whoever comes', () => {
  test.each([
    ['{', 400, -32_700],
    ['[]', 400, -32_600],
    ['{"jsonrpc":"2.0","id":null,"method":"tools/list"}', 400, -32_600],
    ['{"jsonrpc":"2.0","id":1}', 400, -32_600],
    ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400, -32_600],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', 400, -32_602],
  ])('%s is refused by its form', async (body, status, code) => {
    const reply = await post(body);
    expect({ status: reply.status, code: reply.error?.code }).toEqual({ status, code });
    expect(reply.error?.data['requestId']).toEqual(expect.any(String));
    expect(reply.id).toBe(body.includes('"id":1') ? 1 : undefined);
  });

  test('needs a credential, the right origin, the right type, and stays within the profile of a token', async () => {
    expect(await modern('tools/list', {}, { authorization: 'Bearer wrong-key-0123456789' })).toMatchObject({
      status: 401,
      error: { code: -32_000, data: { code: 'UNAUTHORIZED' } },
    });
    expect((await modern('tools/list', {}, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await modern('tools/list', {}, { 'content-type': 'text/plain' })).status).toBe(415);
    harness.registry.grant('a1', 'acme', 'viewer');
    const held = bearer(harness.registry.mint('a1', { profile: 'gateway' }));
    const { result } = await modern('tools/list', {}, { ...held, 'x-svc-profile': 'full' });
    expect(result).toMatchObject({ cacheScope: 'private' });
    expect(JSON.stringify(result)).not.toContain('probe_echo');
    for (const [name, args] of [
      ['probe_echo', {}],
      ['svc_call', { name: 'probe_echo' }],
    ] as const) {
      expect((await call(name, args, held)).result).toMatchObject({
        isError: true,
        _meta: { 'svc/code': 'FORBIDDEN' },
      });
    }
  });
});

test('who listens is acknowledged first, hears of new tools, and gets a result when the gateway leaves', async () => {
  const own = await startHarness();
  const response = await fetch(new URL('/mcp', own.url), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...bearer(),
      'mcp-protocol-version': MODERN,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'sub',
      method: 'subscriptions/listen',
      params: { _meta: META, notifications: { toolsListChanged: true, promptsListChanged: true } },
    }),
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const messages: Record<string, unknown>[] = [];
  const reading = (async () => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      for (const [, text] of chunk.matchAll(/^data: (.*)$/gm))
        messages.push(JSON.parse(text ?? '') as Record<string, unknown>);
    }
  })();
  await expect.poll(() => messages.length).toBe(1);
  const late = await startLateService(own.platform);
  await expect.poll(() => messages.length).toBe(2);
  await own.gateway.drain();
  await reading;
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 'sub' };
  expect(messages).toEqual([
    {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true }, _meta },
    },
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
    { jsonrpc: '2.0', id: 'sub', result: { resultType: 'complete', _meta } },
  ]);
  await late.stop();
  await own.stop();
});
