import { setTimeout as sleep } from 'node:timers/promises';
import type { Socket } from 'socket.io-client';
import { describe, expect, test } from 'vitest';
import { SUBJECTS } from '@svc/contract/discovery.ts';
import { startGateway } from './service.ts';
import { FakeRegistry } from '@svc/testing/registry.fake.ts';
import { type EventLog, startEventLog } from '../testing/event-log.ts';
import { type Harness, KEYED, startHarness, until } from '../testing/harness.ts';
import { type Client, connectedClient, openClient, type Opening as ClientOpening } from '../testing/listener.ts';
import { createTestPlatform, KEY } from '../testing/platform.ts';
import { withEventLog } from '../testing/with-event-log.ts';

let harness: Harness;
let log: EventLog;
const sockets = withEventLog((started) => ({ harness, log } = started));

type Opening = Partial<ClientOpening>;

function open(opening: Opening = {}): Client {
  const client = openClient({ url: harness.url, ...opening });
  sockets.push(client.socket);
  return client;
}

async function connected(opening: Opening = {}): Promise<Client> {
  const client = await connectedClient({ url: harness.url, ...opening });
  sockets.push(client.socket);
  return client;
}

async function refusal(opening: Opening): Promise<unknown> {
  const { socket } = open(opening);
  return new Promise((resolve) => {
    socket.on('connect_error', (error) =>
      resolve('data' in error ? (error.data as { code: string }).code : error.message),
    );
    socket.on('connect', () => resolve('connected'));
  });
}

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Live from the first event on: its first message ended the wait for a resume. */
async function listening(opening?: Opening): Promise<Client> {
  const client = await connected(opening);
  expect(await client.ask('subscribe')).toMatchObject({ ok: true });
  return client;
}

describe('a handshake', () => {
  test('needs a credential, from auth or from headers and never from the address', async () => {
    expect(await refusal({ auth: {} })).toBe('UNAUTHORIZED');
    expect(await refusal({ auth: { apiKey: 'wrong' } })).toBe('UNAUTHORIZED');
    expect(await refusal({ auth: { apiKey: 7 } })).toBe('UNAUTHORIZED');
    expect(await refusal({ auth: { token: 'svc_unknown' } })).toBe('UNAUTHORIZED');
    expect(await refusal({ auth: { token: `svc_${'0'.repeat(64)}` } })).toBe('UNAUTHORIZED');
    expect(await refusal({ auth: {}, query: { apiKey: KEY, token: KEY, 'x-api-key': KEY } })).toBe('UNAUTHORIZED');
    expect(await refusal({ auth: { apiKey: KEY } })).toBe('connected');
    expect(await refusal({ auth: {}, headers: { authorization: `Bearer ${KEY}` } })).toBe('connected');
  });

  test('that is refused is in the audit', async () => {
    const { audited } = harness.registry;
    const before = audited.length;
    expect(await refusal({ auth: { token: `svc_${'0'.repeat(64)}` } })).toBe('UNAUTHORIZED');
    await refusal({ headers: { origin: 'https://evil.example' } });
    await until(() => audited.length === before + 2);
    expect(audited.slice(before)).toMatchObject([
      { event: 'call:denied', data: { tool: 'socket', code: 'UNAUTHORIZED', principal: 'anon:127.0.0.1' } },
      { event: 'call:denied', data: { tool: 'socket', code: 'FORBIDDEN', principal: 'anon:127.0.0.1' } },
    ]);
    expect(JSON.stringify(audited)).not.toContain('svc_0');
  });

  test('from a foreign origin is refused', async () => {
    expect(await refusal({ headers: { origin: 'https://evil.example' } })).not.toBe('connected');
  });

  test('counts as a request', async () => {
    const limited = await startHarness({
      environment: { ...KEYED, SVC_RATE_LIMIT: 'on', SVC_PLAN: 'free', SVC_PLAN_LIMITS: 'free=1' },
    });
    expect(await refusal({ url: limited.url })).toBe('connected');
    expect(await refusal({ url: limited.url })).toBe('RATE_LIMITED');
    await limited.stop();
  });
});

