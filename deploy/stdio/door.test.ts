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

test('goes on as a stream of the newer era, whose client is told to read again what it wants to hear of', async () => {
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 7 };
  const uri = 'brain:///svc/notes/tide.md';
  const notifications = { toolsListChanged: true, resourceSubscriptions: [uri] };
  const acknowledged = {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications, _meta },
  };
  const bye = { jsonrpc: '2.0', id: 7, result: { resultType: 'complete', _meta } };
  let asked = 0;
  const door = await doorTo((request, response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(acknowledged)}\n\n`);
    if (asked > 1) response.end(`data: ${JSON.stringify(bye)}\n\n`);
    else setTimeout(() => request.socket.destroy(), 50);
  });
  const heard: unknown[] = [];
  const bridge = createBridge({ door, write: (line) => heard.push(JSON.parse(line)), warn: () => {} });
  const version = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  bridge.take(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method: 'subscriptions/listen',
      params: { notifications, _meta: version },
    }),
  );
  await expect.poll(() => heard).toContainEqual(bye);
  expect(heard).toEqual([
    acknowledged,
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
    { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri, _meta } },
    bye,
  ]);
});
