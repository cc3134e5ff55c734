import { setTimeout as delay } from 'node:timers/promises';
import { describeBus } from '@svc/testing/bus.contract.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { pino } from 'pino';
import { afterAll, describe, expect, test } from 'vitest';
import type { Bus } from './bus.ts';
import { connectNatsBus } from './bus.nats.ts';

const log = pino({ level: 'silent' });
const server = await startNats();
const small = await startNats({ maxPayload: 64 * 1024 });

afterAll(async () => {
  await Promise.all([server?.stop(), small?.stop()]);
});

function connectTo(url: string): Promise<Bus> {
  return connectNatsBus({ urls: [url], name: 'test', log });
}

const pairAt = (url: string) => async () => ({ requester: await connectTo(url), responder: await connectTo(url) });

describeBus('NATS', server === null ? null : pairAt(server.url));
describeBus('NATS with a smaller limit', small === null ? null : pairAt(small.url));

describe.skipIf(small?.control === undefined)('NATS bus and its server', () => {
  const { url, control } = small ?? { url: '', control: undefined };
  const inTime = () => ({ deadlineAt: Date.now() + 30_000 });

  test('takes the server’s payload limit when that is lower', async () => {
    const bus = await connectTo(url);
    expect(bus.maxPayloadBytes).toBe(64 * 1024);
    await bus.close();
  });

  test('recovers within 5 s of a restart; what was pending is rejected, what comes meanwhile is refused', async () => {
    const [requester, responder] = [await connectTo(url), await connectTo(url)];
    await responder.respond('restart.echo', async (payload) => payload, { queue: 'group' });
    const stuck = Promise.withResolvers<string>();
    await responder.respond('restart.stuck', () => stuck.promise);
    const heard: boolean[] = [];
    requester.onConnection((connected) => heard.push(connected));
    const pending = Array.from({ length: 20 }, () => requester.request('restart.stuck', '', inTime()));
    await requester.request('restart.echo', 'before', inTime());
    const restarted = control?.restart(500);
    for (const outcome of await Promise.allSettled(pending)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'DISCONNECTED', undelivered: false } });
    }
    await expect(requester.request('restart.echo', '', inTime())).rejects.toMatchObject({
      code: 'NOT_CONNECTED',
      undelivered: true,
    });
    expect(() => requester.publish('restart.echo', '')).toThrow('no connection');
    await restarted;
    const backBy = Date.now() + 5000;
    let reply = '';
    while (reply === '' && Date.now() < backBy) {
      reply = await requester.request('restart.echo', 'after', inTime()).catch(() => '');
      await delay(20);
    }
    expect(reply).toBe('after');
    expect(heard).toEqual([false, true]);
    stuck.resolve('');
    await Promise.all([requester.close(), responder.close()]);
  });

  test('kill -9 of the server under load: every request ends, typed', async () => {
    const [requester, responder] = [await connectTo(url), await connectTo(url)];
    await responder.respond('kill.echo', async (payload) => payload);
    const codes = new Map<string, number>();
    let stop = false;
    const client = async () => {
      while (!stop) {
        const code = await requester.request('kill.echo', 'x', inTime()).then(
          () => 'ok',
          (error: { code: string }) => error.code,
        );
        codes.set(code, (codes.get(code) ?? 0) + 1);
        await delay(1);
      }
    };
    const clients = Array.from({ length: 16 }, client);
    await delay(200);
    await control?.kill();
    await delay(200);
    const before = codes.get('ok') ?? 0;
    await control?.start();
    while ((codes.get('ok') ?? 0) <= before) await delay(20);
    stop = true;
    await Promise.all(clients);
    expect(before).toBeGreaterThan(100);
    expect(codes.get('NOT_CONNECTED')).toBeGreaterThan(0);
    expect(
      [...codes.keys()].filter((code) => !['ok', 'DISCONNECTED', 'NOT_CONNECTED', 'NO_RESPONDERS'].includes(code)),
    ).toEqual([]);
    await Promise.all([requester.close(), responder.close()]);
  });

  test('closes while the server is away', async () => {
    const bus = await connectTo(url);
    await bus.respond('away', async () => '');
    await control?.kill();
    await bus.close();
    expect(bus.connected).toBe(false);
    await control?.start();
  });

  test('waits for a server that comes later', async () => {
    await control?.kill();
    const connecting = connectTo(url);
    await delay(100);
    await control?.start();
    await (await connecting).close();
  });
});

describe('NATS users', async () => {
  const guarded = await startNats({
    config: `authorization { users: [
      { user: "gateway", password: "p:1/w", permissions: { publish: ["tool.>"], subscribe: ["_INBOX_gateway.>"] } },
      { user: "service", password: "s3cret", permissions: { subscribe: ["tool.>", "_INBOX_service.>"], allow_responses: true, publish: [] } }
    ] }`,
  });
  afterAll(() => guarded?.stop());

  test.skipIf(guarded === null)('a user with permissions of its own needs no more than its inbox', async () => {
    const { host } = new URL(guarded?.url ?? '');
    const gateway = await connectNatsBus({
      urls: [`nats://gateway:${encodeURIComponent('p:1/w')}@${host}`],
      name: 'gateway',
      inboxPrefix: '_INBOX_gateway',
      log,
    });
    const urls = [`nats://service:s3cret@${host}`];
    const service = await connectNatsBus({ urls, name: 'service', inboxPrefix: '_INBOX_service', log });
    await service.respond('tool.echo', async (payload) => payload);
    expect(await gateway.request('tool.echo', 'x', { deadlineAt: Date.now() + 5000 })).toBe('x');
    await Promise.all([gateway.close(), service.close()]);
  });

  test.skipIf(guarded === null)('whoever has the credential of another one is told so at once', async () => {
    const urls = [`nats://service:s3cret@${new URL(guarded?.url ?? '').host}`];
    const wrong = connectNatsBus({ urls, name: 'gateway', inboxPrefix: '_INBOX_gateway', log });
    await expect(wrong).rejects.toThrow('has the credential of another one');
  });

  test.skipIf(guarded === null)('a refused password is an error, not a wait', async () => {
    const { host } = new URL(guarded?.url ?? '');
    await expect(connectNatsBus({ urls: [`nats://gateway:wrong@${host}`], name: 'x', log })).rejects.toThrow();
  });
});
