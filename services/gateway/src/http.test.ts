import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SUBJECTS } from '@svc/contract/discovery.ts';
import express from 'express';
import helmet from 'helmet';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { securityHeaders } from './http.ts';
import { startGateway } from './service.ts';
import { type Harness, KEYED, startHarness, until } from '../testing/harness.ts';
import { createTestPlatform, KEY } from '../testing/platform.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ environment: { ...KEYED, SVC_CORS_ORIGINS: 'https://app.example' } });
});
afterAll(() => harness.stop());

/** fetch does not let a caller choose Host and Origin. */
function statusOf(port: number, path: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: '127.0.0.1', path, headers, method }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as { error: { code: string } }).error.code];
}

describe('GET /tools', () => {
  test('lists every tool with its schemas, sorted by name', async () => {
    const { tools } = (await (await harness.fetch('/tools')).json()) as { tools: Record<string, unknown>[] };
    const names = tools.map(({ name }) => String(name));
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(
      expect.arrayContaining([
        'probe_echo',
        'nodes_list',
        'svc_framework_status',
        'tool_search',
        'tool_describe',
        'svc_call',
      ]),
    );
    for (const tool of tools) {
      expect(Object.keys(tool)).toEqual([
        'name',
        'description',
        'inputSchema',
        'outputSchema',
        'annotations',
        'area',
        'access',
        'effect',
      ]);
      expect(tool.inputSchema).toMatchObject({
        type: 'object',
        additionalProperties: false,
        properties: expect.any(Object),
      });
    }
    expect(tools.find(({ name }) => name === 'probe_write')?.inputSchema).toMatchObject({ required: ['amount'] });
  });

  test('is the same bytes on every gateway, with one strong tag, also under its other name', async () => {
    const other = await startGateway(createTestPlatform({ environment: KEYED, bus: harness.platform.bus }), {
      expectedServices: ['probe', 'gateway'],
    });
    await until(() => other.ready().then(({ ready }) => ready));
    const seen = new Set<string>();
    for (let round = 0; round < 20; round += 1) {
      for (const url of [`${harness.url}/tools`, `${harness.url}/mcp/tools`, `http://127.0.0.1:${other.port}/tools`]) {
        const response = await fetch(url);
        seen.add(`${response.headers.get('etag')} ${await response.text()}`);
      }
    }
    await other.close();
    expect(seen.size).toBe(1);
    expect([...seen][0]).toMatch(/^"[A-Za-z0-9_-]{43}" /);
  });

  test('answers 304 to who has it', async () => {
    const etag = (await harness.fetch('/tools')).headers.get('etag') ?? '';
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await harness.fetch('/tools', { headers: { 'if-none-match': known } });
      expect([response.status, await response.text(), response.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await harness.fetch('/tools', { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  test('is shaped by profile and area', async () => {
    const names = async (query: string) =>
      ((await (await harness.fetch(`/tools${query}`)).json()) as { tools: { name: string }[] }).tools.map(
        ({ name }) => name,
      );
    expect(await names('?profile=gateway')).toEqual([
      'nodes_list',
      'svc_call',
      'svc_framework_status',
      'tool_describe',
      'tool_search',
    ]);
    expect(await names('?profile=core')).toEqual(['svc_call', 'tool_describe', 'tool_search']);
    expect(await names('?area=nodes')).toEqual(['nodes_list', 'svc_framework_status']);
    expect(await names('?area=none-such')).toEqual([]);
    expect(await codeOf(await harness.fetch('/tools?profile=none-such'))).toEqual([400, 'INVALID_REQUEST']);
    expect(await codeOf(await harness.fetch('/tools?profile=a&profile=b'))).toEqual([400, 'INVALID_REQUEST']);
  });

  test('refuses a wrong credential although none is needed', async () => {
    expect(await codeOf(await harness.fetch('/tools', { headers: { authorization: 'Bearer wrong' } }))).toEqual([
      401,
      'UNAUTHORIZED',
    ]);
  });
});

interface Readiness {
  readonly status: string;
  readonly checks: readonly { readonly name: string }[];
  readonly at: number;
}

describe('probes and figures', () => {
  test('health tells status, uptime and version', async () => {
    const body = (await (await harness.fetch('/health')).json()) as Record<string, unknown>;
    expect(body).toEqual({ status: 'ok', uptime: expect.any(Number), version: '1.2.3' });
  });

  test('ready names its checks, and fails while an expected service is missing', async () => {
    const told = async () => (await (await harness.fetch('/ready')).json()) as Readiness;
    // not for a moment in which a busy machine lets it wait
    await expect.poll(told).toMatchObject({ status: 'ready', at: expect.any(Number) });
    const body = await told();
    expect(body.checks.map(({ name }) => name)).toEqual(expect.arrayContaining(['bus', 'event-loop', 'probe']));
    const lonely = await startGateway(createTestPlatform({ environment: KEYED }), { expectedServices: ['brain'] });
    const response = await fetch(`http://127.0.0.1:${lonely.port}/ready`);
    expect([response.status, await response.json()]).toMatchObject([503, { status: 'not_ready' }]);
    expect((await fetch(`http://127.0.0.1:${lonely.port}/health`)).status).toBe(200);
    const describe = { name: 'tool_describe', arguments: { names: ['svc_search'] } };
    for (const params of [{ name: 'svc_search' }, describe]) {
      const call = await fetch(`http://127.0.0.1:${lonely.port}/call`, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      expect([call.headers.get('retry-after'), ...(await codeOf(call))]).toEqual(['1', 503, 'SERVICE_UNAVAILABLE']);
    }
    await lonely.close();
  });

  test('what concerns one account or brain alone is named, and does not take the gateway away', async () => {
    const answers = await harness.platform.bus.respond(SUBJECTS.checks('books'), async () =>
      JSON.stringify([{ name: 'ledger', status: 'degraded' }]),
    );
    const cards = await harness.platform.bus.respond(SUBJECTS.cards('books'), async () => '[]');
    const { node } = harness.platform;
    harness.platform.bus.publish(
      SUBJECTS.announce,
      JSON.stringify({ service: 'books', ...node, ready: true, toolsDigest: 'd' }),
    );
    const standing = async () => {
      const response = await harness.fetch('/ready');
      return [response.status, ((await response.json()) as { degraded: string[] }).degraded];
    };
    await until(async () => JSON.stringify(await standing()) === '[200,["books:ledger"]]');
    const text = await (await harness.fetch('/metrics', { headers: { 'x-api-key': KEY } })).text();
    expect(text).toContain('svc_degraded{check="books:ledger"} 1');
    await Promise.all([answers.drain(), cards.drain()]);
    await until(async () => JSON.stringify(await standing()) === '[200,["books"]]');
  });

  test('metrics are for operators', async () => {
    expect(await codeOf(await harness.fetch('/metrics'))).toEqual([401, 'UNAUTHORIZED']);
    await harness.tool('probe_echo');
    await harness.tool('probe_read', { missing: true });
    const text = await (await harness.fetch('/metrics', { headers: { 'x-api-key': KEY } })).text();
    expect(text).toContain('svc_calls_total{tool="probe_echo",code="ok",door="call"} 1');
    expect(text).toContain('svc_calls_total{tool="probe_read",code="E_FILE_ABSENT",door="call"} 1');
    expect(text).toContain('svc_call_seconds_count{tool="probe_echo"} 1');
    expect(text).toContain('svc_bus_requests_total{service="probe",outcome="reply"} 2');
  });
});

describe('what is not there', () => {
  test.each(['/', '/nothing', '/call/', '/CALL', '/tools/', '/%ff', '/mcp/'])('GET %s is 404', async (path) => {
    expect(await codeOf(await harness.fetch(path))).toEqual([404, 'NOT_FOUND']);
  });

  test('whoever opens the address of the node in a browser reads where the doors are', async () => {
    const { error } = (await (await harness.fetch('/')).json()) as { error: { message: string } };
    for (const door of ['/call', '/mcp', '/tools', '/health', '/ready']) expect(error.message).toContain(door);
  });

  test.each([
    ['GET', '/call', 'POST'],
    ['PUT', '/call', 'POST'],
    ['DELETE', '/mcp/exec', 'POST'],
    ['OPTIONS', '/call', 'POST'],
    ['POST', '/tools', 'GET, HEAD'],
    ['DELETE', '/health', 'GET, HEAD'],
  ])('%s %s is 405 and names what is allowed', async (method, path, allowed) => {
    const response = await harness.fetch(path, { method });
    expect(response.headers.get('allow')).toBe(allowed);
    expect(await codeOf(response)).toEqual([405, 'METHOD_NOT_ALLOWED']);
  });

  test('HEAD is GET without its body', async () => {
    const [head, get] = [await harness.fetch('/tools', { method: 'HEAD' }), await harness.fetch('/tools')];
    expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([
      200,
      '',
      get.headers.get('content-length'),
    ]);
  });
});

test('the doors send exactly what helmet sends behind Express', async () => {
  const server = express()
    .use(helmet())
    .get('/', (_request, response) => void response.end())
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const fromHelmet = (await fetch(`http://127.0.0.1:${port}/`)).headers;
  server.close();
  const own = ['connection', 'content-length', 'date', 'keep-alive', 'x-powered-by', 'transfer-encoding'];
  const expected = Object.fromEntries([...fromHelmet].filter(([name]) => !own.includes(name)));
  expect(Object.fromEntries(pairs(securityHeaders()).map(([name, value]) => [name.toLowerCase(), value]))).toEqual(
    expected,
  );
  for (const response of [await harness.fetch('/health'), await harness.call('{'), await harness.fetch('/nothing')]) {
    expect(Object.fromEntries(response.headers)).toMatchObject(expected);
    expect(response.headers.has('x-powered-by')).toBe(false);
  }
});

describe('hosts and origins', () => {
  const call = (headers: Record<string, string>, port = harness.gateway.port) => statusOf(port, '/tools', headers);

  test('a loopback node answers to loopback names and origins, and to listed ones', async () => {
    for (const host of ['localhost', '127.0.0.1:80', '[::1]:9', 'LOCALHOST:1']) expect(await call({ host })).toBe(200);
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', 'a b']) {
      expect(await call({ host })).toBe(403);
    }
    expect(await call({ host: 'localhost', origin: 'http://localhost:3000' })).toBe(200);
    expect(await call({ host: 'localhost', origin: 'https://app.example' })).toBe(200);
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
      expect(await call({ host: 'localhost', origin })).toBe(403);
    }
    expect(await statusOf(harness.gateway.port, '/call', { origin: 'https://evil.example' }, 'POST')).toBe(403);
  });

  test('an open node answers to any host, or to the listed ones; its health to all', async () => {
    const environment = { SVC_API_KEY: KEY, SVC_BIND: '0.0.0.0' };
    const any = await startGateway(createTestPlatform({ environment }));
    expect(await call({ host: 'evil.example' }, any.port)).toBe(200);
    expect(await call({ host: 'x', origin: 'http://localhost' }, any.port)).toBe(403);
    await any.close();
    const listed = await startGateway(
      createTestPlatform({ environment: { ...environment, SVC_ALLOWED_HOSTS: 'brain.example' } }),
    );
    expect(await call({ host: 'brain.example:3457' }, listed.port)).toBe(200);
    expect(await call({ host: 'evil.example' }, listed.port)).toBe(403);
    expect(await statusOf(listed.port, '/health', { host: '10.1.2.3:3457' })).toBe(200);
    await listed.close();
  });

  test('a request may name its host in the target, as one to a proxy does', async () => {
    const { port } = harness.gateway;
    const json = { authorization: `Bearer ${KEY}`, 'content-type': 'text/plain' };
    expect(await statusOf(port, `http://127.0.0.1:${port}/call`, json, 'POST')).toBe(415);
    expect(await statusOf(port, `HTTP://127.0.0.1:${port}/call?x=1`, json, 'POST')).toBe(415);
    expect(await statusOf(port, `http://127.0.0.1:${port}/health`, {})).toBe(200);
  });

  test('only listed origins get CORS headers, also where events are polled for', async () => {
    const sessions = '/socket.io/?EIO=4&transport=polling';
    const polled = await harness.fetch(sessions, { headers: { origin: 'https://app.example' } });
    expect([polled.status, polled.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
    const foreign = await harness.fetch(sessions, { headers: { origin: 'https://evil.example' } });
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    const allowed = await harness.fetch('/tools', { headers: { origin: 'https://app.example' } });
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(
      (await harness.fetch('/tools', { headers: { origin: 'http://localhost:1' } })).headers.has(
        'access-control-allow-origin',
      ),
    ).toBe(false);
    expect(
      (await harness.fetch('/call', { method: 'OPTIONS', headers: { origin: 'https://app.example' } })).status,
    ).toBe(204);
  });
});

function pairs(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[index * 2] ?? '', flat[index * 2 + 1] ?? '']);
}
