/** A session of the earlier era whose node was replaced by one that never heard of it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { createBridge } from './bridge.ts';
import { createDoor } from './door.ts';

const REVISION = '2025-06-18';
const WITHIN_MS = 300;

interface Asked {
  readonly id?: number;
  readonly method: string;
}

/** Knows its sessions as a node does; `forget` is what its end and the start of another come to. */
async function nodeWithSessions() {
  const sessions = new Set<string>();
  let opened = 0;
  let mayOpen: (request: IncomingMessage) => Promise<boolean> = async () => true;
  const answer = async ({ id, method }: Asked, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const name = request.headers['mcp-session-id'];
    const reply = (status: number, fields: object, headers = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, ...fields }));
    };
    if (method === 'initialize') {
      if (!(await mayOpen(request))) return;
      sessions.add(`s${(opened += 1)}`);
      return reply(200, { result: { protocolVersion: REVISION } }, { 'mcp-session-id': `s${opened}` });
    }
    if (typeof name !== 'string') return reply(400, { error: { code: -32_600, message: 'Send initialize first.' } });
    if (!sessions.has(name)) return reply(404, { error: { code: -32_001, message: 'Gone.' } });
    if (id === undefined) response.writeHead(202).end();
    else reply(200, { result: {} });
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'POST') await answer((await json(request)) as Asked, request, response);
    else response.writeHead(405).end();
  };
  const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forget: () => sessions.clear(),
    opened: () => opened,
    /** What each `initialize` waits for; false: it is not answered. */
    openWhen: (judge: typeof mayOpen): void => void (mayOpen = judge),
  };
}

/** With its session open. */
async function connectedClient(url: string) {
  const heard: unknown[] = [];
  const join = async () => ({ url, leave: () => {} });
  const door = createDoor({ join, headers: {}, query: '', withinMs: WITHIN_MS });
  const bridge = createBridge({ door, write: (line) => heard.push(JSON.parse(line)), warn: () => {} });
  onTestFinished(() => bridge.end());
  const say = (fields: object): void => bridge.take(JSON.stringify({ jsonrpc: '2.0', ...fields }));
  const answerTo = (id: number) =>
    expect.poll(() => heard, { timeout: 10_000 }).toContainEqual(expect.objectContaining({ id }));
  say({ id: 0, method: 'initialize', params: { protocolVersion: REVISION } });
  say({ method: 'notifications/initialized' });
  await answerTo(0);
  return {
    ask: (id: number): void => say({ id, method: 'tools/list' }),
    heard: async (id: number): Promise<unknown> => {
      await answerTo(id);
      return heard.find((one) => (one as Asked).id === id);
    },
  };
}

test('is opened anew once for all who ask meanwhile', async () => {
  const node = await nodeWithSessions();
  const client = await connectedClient(node.url);
  node.forget();
  let isOpening = (): void => {};
  const opening = new Promise<void>((resolve) => (isOpening = resolve));
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  node.openWhen(async () => {
    isOpening();
    await held;
    return true;
  });
  client.ask(1);
  await opening;
  client.ask(2);
  setTimeout(goOn, 100);
  for (const id of [1, 2]) expect(await client.heard(id)).toEqual({ jsonrpc: '2.0', id, result: {} });
  expect(node.opened()).toBe(2);
});

test('is opened by a later request when it could not be when it was lost', async () => {
  const node = await nodeWithSessions();
  const client = await connectedClient(node.url);
  node.forget();
  node.openWhen(async ({ socket }) => !socket.destroy());
  client.ask(1);
  expect(await client.heard(1)).toMatchObject({ error: { data: { code: 'SERVICE_UNAVAILABLE' } } });
  node.openWhen(async () => true);
  client.ask(2);
  expect(await client.heard(2)).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
});
