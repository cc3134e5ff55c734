/** What event streams tell of resources: what their holders may hear now, and nothing else. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type EventLog, startEventLog } from '../../testing/event-log.ts';
import { type Harness, startHarness, until } from '../../testing/harness.ts';
import { follow, listen, type OpenedStream } from '@svc/testing/mcp-wire.ts';
import { KEY } from '../../testing/platform.ts';

let harness: Harness;
let log: EventLog;
const streams: OpenedStream[] = [];

beforeAll(async () => {
  harness = await startHarness();
  log = await startEventLog(harness.platform);
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.leave();
});
afterAll(async () => {
  await log.stop();
  await harness.stop();
});

const bearer = (token: string = KEY) => ({ authorization: `Bearer ${token}` });
const uriOf = (number: number) => `brain:///svc/notes/${number}.md`;

async function opened(token: string, notifications: object): Promise<OpenedStream> {
  const stream = await listen(harness.url, bearer(token), notifications);
  streams.push(stream);
  await until(() => stream.messages.length > 0);
  return stream;
}

const honoured = ({ messages: [first] }: OpenedStream) => first?.params?.['notifications'];
const updates = ({ messages }: OpenedStream) =>
  messages.flatMap(({ method, params }) => (method === 'notifications/resources/updated' ? [params?.['uri']] : []));
const listChanges = ({ messages }: OpenedStream) =>
  messages.filter(({ method }) => method === 'notifications/resources/list_changed').length;

/** The numbers of the files of the next `count` events. */
function next(count: number): number[] {
  return Array.from({ length: count }, (_, index) => log.kept.length + index + 1);
}

/** Streams have heard all that they will once the operator's has heard the last. */
async function settled(witness: OpenedStream, uri: string): Promise<void> {
  await until(() => updates(witness).includes(uri));
}