describe('events', () => {
  test('reach a client that only listens, with their common fields', async () => {
    const { socket } = await connected();
    const event = new Promise<unknown>((resolve) => socket.on('brain:change', resolve));
    log.emit(1);
    expect(await event).toEqual({ id: 'evt_1', name: 'brain:change', at: 1, node: 'n', ...log.kept[0]?.event.payload });
  });

  test('come in order and once although the bus loses, repeats and reorders', async () => {
    const client = await listening();
    let emitted = 0;
    for (let round = 0; round < 60; round += 1) {
      const events = log.emit(5, { lost: round % 3 === 1 });
      emitted += events.length;
      if (round % 4 === 0) log.publish(events);
      if (round % 7 === 0) log.publish([...events].reverse());
      if (round % 10 === 0) await sleep(2);
    }
    await until(() => client.heard.length >= emitted);
    await sleep(50);
    expect(client.heard).toEqual(upTo(emitted));
    expect(log.pages).toBeGreaterThan(1);
  });

  test('that were all lost are found by the heartbeat', async () => {
    const client = await listening();
    log.emit(3);
    await until(() => client.heard.length === 3);
    log.emit(700, { lost: true });
    log.heartbeat();
    await until(() => client.heard.length === 703);
    expect(client.heard).toEqual(upTo(703));
  });

  test('of one service reach the clients of every gateway', async () => {
    const other = await startGateway(createTestPlatform({ environment: KEYED, bus: harness.platform.bus }));
    const clients = [await listening(), await listening({ url: `http://127.0.0.1:${other.port}` })];
    log.emit(10);
    await until(() => clients.every(({ heard }) => heard.length === 10));
    await other.close();
  });
});

