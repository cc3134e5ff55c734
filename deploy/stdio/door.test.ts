/** What becomes of a request whose node is lost while it has it in hand. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { doorTo, WITHIN_MS } from '../testing/door-to.ts';
import { createBridge } from './bridge.ts';
import type { Door } from './door.ts';

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

const BYE = { jsonrpc: '2.0', id: 7, result: { resultType: 'complete', _meta: SUBSCRIPTION } };
const ERROR = { code: -32_000, message: 'The credential is not valid.', data: { code: 'UNAUTHORIZED' } };
const JSON_TYPE = { 'content-type': 'application/json' };

/** What the client of such a stream hears, up to the answer to its request. */
async function listen(door: Door): Promise<readonly unknown[]> {
  const heard: unknown[] = [];
  const bridge = createBridge({ door, write: (line) => heard.push(JSON.parse(line)), warn: () => {} });
  const params = { notifications: WANTED, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  bridge.take(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'subscriptions/listen', params }));
  await expect.poll(() => heard, { timeout: 10_000 }).toContainEqual(expect.objectContaining({ id: 7 }));
  return heard;
}

/** Three times in a row: `end` is how the first two streams end, the third is answered with an error. */
async function listenTwiceAgain(end: (request: IncomingMessage, response: ServerResponse) => void) {
  let asked = 0;
  const door = await doorTo((request, response) => {
    asked += 1;
    if (asked > 2) response.writeHead(401, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', error: ERROR }));
    else {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify(ACKNOWLEDGED)}\n\n`);
      end(request, response);
    }
  });
  return listen(door);
}

test.each([
  ['breaks', (request: IncomingMessage) => void setTimeout(() => request.socket.destroy(), 50)],
  ['ends', (_request: IncomingMessage, response: ServerResponse) => void response.end()],
  [
    'ends with its result, because its node leaves',
    (_request: IncomingMessage, response: ServerResponse) => void response.end(`data: ${JSON.stringify(BYE)}\n\n`),
  ],
])('goes on when its stream %s, and the client is told to read again what it wants to hear of', async (_how, end) => {
  expect(await listenTwiceAgain(end)).toEqual([
    ACKNOWLEDGED,
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: SUBSCRIPTION } },
    { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: URI, _meta: SUBSCRIPTION } },
    { jsonrpc: '2.0', id: 7, error: ERROR },
  ]);
});

test('is over as a stream that listens to nothing', async () => {
  const nothing = { ...ACKNOWLEDGED, params: { notifications: {}, _meta: SUBSCRIPTION } };
  const door = await doorTo((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify(nothing)}\n\ndata: ${JSON.stringify(BYE)}\n\n`);
  });
  expect(await listen(door)).toEqual([nothing, BYE]);
});
