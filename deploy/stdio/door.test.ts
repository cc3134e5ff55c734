/** What becomes of a request whose node is lost while it has it in hand. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createBridge } from './bridge.ts';
import { createDoor, type Door } from './door.ts';

const WITHIN_MS = 300;

async function doorTo(handler: RequestListener): Promise<Door> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const join = async () => ({ url, leave: () => {} });
  return createDoor({ join, headers: {}, query: '', withinMs: WITHIN_MS });
}

function ask(door: Door): Promise<string> {
  const request = { method: 'POST' as const, headers: {}, body: '{}' };
  return door.exchange({ request, signal: AbortSignal.timeout(20_000), read: (reply) => reply.text() });
}

test('is sent again however long the node had it', async () => {
  let asked = 0;
  const door = await doorTo((request, response) => {
    asked += 1;
    if (asked > 1) response.end('done');
    else setTimeout(() => request.socket.destroy(), 3 * WITHIN_MS);
  });
  expect(await ask(door)).toBe('done');
  expect(asked).toBe(2);
});

test('is given up when it is lost each time', async () => {
  const door = await doorTo((request) => void request.socket.destroy());
  await expect(ask(door)).rejects.toThrow('no node answers at ');
});

const SUBSCRIPTION = { 'io.modelcontextprotocol/subscriptionId': 7 };
const URI = 'brain:///svc/notes/tide.md';
const WANTED = { toolsListChanged: true, resourceSubscriptions: [URI] };
const ACKNOWLEDGED = {
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications: WANTED, _meta: SUBSCRIPTION },
};

/** What the client of such a stream hears, up to the answer to its request. */
async function listen(door: Door): Promise<readonly unknown[]> {
  const heard: unknown[] = [];
  const bridge = createBridge({ door, write: (line) => heard.push(JSON.parse(line)), warn: () => {} });
  const params = { notifications: WANTED, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  bridge.take(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params }));
  await expect.poll(() => heard, { timeout: 10_000 }).toContainEqual(expect.objectContaining({ id: 7 }));
  return heard;
}

test('goes on as a stream of the newer era, whose client is told to read again what it wants to hear of', async () => {
  const bye = { jsonrpc: '2.0', id: 7, result: { resultType: 'complete', _meta: SUBSCRIPTION } };
  let asked = 0;
  const door = await doorTo((request, response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(ACKNOWLEDGED)}\n\n`);
    if (asked > 1) response.end(`data: ${JSON.stringify(bye)}\n\n`);
    else setTimeout(() => request.socket.destroy(), 50);
  });
  expect(await listen(door)).toEqual([
    ACKNOWLEDGED,
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: SUBSCRIPTION } },
    { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: URI, _meta: SUBSCRIPTION } },
    bye,
  ]);
});

test('is answered with the reason when its stream ends without a result, as with a credential', async () => {
  const error = { code: -32_000, message: 'The credential is not valid.', data: { code: 'UNAUTHORIZED' } };
  let asked = 0;
  const door = await doorTo((_request, response) => {
    asked += 1;
    const type = { 'content-type': asked > 1 ? 'application/json' : 'text/event-stream' };
    if (asked > 1) response.writeHead(401, type).end(JSON.stringify({ jsonrpc: '2.0', error }));
    else response.writeHead(200, type).end(`data: ${JSON.stringify(ACKNOWLEDGED)}\n\n`);
  });
  expect(await listen(door)).toEqual([ACKNOWLEDGED, { jsonrpc: '2.0', id: 7, error }]);
});