describe('messages', () => {
  test('narrow and widen what is heard', async () => {
    const client = await connected();
    const witness = await listening();
    const emitOne = async (): Promise<void> => {
      log.emit(1);
      await until(() => witness.heard.length === log.kept.length);
    };
    expect(await client.ask('subscribe', { events: ['lock:*'] })).toEqual({
      ok: true,
      events: ['lock:*'],
      workspaces: [],
    });
    await emitOne();
    expect(await client.ask('subscribe', { events: ['brain:change'] })).toMatchObject({
      events: ['lock:*', 'brain:change'],
    });
    await emitOne();
    await until(() => client.heard.length === 1);
    expect(await client.ask('unsubscribe', { events: ['brain:change'] })).toEqual({ ok: true });
    await emitOne();
    await client.ask('subscribe');
    log.emit(1);
    await until(() => client.heard.length === 2);
    expect(client.heard).toEqual([2, 4]);
  });

  test('that do not fit are refused, and those without acknowledgement too', async () => {
    const client = await connected();
    expect(await client.ask('subscribe', { event: 'x' })).toMatchObject({ ok: false, code: 'VAF_INPUT_INVALID' });
    expect(await client.ask('subscribe', { events: ['not a name'] })).toMatchObject({ ok: false });
    client.socket.emit('subscribe', {});
    await until(() => client.errors.length === 1);
    expect(client.errors[0]).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  test('of another name are answered, instead of waited for', async () => {
    const client = await connected();
    expect(await client.ask('subcribe', {})).toMatchObject({ ok: false, code: 'INVALID_REQUEST' });
    client.socket.emit('subcribe', {});
    await until(() => client.errors.length === 1);
    expect(client.errors[0]).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  test('are taken twenty times a second', async () => {
    const client = await connected();
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.ask('unsubscribe', { events: [] })));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(20);
    expect(answers.filter(({ code }) => code === 'RATE_LIMITED')).toHaveLength(10);
  });

  test('beyond 64 KiB end the connection', async () => {
    const client = await connected();
    client.socket.emit('subscribe', { events: ['x'.repeat(70_000)] }, () => {});
    await until(() => client.endings.length === 1);
  });
});

describe('what one socket holds', () => {
  test('is bounded: names, and how often it resumes', async () => {
    const client = await connected();
    const names = (from: number) => Array.from({ length: 60 }, (_, index) => `area-${from + index}:done`);
    expect(await client.ask('subscribe', { events: names(0) })).toMatchObject({ ok: true });
    const answer = await client.ask('subscribe', { events: names(60) });
    expect(answer).toMatchObject({ ok: false, code: 'VAF_INPUT_INVALID' });
    expect(await client.ask('subscribe', { events: names(0) })).toMatchObject({ ok: true, events: names(0) });
    await client.ask('subscribe');
    expect(await client.ask('unsubscribe', { events: names(0) })).toMatchObject({ ok: true });
    expect(await client.ask('unsubscribe', { events: names(60) })).toMatchObject({ ok: false });

    log.emit(10);
    const other = await listening();
    const codes: unknown[] = [];
    for (let each = 0; each < 10; each += 1) codes.push((await other.ask('subscribe', { after: 'evt_1' }))['code']);
    expect(codes).toEqual([...Array<undefined>(8).fill(undefined), 'RATE_LIMITED', 'RATE_LIMITED']);
  });
});

describe('a session', () => {
  const sessions = async (): Promise<string[]> => {
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => harness.fetch('/socket.io/?EIO=4&transport=polling')),
    );
    return Promise.all(replies.map(async (reply) => (reply.status === 200 ? reply.text() : String(reply.status))));
  };

  test('without a good handshake is one of few, and ends within five seconds', async () => {
    const opened = (await sessions()).filter((text) => text.startsWith('0{'));
    expect(opened).toHaveLength(64);
    const { sid } = JSON.parse(opened[0]?.slice(1) ?? '') as { sid: string };
    const startedAt = performance.now();
    const reply = await harness.fetch(`/socket.io/?EIO=4&transport=polling&sid=${sid}`);
    expect([await reply.text(), performance.now() - startedAt < 7000]).toEqual(['1', true]);
    await until(async () => (await sessions()).some((text) => text.startsWith('0{')));
  });

  test('opens one socket, however often it asks at once, and again when it was refused', async () => {
    const at = '/socket.io/?EIO=4&transport=polling';
    const opened = await (await harness.fetch(at)).text();
    const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
    const answers = async (...auths: object[]): Promise<string[]> => {
      const body = auths.map((auth) => `40${JSON.stringify(auth)}`).join('\x1e');
      await harness.fetch(`${at}&sid=${sid}`, { method: 'POST', body });
      const told: string[] = [];
      while (told.length < auths.length)
        told.push(...(await (await harness.fetch(`${at}&sid=${sid}`)).text()).split('\x1e'));
      return told.map((text) => /^4\d/.exec(text)?.[0] ?? text).sort();
    };
    expect(await answers({ apiKey: 'wrong' })).toEqual(['44']);
    expect(await answers(...Array.from({ length: 20 }, () => ({ apiKey: KEY })))).toEqual([
      '40',
      ...Array<string>(19).fill('44'),
    ]);
  });

  test('that listens to nothing any more is closed', async () => {
    const { socket } = await connected();
    const { engine } = socket.io;
    const closed = new Promise((resolve) => engine.once('close', resolve));
    (socket as unknown as { packet(packet: { type: number }): void }).packet({ type: 1 });
    await closed;
  });
});

