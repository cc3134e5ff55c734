import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { io } from 'socket.io-client';
import { expect, test } from 'vitest';
import { type Gateway, startGateway } from './service.ts';
import { type Harness, KEYED, startHarness, until } from '../testing/harness.ts';
import { createTestPlatform, KEY } from '../testing/platform.ts';

const CLIENTS = 50;
const DRAIN_WAIT_MS = '300';
/** A process that has not ended by then is ended in the middle of it. */
const HARD_STOP_MS = 25_000;
/** For a socket; who sends it says nothing more. */
const UPGRADE = [
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
  'Host: 127.0.0.1',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==',
  '\r\n',
].join('\r\n');

async function anotherGateway(harness: Harness): Promise<Gateway> {
  const environment = { ...KEYED, SVC_DRAIN_WAIT_MS: DRAIN_WAIT_MS };
  const platform = createTestPlatform({ environment, bus: harness.platform.bus });
  const gateway = await startGateway(platform, { expectedServices: ['probe', 'gateway'] });
  await until(() => gateway.ready().then(({ ready }) => ready));
  return gateway;
}

/** One call; whether the connection may be used again. */
function callOnce(
  port: number,
  agent: Agent,
  tool: string,
  args: object,
): Promise<{ status: number; goesOn: boolean }> {
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: tool, arguments: args }, id: 1 });
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-api-key': KEY, 'content-length': Buffer.byteLength(body) };
    const outgoing = request({ port, host: '127.0.0.1', path: '/call', method: 'POST', headers, agent }, (response) => {
      response.resume();
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, goesOn: response.headers.connection !== 'close' });
      });
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

test('a gateway that drains fails no request of clients that go elsewhere when told', async () => {
  const harness = await startHarness({ environment: { ...KEYED, SVC_DRAIN_WAIT_MS: DRAIN_WAIT_MS } });
  let current = harness.gateway;
  const old: Gateway[] = [];
  let isOver = false;
  const outcomes = { ok: 0, failed: [] as unknown[] };

  async function client(): Promise<void> {
    let port = current.port;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!isOver) {
      try {
        const { status, goesOn } = await callOnce(port, agent, 'probe_echo', {});
        if (status === 200) outcomes.ok += 1;
        else outcomes.failed.push(status);
        if (!goesOn) port = current.port;
      } catch (error) {
        outcomes.failed.push(error);
      }
    }
    agent.destroy();
  }

  const clients = Array.from({ length: CLIENTS }, client);
  for (let round = 0; round < 4; round += 1) {
    const leaving = current;
    current = await anotherGateway(harness);
    const okBefore = outcomes.ok;
    await leaving.drain();
    await until(() => outcomes.ok > okBefore + CLIENTS);
    old.push(leaving);
  }
  isOver = true;
  await Promise.all(clients);
  for (const gateway of [...old.slice(1), current]) await gateway.close();
  await harness.stop();
  expect(outcomes.failed).toEqual([]);
  expect(outcomes.ok).toBeGreaterThan(4 * CLIENTS);
});

test('while it drains it is not ready, answers health, finishes what is in flight and tells its sockets', async () => {
  const harness = await startHarness({ environment: { ...KEYED, SVC_DRAIN_WAIT_MS: '400' } });
  const socket = io(harness.url, { auth: { apiKey: KEY }, transports: ['websocket'], reconnection: false });
  const told: string[] = [];
  const endings: string[] = [];
  socket.on('error', ({ code }: { code: string }) => told.push(code));
  socket.on('disconnect', (reason) => endings.push(reason));
  await until(() => socket.connected);

  const slow = harness.tool('probe_slow_read', { forMs: 900 });
  const drained = harness.gateway.drain();
  const ready = await harness.fetch('/ready');
  expect([ready.status, ready.headers.get('connection')]).toEqual([503, 'close']);
  expect((await harness.fetch('/health')).status).toBe(200);
  expect((await harness.tool('probe_echo')).status).toBe(200);
  expect(await slow).toMatchObject({ status: 200, result: { content: { done: true } } });
  await drained;
  await until(() => endings.length === 1);
  // Any reason but the server's own disconnect makes the client connect again by itself.
  expect([told, endings]).toEqual([['SERVICE_UNAVAILABLE'], ['transport close']]);
  await expect(harness.fetch('/health')).rejects.toThrow();
  await harness.stop();
});

test(
  'clients of sockets that take no farewell, or never showed who they are, hold up no end',
  async () => {
    const harness = await startHarness();
    const frozen = io(harness.url, { auth: { apiKey: KEY }, transports: ['websocket'], reconnection: false });
    await until(() => frozen.connected);
    const engine = frozen.io.engine as unknown as { transport: { ws: { _socket: Socket } } };
    const held = engine.transport.ws._socket;
    held.pause();
    const stranger = connect(harness.gateway.port, '127.0.0.1');
    stranger.write(UPGRADE);
    const [greeting] = (await once(stranger, 'data')) as [Buffer];
    expect(greeting.toString()).toContain('101 Switching Protocols');
    stranger.pause();
    await harness.gateway.drain();
    await Promise.all(
      [held, stranger].map((connection) =>
        once(
          connection.resume().on('error', () => {}),
          'close',
        ),
      ),
    );
    await harness.stop();
  },
  HARD_STOP_MS,
);