describe('who listens', () => {
  test('hears of the resources it named and of no others, under the names it gave them', async () => {
    const [first = 0, second = 0, last = 0] = next(3);
    const short = uriOf(second).replace('.md', '');
    const stream = await opened(KEY, {
      resourceSubscriptions: [uriOf(first), short, uriOf(last), 'https://elsewhere.example/', uriOf(last)],
      toolsListChanged: false,
    });
    expect(honoured(stream)).toEqual({ resourceSubscriptions: [uriOf(first), short, uriOf(last)] });
    log.emit(3);
    await settled(stream, uriOf(last));
    log.emit(1);
    expect(updates(stream)).toEqual([uriOf(first), short, uriOf(last)]);
    expect(listChanges(stream)).toBe(0);
    const [, told] = stream.messages;
    expect(told?.params?.['_meta']).toEqual({ 'io.modelcontextprotocol/subscriptionId': 'sub' });
  });

  test('hears that the list is another one, when it asked for that', async () => {
    const stream = await opened(KEY, { resourcesListChanged: true });
    expect(honoured(stream)).toEqual({ resourcesListChanged: true });
    log.emit(1);
    await until(() => listChanges(stream) === 1);
    expect(updates(stream)).toEqual([]);
  });

  test('hears nothing of other workspaces, of what a policy denies, and of names that it hides', async () => {
    const { registry } = harness;
    registry.grant('m1', 'acme', 'viewer');
    const [elsewhere = 0, denied = 0, hidden = 0, open = 0] = next(4);
    const wanted = {
      resourceSubscriptions: [...[elsewhere, denied, hidden, open].map(uriOf), 'brain:///svc/[masked]'],
      resourcesListChanged: true,
    };
    const member = await opened(registry.mint('m1'), wanted);
    const operator = await opened(KEY, wanted);
    registry.setPolicy('brain:svc/hr', { container: 'acme', readableBy: ['role:admin'] });
    registry.setPolicy('brain:svc/names', { container: 'acme', readableBy: ['role:viewer'], mask: ['file'] });
    log.emit(1, { workspace: 'beta' });
    log.emit(1, { resources: ['brain:svc/hr'] });
    log.emit(1, { resources: ['brain:svc/names'] });
    log.emit(1);
    await settled(operator, uriOf(open));
    await settled(member, uriOf(open));
    expect(updates(member)).toEqual([uriOf(open)]);
    expect(listChanges(member)).toBe(1);
  });

  test('with a token whose profile does not read is told of no resource', async () => {
    harness.registry.grant('m2', 'acme', 'viewer');
    const wanted = { resourceSubscriptions: [uriOf(1)], resourcesListChanged: true, toolsListChanged: true };
    const stream = await opened(harness.registry.mint('m2', { profile: 'escrow' }), wanted);
    expect(honoured(stream)).toEqual({ toolsListChanged: true });
  });

  test('loses the stream with the token', async () => {
    harness.registry.grant('m3', 'acme', 'viewer');
    const token = harness.registry.mint('m3');
    const stream = await opened(token, { toolsListChanged: true });
    harness.registry.revoke(token);
    await stream.ended;
    expect(stream.messages).toHaveLength(1);
  });

  test.each([
    [{ resourceSubscriptions: 'x' }, -32_602],
    [{ resourceSubscriptions: Array.from({ length: 101 }, (_, index) => uriOf(index)) }, -32_602],
    [{ taskIds: [] }, -32_021],
  ])('asking for %j is malformed', async (notifications, code) => {
    const response = await fetch(new URL('/mcp', harness.url), {
      method: 'POST',
      headers: {
        ...bearer(),
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: {
          notifications,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code } });
  });
});

describe('a session', () => {
  async function legacy(session: string | null, method: string, params: object = {}): Promise<Response> {
    return fetch(new URL('/mcp', harness.url), {
      method: 'POST',
      headers: {
        ...bearer(),
        'content-type': 'application/json',
        ...(session === null ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  }

  async function opening(): Promise<{ session: string; stream: OpenedStream }> {
    const begun = await legacy(null, 'initialize', { protocolVersion: '2025-11-25' });
    const session = begun.headers.get('mcp-session-id') ?? '';
    const stream = await follow(harness.url, bearer(), session);
    streams.push(stream);
    return { session, stream };
  }

  test('is told of what it subscribed to, until it unsubscribes', async () => {
    const { session, stream } = await opening();
    const [first = 0, second = 0, third = 0] = next(3);
    for (const number of [first, second]) {
      const reply = await legacy(session, 'resources/subscribe', { uri: uriOf(number) });
      expect([reply.status, await reply.json()]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
    }
    await legacy(session, 'resources/unsubscribe', { uri: uriOf(second) });
    await legacy(session, 'resources/subscribe', { uri: uriOf(third) });
    log.emit(3);
    await settled(stream, uriOf(third));
    expect(updates(stream)).toEqual([uriOf(first), uriOf(third)]);
    const [notice] = stream.messages.filter(({ method }) => method === 'notifications/resources/updated');
    expect(notice).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: uriOf(first) },
    });
  });

  test('speaks through the stream that was opened last, and ends it with itself', async () => {
    const { session, stream } = await opening();
    const later = await follow(harness.url, bearer(), session);
    await stream.ended;
    await fetch(new URL('/mcp', harness.url), {
      method: 'DELETE',
      headers: { ...bearer(), 'mcp-session-id': session },
    });
    await later.ended;
  });

  test('is counted until it ends', async () => {
    const counted = async (): Promise<number> => {
      const response = await harness.fetch('/metrics', { headers: bearer() });
      return Number(/^svc_mcp_sessions (\d+)$/m.exec(await response.text())?.[1]);
    };
    const before = await counted();
    const { session } = await opening();
    expect(await counted()).toBe(before + 1);
    await harness.fetch('/mcp', { method: 'DELETE', headers: { ...bearer(), 'mcp-session-id': session } });
    expect(await counted()).toBe(before);
  });

  test('subscribes to files only, and to so many', async () => {
    const { session } = await opening();
    const subscribe = async (uri: unknown) =>
      ((await (await legacy(session, 'resources/subscribe', { uri })).json()) as { error?: { code: number } }).error
        ?.code;
    for (const uri of [undefined, 7, 'file:///etc/passwd', `brain:///b/${'x'.repeat(3000)}`])
      expect(await subscribe(uri)).toBe(-32_602);
    for (let number = 0; number < 100; number += 1) expect(await subscribe(uriOf(number))).toBeUndefined();
    expect(await subscribe(uriOf(100))).toBe(-32_602);
    expect(await subscribe(uriOf(99))).toBeUndefined();
  });
});