describe('resume', () => {
  const after = (eventId: string) => (socket: Socket) => void socket.emit('subscribe', { after: eventId }, () => {});

  test('tells what was missed first, then goes on, while events keep coming', async () => {
    const before = await listening();
    log.emit(10);
    await until(() => before.heard.length === 10);
    before.socket.close();
    log.emit(500);
    await until(async () => (await harness.tool('probe_echo')).status === 200);
    const noise = setInterval(() => log.emit(3, { lost: Math.random() < 0.3 }), 1);
    const back = open({ first: after('evt_10') });
    await until(() => back.heard.length > 800);
    clearInterval(noise);
    log.heartbeat();
    await until(() => back.heard.length === log.kept.length - 10);
    expect(back.heard).toEqual(upTo(log.kept.length, 11));
  });

  test('of a client that first listened for a while repeats nothing', async () => {
    log.emit(20);
    await until(() => log.pages > 0);
    const client = await listening();
    log.emit(5);
    await until(() => client.heard.length === 5);
    await client.ask('subscribe', { after: 'evt_12' });
    log.emit(5);
    await until(() => client.heard.length === 18);
    await sleep(30);
    expect(client.heard).toEqual([...upTo(25, 21), ...upTo(20, 13), ...upTo(30, 26)]);
  });

  test('of a live client comes in one piece, although events keep coming', async () => {
    log.emit(600);
    await until(() => log.pages > 0);
    const client = await listening();
    const noise = setInterval(() => log.emit(2), 1);
    await until(() => client.heard.length > 20);
    await client.ask('subscribe', { after: 'evt_10' });
    await until(() => client.heard.includes(600));
    clearInterval(noise);
    await until(() => client.heard.length === log.kept.length - 10);
    const from = client.heard.indexOf(11);
    expect(client.heard.splice(from, 590)).toEqual(upTo(600, 11));
    expect(client.heard).toEqual(upTo(log.kept.length, 601));
  });

  test('finds the event also at a gateway that has not heard of its service yet', async () => {
    const fresh = await startHarness({ environment: KEYED });
    const client = open({ url: fresh.url, first: after('evt_10') });
    await until(() => client.socket.connected);
    await sleep(100);
    const late = await startEventLog(fresh.platform, 30);
    await until(() => client.heard.length === 20);
    late.emit(5);
    await until(() => client.heard.length === 25);
    expect([client.heard, client.errors]).toEqual([upTo(35, 11), []]);
    await late.stop();
    await fresh.stop();
  });

  test('is not held up by a service that told something and then fell silent', async () => {
    const fresh = await startHarness({ environment: KEYED });
    const client = open({ url: fresh.url });
    await until(() => client.socket.connected);
    const { bus } = fresh.platform;
    const told = [{ position: 1, event: { id: 'evt_m', name: 'silent:told', at: 1, node: 'n', payload: {} } }];
    bus.publish(SUBJECTS.events('silent'), JSON.stringify({ service: 'silent', head: 1, events: told }));
    const speaking = await startEventLog(fresh.platform);
    speaking.emit(2);
    await until(() => client.heard.length === 2);
    await speaking.stop();
    await fresh.stop();
  });

  test('waits for a service that has to be there, however long it takes to come', async () => {
    const platform = createTestPlatform({ environment: KEYED });
    await new FakeRegistry().serveOn(platform);
    const gateway = await startGateway(platform, { expectedServices: ['log'] });
    const client = open({ url: `http://127.0.0.1:${gateway.port}`, first: after('evt_10') });
    await until(() => client.socket.connected);
    await sleep(1800);
    const late = await startEventLog(platform, 30);
    await until(() => client.heard.length === 20);
    expect([client.heard, client.errors]).toEqual([upTo(30, 11), []]);
    await late.stop();
    await gateway.close();
  });

  test('repeats nothing at a gateway that lags behind the one before', async () => {
    const probe = await listening();
    log.emit(1);
    await until(() => probe.heard.length === 1);
    log.emit(9, { lost: true });
    const client = open({ first: after('evt_6') });
    await until(() => client.socket.connected);
    await sleep(50);
    log.emit(1);
    await until(() => client.heard.length >= 5);
    await sleep(30);
    expect(client.heard).toEqual(upTo(11, 7));
  });

  test('from an event of a thing that has an id of its own', async () => {
    const listener = await listening();
    log.emit(1, { work: 'work_1' });
    log.emit(2);
    await until(() => listener.heard.length === 3);
    expect(listener.payloads[0]).toMatchObject({ id: 'work_1', eventId: 'evt_1', stream: 'q' });
    expect(listener.payloads[1]).not.toHaveProperty('eventId');
    const client = open({ first: after(String(listener.payloads[0]?.['eventId'])) });
    await until(() => client.heard.length === 2);
    expect(client.heard).toEqual([2, 3]);
  });

  test('from an event that is not kept says so and goes on live', async () => {
    log.emit(20);
    log.forget(10);
    const client = open({ first: after('evt_3') });
    await until(() => client.errors.length === 1);
    expect(client.errors[0]).toMatchObject({ code: 'E_EVENT_GONE' });
    log.emit(2);
    await until(() => client.heard.length === 2);
    expect(client.heard).toEqual([21, 22]);
  });

  test('keeps to the filter', async () => {
    log.emit(5);
    const client = open({
      first: (socket) => void socket.emit('subscribe', { events: ['lock:*'], after: 'evt_1' }, () => {}),
    });
    await until(() => client.socket.connected);
    await sleep(100);
    expect(client.heard).toEqual([]);
  });
});
