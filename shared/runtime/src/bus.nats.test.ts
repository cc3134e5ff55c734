import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describeBus } from '@svc/testing/bus.contract.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { pino } from 'pino';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { GIVEN_UP_AFTER_MS } from './bus.members.ts';
import type { Bus, BusError } from './bus.ts';
import { connectNatsBus } from './bus.nats.ts';
import { systemClock } from './clock.ts';
import { stoodStillWith } from './timely.ts';

const log = pino({ level: 'silent' });
const server = await startNats();
const small = await startNats({ maxPayload: 64 * 1024 });

afterAll(async () => {
  await Promise.all([server?.stop(), small?.stop()]);
});

function connectTo(url: string): Promise<Bus> {
  return connectNatsBus({ urls: [url], name: 'test', log });
}

let members = 0;
function memberAt(url: string, deployment?: string): Promise<Bus> {
  const member = { group: 'test', process: `test-${(members += 1)}` };
  return connectNatsBus({ urls: [url], name: 'test', log, member, deployment });
}

const pairAt = (url: string) => async () => ({ requester: await connectTo(url), responder: await connectTo(url) });

describeBus('NATS', server === null ? null : pairAt(server.url));
describeBus(
  'NATS, among processes that follow each other',
  server === null
    ? null
    : async () => ({ requester: await memberAt(server.url), responder: await memberAt(server.url) }),
);
describeBus(
  'NATS, within a named deployment',
  server === null
    ? null
    : async () => ({ requester: await memberAt(server.url, 'alpha'), responder: await memberAt(server.url, 'alpha') }),
);
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

  test('tells once of what all handlers need and is away', async () => {
    const told: string[] = [];
    const said = pino({}, { write: (line) => void told.push(line) });
    const bus = await connectNatsBus({ urls: [url], name: 'telling', log: said });
    let calls = 0;
    await bus.subscribe('away.told', () => {
      calls += 1;
      throw Object.assign(new Error('refused'), { code: '28P01' });
    });
    for (let n = 0; n < 3; n += 1) bus.publish('away.told', '');
    await expect.poll(() => calls).toBe(3);
    await bus.close();
    expect(told.filter((line) => line.includes('a bus handler threw'))).toHaveLength(1);
  });

  test('what comes first when the server is back is not late, however long it was away', async () => {
    const [requester, responder] = [await connectTo(url), await memberAt(url)];
    await responder.respond(
      'away.timely',
      async () => {
        const since = systemClock.now();
        await delay(5);
        return String(!stoodStillWith({ bus: responder, clock: systemClock }, { since, repeatable: true }));
      },
      { queue: 'group' },
    );
    await control?.restart(2 * GIVEN_UP_AFTER_MS);
    const ask = () => requester.request('away.timely', '', inTime()).catch(({ code }: BusError) => code);
    await expect.poll(ask, { interval: 10, timeout: 10_000 }).toMatch(/true|false/);
    expect(await Promise.all(Array.from({ length: 20 }, ask))).toEqual(Array.from({ length: 20 }, () => 'true'));
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
    while ((codes.get('ok') ?? 0) <= 100) await delay(20);
    await control?.kill();
    await delay(200);
    const before = codes.get('ok') ?? 0;
    await control?.start();
    while ((codes.get('ok') ?? 0) <= before) await delay(20);
    stop = true;
    await Promise.all(clients);
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

/** Of those that answer `still.echo` with their name, and tell of each request that they do. */
async function echo(url: string, name: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'bus.echo.fixture.ts'), [url, name]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

describe.skipIf(server === null)('a process that stands still', () => {
  const url = server?.url ?? '';
  const inTime = (isRepeatable: boolean) => ({ deadlineAt: Date.now() + 30_000, isRepeatable });

  test('gets no more work, loses none that may be repeated, and does nothing late when it goes on', async () => {
    const [requester, one, two] = [await memberAt(url), await echo(url, 'one'), await echo(url, 'two')];
    const done: string[] = [];
    await requester.subscribe('still.done', (id) => done.push(id));
    let sent = 0;
    const ask = async (isRepeatable: boolean): Promise<string> => {
      const id = String((sent += 1));
      for (;;) {
        const answer = await requester.request('still.echo', id, inTime(isRepeatable)).catch((error: BusError) => {
          if (!isRepeatable) return error.code;
          expect(error.code).toBe('SILENT');
          return null;
        });
        if (answer !== null) return answer;
      }
    };
    const ten = (isRepeatable: boolean) => Promise.all(Array.from({ length: 10 }, () => ask(isRepeatable)));
    const untilAnsweredBy = async (names: string) => {
      while (!(await ten(true).then((answers) => [...new Set(answers)].sort().join() === names))) await delay(50);
    };
    await untilAnsweredBy('one,two');
    one.kill('SIGSTOP');
    const stoppedAt = performance.now();
    const outcomes = await ten(false);
    expect(outcomes.filter((outcome) => outcome === 'SILENT')).toHaveLength(5);
    expect(outcomes.filter((outcome) => outcome === 'two')).toHaveLength(5);
    expect(performance.now() - stoppedAt).toBeLessThan(25_000);
    expect(new Set(await ten(true))).toEqual(new Set(['two']));
    one.kill('SIGCONT');
    await untilAnsweredBy('one,two');
    const twice = done.filter((id, index) => done.indexOf(id) !== index);
    expect([twice, new Set(done).size]).toEqual([[], sent - 5]);
    two.kill('SIGKILL');
    await requester.close();
  });
});

test.skipIf(server === null)(
  'late is what a process had in hand while it stood still, not what came meanwhile',
  async () => {
    const url = server?.url ?? '';
    const [asker] = [await connectTo(url), await echo(url, 'only')];
    onTestFinished(() => asker.close());
    const inTime = { deadlineAt: Date.now() + 30_000 };
    const asked = [2 * GIVEN_UP_AFTER_MS, 0, 50].map((ms) => asker.request('still.hold-up', String(ms), inTime));
    expect(await Promise.all(asked)).toEqual(['late', 'in time', 'in time']);
  },
);

describe.skipIf(server === null)('deployments on one server', () => {
  test('hear nothing of what each other says within itself, and what is said between them', async () => {
    const url = server?.url ?? '';
    const [alpha, alsoAlpha, beta, unnamed] = await Promise.all([
      memberAt(url, 'alpha'),
      memberAt(url, 'alpha'),
      memberAt(url, 'beta'),
      memberAt(url),
    ]);
    const heard: string[] = [];
    for (const [name, bus] of Object.entries({ alsoAlpha, beta, unnamed })) {
      await bus.subscribe('>', (payload, subject) => {
        if (payload === 'from alpha') heard.push(`${name} ${subject}`);
      });
      await bus.respond('tool.test.whoami', async () => name, { queue: 'test' });
    }
    alpha.publish('tool.test.said', 'from alpha');
    const asked = Array.from({ length: 20 }, () =>
      alpha.request('tool.test.whoami', '', { deadlineAt: Date.now() + 5000 }),
    );
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['alsoAlpha']));
    const between: string[] = [];
    await beta.subscribe('svc.x.beta.agora', (payload, subject) => between.push(`${subject} ${payload}`));
    await beta.respond('svc.x.beta.test', async (payload) => `answer to ${payload}`, { queue: 'test' });
    alpha.publish('svc.x.beta.agora', 'between');
    expect(await alpha.request('svc.x.beta.test', 'x', { deadlineAt: Date.now() + 5000 })).toBe('answer to x');
    expect(between).toEqual(['svc.x.beta.agora between']);
    await expect.poll(() => heard.toSorted()).toEqual(['alsoAlpha tool.test.said', 'unnamed at.alpha.tool.test.said']);
    await Promise.all([alpha, alsoAlpha, beta, unnamed].map((bus) => bus.close()));
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

  const listening = (permitted: readonly string[]): string =>
    `authorization { users: [
      { user: "gateway", password: "pw" },
      { user: "service", password: "pw", permissions: { publish: ">", subscribe: ${JSON.stringify(permitted)} } }
    ] }`;
  const ALL = ['event.>', 'tool.>', 'alive.*', 'to.service.>', '_INBOX_service.>'];
  const reloading = await startNats({ config: listening(ALL) });
  afterAll(() => reloading?.stop());
  const userAt = (group: string, process: string) =>
    connectNatsBus({
      urls: [`nats://${group}:pw@${new URL(reloading?.url ?? '').host}`],
      name: group,
      inboxPrefix: `_INBOX_${group}`,
      log,
      member: { group, process },
    });

  test.skipIf(reloading?.reload === undefined).each([
    ['what is told to all', 'event.>'],
    ['what is asked of its group', 'tool.>'],
    ['what is meant for it alone', 'to.service.>'],
    ['who lives', 'alive.*'],
    ['answers', '_INBOX_service.>'],
  ])(
    '%s is heard again when the server, reloaded, allows it again; until then the bus says so',
    async (_what, taken) => {
      const [gateway, service] = [await userAt('gateway', 'g1'), await userAt('service', 's1')];
      onTestFinished(async () => void (await Promise.all([gateway.close(), service.close()])));
      const heard: string[] = [];
      await service.subscribe('event.test', (payload) => heard.push(payload));
      await service.respond('tool.service.echo', async (payload) => payload, { queue: 'service' });
      await gateway.respond('tool.gateway.echo', async (payload) => payload, { queue: 'gateway' });
      const ask = (asker: Bus, group: string) =>
        asker.request(`tool.${group}.echo`, 'x', { deadlineAt: Date.now() + 2000 }).catch(() => '');
      expect([await ask(gateway, 'service'), await ask(service, 'gateway')]).toEqual(['x', 'x']);

      await reloading?.reload?.(listening(ALL.filter((subject) => subject !== taken)));
      await expect.poll(() => service.isDeaf).toBe(true);
      expect(gateway.isDeaf).toBe(false);

      await reloading?.reload?.(listening(ALL));
      await expect.poll(() => service.isDeaf).toBe(false);
      gateway.publish('event.test', 'after');
      expect([await ask(gateway, 'service'), await ask(service, 'gateway')]).toEqual(['x', 'x']);
      await expect.poll(() => heard).toContain('after');
    },
  );

  test.skipIf(reloading?.reload === undefined)(
    'a password that the server takes no more is told in one line, and once that it takes it again, however often it was refused',
    async () => {
      const told: { level: number; msg: string; err?: object }[] = [];
      const said = pino({}, { write: (line) => void told.push(JSON.parse(line) as (typeof told)[number]) });
      const users = (password: string) =>
        `authorization { users: [{ user: "gateway", password: "pw" }, { user: "retired", password: "${password}" }] }`;
      await reloading?.reload?.(users('pw'));
      const { host } = new URL(reloading?.url ?? '');
      const connect = () => connectNatsBus({ urls: [`nats://retired:pw@${host}`], name: 'retired', log: said });
      // The server takes a moment to read its configuration.
      const bus = await vi.waitFor(connect, { timeout: 30_000 });
      onTestFinished(() => bus.close());
      await reloading?.reload?.(users('other'));
      await expect.poll(() => bus.connected).toBe(false);
      const heard: boolean[] = [];
      bus.onConnection((connected) => heard.push(connected));
      await delay(3000);
      const refused = told.filter(({ msg }) => /refuses|reports/.test(msg));
      expect(refused).toMatchObject([
        { msg: expect.stringContaining(`NATS at ${host} refuses the credential`) as string },
      ]);
      expect(refused[0]).not.toHaveProperty('err');
      await reloading?.reload?.(users('pw'));
      await expect.poll(() => bus.connected).toBe(true);
      expect(await bus.request('nobody.there', '', { deadlineAt: Date.now() + 5000 }).catch(String)).toContain(
        'nobody',
      );
      expect(heard).toEqual([true]);
      expect(told.filter(({ msg }) => msg === 'connected to NATS again')).toHaveLength(1);
    },
    30_000,
  );
});
