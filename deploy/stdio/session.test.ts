/** A session of the earlier era whose node was replaced by one that never heard of it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { doorTo } from '../testing/door-to.ts';
import { createBridge } from './bridge.ts';
import type { Door } from './door.ts';

const REVISION = '2025-06-18';
const URI = 'brain:///svc/notes/tide.md';

interface Asked {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly uri?: string };
}

/** Knows its sessions as a node does; `forget` is what its end and the start of another come to. */
async function nodeWithSessions() {
  const sessions = new Set<string>();
  let opened = 0;
  let mayOpen: (request: IncomingMessage) => Promise<boolean> = async () => true;
  let busy = 0;
  const wanted = new Map<string, unknown[]>();
  const answer = async (
    { id, method, params }: Asked,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
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
    if (method === 'resources/subscribe') {
      if ((busy -= 1) >= 0) return reply(503, { error: { code: -32_000, message: 'Not now.' } });
      wanted.set(name, [...(wanted.get(name) ?? []), params?.uri]);
    }
    if (id === undefined) response.writeHead(202).end();
    else reply(200, { result: {} });
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'POST') await answer((await json(request)) as Asked, request, response);
    else response.writeHead(405).end();
  };
  const door = await doorTo((request, response) => void take(request, response));
  return {
    door,
    forget: () => sessions.clear(),
    opened: () => opened,
    /** URIs that its latest session wants to hear of. */
    wanted: () => wanted.get(`s${opened}`),
    /** So many subscriptions are refused for now. */
    refuseSubscriptions: (count: number): void => void (busy = count),
    /** What each `initialize` waits for; false: it is not answered. */
    openWhen: (judge: typeof mayOpen): void => void (mayOpen = judge),
  };
}

/** With its session open. */
async function connectedClient(door: Door) {
  const heard: unknown[] = [];
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
    cancel: (requestId: number): void => say({ method: 'notifications/cancelled', params: { requestId } }),
    subscribe: (id: number, uri: string): void => say({ id, method: 'resources/subscribe', params: { uri } }),
    answered: (): readonly unknown[] => heard,
    heard: async (id: number): Promise<unknown> => {
      await answerTo(id);
      return heard.find((one) => (one as Asked).id === id);
    },
  };
}

/** `opening`: it is asked to open one; `goOn`: it does. */
function holdOpening(node: Pick<Awaited<ReturnType<typeof nodeWithSessions>>, 'openWhen'>) {
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  node.openWhen(async () => {
    asked.resolve();
    await held.promise;
    return true;
  });
  return { opening: asked.promise, goOn: held.resolve };
}

/** A second request beside that for which the lost session is being opened anew. */
async function askedTwiceWhileOpening() {
  const node = await nodeWithSessions();
  const client = await connectedClient(node.door);
  node.forget();
  const { opening, goOn } = holdOpening(node);
  client.ask(1);
  await opening;
  client.ask(2);
  return { node, client, goOn };
}

test('is opened anew once for all who ask meanwhile', async () => {
  const { node, client, goOn } = await askedTwiceWhileOpening();
  setTimeout(goOn, 100);
  for (const id of [1, 2]) expect(await client.heard(id)).toEqual({ jsonrpc: '2.0', id, result: {} });
  expect(node.opened()).toBe(2);
});

test('is opened for the others when who asked first cancels', async () => {
  const { client, goOn } = await askedTwiceWhileOpening();
  client.cancel(1);
  setTimeout(goOn, 100);
  expect(await client.heard(2)).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
  expect(client.answered()).not.toContainEqual(expect.objectContaining({ id: 1 }));
});

test('is opened by a later request when it could not be when it was lost', async () => {
  const node = await nodeWithSessions();
  const client = await connectedClient(node.door);
  node.forget();
  node.openWhen(async ({ socket }) => !socket.destroy());
  client.ask(1);
  expect(await client.heard(1)).toMatchObject({ error: { data: { code: 'SERVICE_UNAVAILABLE' } } });
  node.openWhen(async () => true);
  client.ask(2);
  expect(await client.heard(2)).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
});

test('keeps a subscription that the next node refuses for now', async () => {
  const node = await nodeWithSessions();
  const client = await connectedClient(node.door);
  client.subscribe(1, URI);
  await client.heard(1);
  node.forget();
  node.refuseSubscriptions(1);
  client.ask(2);
  expect(await client.heard(2)).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
  expect(node.opened()).toBe(2);
  expect(node.wanted()).toEqual([URI]);
});

test('is not taken for one that is as it was while a subscription is refused', async () => {
  const node = await nodeWithSessions();
  const client = await connectedClient(node.door);
  client.subscribe(1, URI);
  await client.heard(1);
  node.forget();
  node.refuseSubscriptions(Number.POSITIVE_INFINITY);
  client.ask(2);
  expect(await client.heard(2)).toMatchObject({ error: { message: expect.stringContaining('with 503') } });
  node.refuseSubscriptions(0);
  client.ask(3);
  expect(await client.heard(3)).toEqual({ jsonrpc: '2.0', id: 3, result: {} });
  expect(node.wanted()).toEqual([URI]);
});

test('is not waited for without end where who is asked to open it says nothing', async () => {
  const ofSignals = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => ofSignals(ms / 100));
  onTestFinished(() => void vi.restoreAllMocks());
  const node = await nodeWithSessions();
  const client = await connectedClient(node.door);
  node.forget();
  node.openWhen(() => Promise.resolve(false));
  client.ask(1);
  client.ask(2);
  await expect
    .poll(() => client.answered(), { timeout: 10_000 })
    .toEqual(expect.arrayContaining([expect.objectContaining({ id: 1 }), expect.objectContaining({ id: 2 })]));
});
