import { once } from 'node:events';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Harness, KEYED, startHarness, until } from '../testing/harness.ts';
import { KEY } from '../testing/platform.ts';

const running: Harness[] = [];
const open: Socket[] = [];
afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  for (const harness of running.splice(0)) await harness.stop();
});

async function bounded(environment: Record<string, string>): Promise<Harness> {
  const harness = await startHarness({ environment: { ...KEYED, ...environment } });
  running.push(harness);
  return harness;
}

function knock({ gateway }: Harness): Socket {
  const socket = connect(gateway.port, '127.0.0.1');
  socket.on('error', () => {});
  open.push(socket);
  return socket;
}

const PROBE = 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

/** What the gateway says to a request, or '' when it hangs up. */
async function said(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.write(PROBE);
  await until(() => text.includes('}') || socket.destroyed);
  return text.split('\r\n')[0] ?? '';
}

describe('connections', () => {
  test('of one address are bounded, with a sentence; one that ends makes room', async () => {
    const harness = await bounded({ SVC_MAX_CONNECTIONS_PER_ADDRESS: '20' });
    const first: Socket[] = [];
    for (let each = 0; each < 20; each += 1) first.push(knock(harness));
    await Promise.all(first.map((socket) => once(socket, 'connect')));
    // The harness itself has some open.
    expect(await said(knock(harness))).toBe('HTTP/1.1 503 Service Unavailable');
    for (const socket of first) socket.destroy();
    await until(async () => (await said(knock(harness))) === 'HTTP/1.1 200 OK');
  });

  test('through a trusted proxy are not counted as of one address', async () => {
    const harness = await bounded({ SVC_MAX_CONNECTIONS_PER_ADDRESS: '20', SVC_TRUST_PROXY: '127.0.0.1' });
    const many = Array.from({ length: 40 }, () => knock(harness));
    await Promise.all(many.map((socket) => once(socket, 'connect')));
    expect(await said(knock(harness))).toBe('HTTP/1.1 200 OK');
  });

  test('in all are bounded', async () => {
    const harness = await bounded({ SVC_MAX_CONNECTIONS: '30' });
    const many = Array.from({ length: 40 }, () => knock(harness));
    await until(() => many.some(({ destroyed, readableEnded }) => destroyed || readableEnded));
    expect(await said(many[0] ?? knock(harness))).toBe('HTTP/1.1 200 OK');
  });
});

const MEBIBYTE = 'x'.repeat(1024 * 1024);

/** A call whose body is announced and not sent to its end: one byte is missing. */
function held({ gateway }: Harness, headers: Record<string, string>): { outgoing: ClientRequest; status(): number } {
  const outgoing = httpRequest({
    port: gateway.port,
    host: '127.0.0.1',
    path: '/call',
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': String(4 * MEBIBYTE.length), ...headers },
  });
  let status = 0;
  outgoing.on('error', () => {});
  outgoing.on('response', (response) => {
    status = response.statusCode ?? 0;
    response.resume();
  });
  outgoing.on('socket', (socket) => open.push(socket));
  outgoing.write(MEBIBYTE.repeat(4).slice(1));
  return { outgoing, status: () => status };
}

describe('a body', () => {
  test('is not read before its sender is known', async () => {
    const harness = await bounded({ SVC_RATE_LIMIT: 'on' });
    const [nobody, wrong] = [held(harness, {}), held(harness, { 'x-api-key': 'wrong-key-wrong-key' })];
    await until(() => nobody.status() !== 0 && wrong.status() !== 0);
    expect([nobody.status(), wrong.status()]).toEqual([401, 401]);
  });

  test('of somebody beyond the limit is not read', async () => {
    const harness = await bounded({ SVC_RATE_LIMIT: 'on', SVC_PLAN_LIMITS: 'enterprise=1' });
    await harness.tool('probe_echo');
    const late = held(harness, { 'x-api-key': KEY });
    await until(() => late.status() !== 0);
    expect(late.status()).toBe(429);
  });

  test('is refused while too much of one caller is held, small ones are not, and what leaves makes room', async () => {
    const harness = await bounded({});
    const many = Array.from({ length: 9 }, () => held(harness, { 'x-api-key': KEY }));
    await until(() => many.some(({ status }) => status() === 503));
    expect(many.filter(({ status }) => status() === 503)).toHaveLength(1);
    expect((await harness.tool('probe_echo')).status).toBe(200);
    for (const { outgoing } of many) outgoing.destroy();
    await until(async () => (await harness.tool('probe_echo', { text: MEBIBYTE })).status === 200);
  });
});
