/** The users of deploy/nats/nats.conf on a real server: what each may do, and what it may not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SUBJECTS } from '@svc/contract/discovery.ts';
import { OPERATION_SUBJECTS } from '@svc/contract/operation.ts';
import { ENDED, TOKENS_USED } from '@svc/contract/registry.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { addressOfMember } from '@svc/runtime/bus.members.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { startNats } from '@svc/testing/servers/nats.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { ROLES } from './services.ts';

const config = readFileSync(join(import.meta.dirname, 'nats', 'nats.conf'), 'utf8');
const USERS = ROLES.flatMap((service) => [service, `${service}_b`]);
const passwords = USERS.map((user) => `${user.toUpperCase()}_PASSWORD: "pw-${user}"`).join('\n');
const server = await startNats({ config: `${passwords}\n${config.slice(config.indexOf('MAY_GATEWAY: {'))}` });
const buses: Bus[] = [];
const silent = { info() {}, warn() {}, error() {} };
let processes = 0;

afterAll(async () => {
  await Promise.all(buses.map((bus) => bus.close()));
  await server?.stop();
});

async function busOf(service: string, user = service, deployment?: string): Promise<Bus> {
  const bus = await connectNatsBus({
    urls: [`nats://${user}:pw-${user}@${new URL(server?.url ?? '').host}`],
    name: service,
    inboxPrefix: `_INBOX_${service}`,
    member: { group: service, process: `${service}-${(processes += 1)}` },
    deployment,
    log: silent,
  });
  buses.push(bus);
  return bus;
}

/** Each service beside one that it asks. */
const PAIRS = ROLES.map((asker, index) => [asker, ROLES[(index + 1) % ROLES.length] ?? asker] as const);

const soon = () => ({ deadlineAt: Date.now() + 10_000 });

/** What `hearer` hears on `pattern` of the messages that `speaker` sends to `subjects`, up to one that must arrive. */
async function heard(
  [speaker, subjects]: readonly [Bus, readonly string[]],
  [hearer, pattern]: readonly [Bus, string],
  allowed: string,
): Promise<string[]> {
  const subjectsHeard: string[] = [];
  const last = Promise.withResolvers<void>();
  const subscription = await hearer.subscribe(pattern, (_payload, subject) => subjectsHeard.push(subject));
  const fence = await hearer.subscribe(allowed, () => last.resolve());
  for (const subject of [...subjects, allowed]) speaker.publish(subject, '{}');
  await last.promise;
  await Promise.all([subscription.drain(), fence.drain()]);
  return subjectsHeard;
}

describe.skipIf(server === null)('NATS users', () => {
  test('a gateway calls a service, its cards, its checks and its past events', async () => {
    const [gateway, brain] = await Promise.all([busOf('gateway'), busOf('brain')]);
    await brain.respond(SUBJECTS.tools('brain'), async (payload, subject) => `${subject} ${payload}`, {
      queue: 'brain',
    });
    await brain.respond(SUBJECTS.cards('brain'), async () => 'cards', { queue: 'brain' });
    await brain.respond(SUBJECTS.checks('brain'), async () => 'checks');
    await brain.respond(SUBJECTS.eventsAfter('brain'), async () => 'events', { queue: 'brain' });
    expect(await gateway.request(SUBJECTS.tool('brain', 'svc_search'), 'x', soon())).toBe('tool.brain.svc_search x');
    expect(await gateway.request(SUBJECTS.cards('brain'), '', soon())).toBe('cards');
    expect(await gateway.request(SUBJECTS.checks('brain'), '', soon())).toBe('checks');
    expect(await gateway.request(SUBJECTS.eventsAfter('brain'), '{}', soon())).toBe('events');
  });

  test.each(PAIRS)('%s asks %s in its own name; while that is away, it hears so at once', async (asker, service) => {
    const subject = OPERATION_SUBJECTS.one(service, asker, 'operation');
    const [asking, served] = await Promise.all([busOf(asker), busOf(service)]);
    await expect(asking.request(subject, '{}', soon())).rejects.toMatchObject({ code: 'NO_RESPONDERS' });
    const answering = await served.respond(OPERATION_SUBJECTS.servedBy(service), async (text) => `answer ${text}`, {
      queue: service,
    });
    expect(await asking.request(subject, '{}', soon())).toBe('answer {}');
    await answering.drain();
  });

  test.each(PAIRS)('%s asks one process of %s, and may ask nobody in the name of another', async (asker, service) => {
    const own = OPERATION_SUBJECTS.one(service, asker, 'operation', 'p1');
    const foreign = ROLES.filter((name) => name !== asker).map((name) =>
      OPERATION_SUBJECTS.one(service, name, 'operation'),
    );
    const [asking, served] = await Promise.all([busOf(asker), busOf(service)]);
    expect(await heard([asking, foreign], [served, `op.${service}.>`], own)).toEqual([own]);
    const address = addressOfMember({ group: service, process: 'p1' });
    const addressed = foreign.map((subject) => address + subject);
    expect(await heard([asking, addressed], [served, `${address}>`], address + own)).toEqual([address + own]);
  });

  test.each(PAIRS)('%s hears nothing of what is asked of %s', async (thief, service) => {
    const bus = await busOf(thief);
    for (const pattern of [OPERATION_SUBJECTS.servedBy(service), `op.${service}.>`, `op.*.${thief}.>`, 'op.>'])
      await expect(
        bus.subscribe(pattern, () => {}),
        pattern,
      ).rejects.toThrow('does not let this service listen');
  });

  test.each<readonly [string, string, string]>([
    ['gateway', 'brain', SUBJECTS.tool('brain', 'svc_search')],
    ['gateway', 'gateway', SUBJECTS.tool('gateway', 'nodes_list')],
    ['gateway', 'escrow', SUBJECTS.cards('escrow')],
    ['gateway', 'habitat', SUBJECTS.eventsAfter('habitat')],
  ])('%s may address a process of %s: %s', async (service, answering, subject) => {
    const [asker, answerer] = await Promise.all([busOf(service), busOf(answering)]);
    const address = addressOfMember({ group: answering, process: 'p1' });
    const sent = [`${address}${subject}`];
    expect(await heard([asker, sent], [answerer, `${address}>`], subject)).toEqual(sent);
  });

  test('nobody but the gateway may address a process with a call', async () => {
    const [caller, owner] = await Promise.all([busOf('brain'), busOf('brain')]);
    const call = [`to.brain.p1.${SUBJECTS.tool('brain', 'svc_search')}`];
    expect(await heard([caller, call], [owner, 'to.brain.p1.>'], 'brain.process.owner')).toEqual([]);
  });

  test('a service neither hears what is meant for a process of another, nor says that one lives', async () => {
    const [brain, habitat] = await Promise.all([busOf('brain'), busOf('habitat')]);
    await expect(brain.subscribe('to.escrow.>', () => {})).rejects.toThrow('does not let this service listen');
    const said: string[] = [];
    const listening = await habitat.subscribe('alive.escrow', (payload) => said.push(payload));
    brain.publish('alive.escrow', 'forged');
    const fence = OPERATION_SUBJECTS.one('habitat', 'brain', 'operation');
    await heard([brain, []], [habitat, fence], fence);
    expect(said).not.toContain('forged');
    await listening.drain();
  });

  test('the registry hears which tokens were used and tells which ended, and nobody else tells that', async () => {
    const [gateway, habitat, brain] = await Promise.all([busOf('gateway'), busOf('habitat'), busOf('brain')]);
    expect(await heard([gateway, [TOKENS_USED]], [habitat, TOKENS_USED], SUBJECTS.who)).toEqual([TOKENS_USED]);
    expect(await heard([habitat, [ENDED]], [gateway, ENDED], SUBJECTS.announce)).toEqual([ENDED]);
    expect(await heard([brain, [ENDED]], [gateway, ENDED], SUBJECTS.announce)).toEqual([]);
  });

  test('a gateway answers the calls of its own tools', async () => {
    const [one, other] = await Promise.all([busOf('gateway'), busOf('gateway')]);
    await one.respond(SUBJECTS.tools('gateway'), async () => 'tool', { queue: 'gateway' });
    await one.respond(SUBJECTS.cards('gateway'), async () => 'cards', { queue: 'gateway' });
    await one.respond(SUBJECTS.checks('gateway'), async () => 'checks');
    expect(await other.request(SUBJECTS.tool('gateway', 'nodes_list'), '{}', soon())).toBe('tool');
    expect(await other.request(SUBJECTS.cards('gateway'), '', soon())).toBe('cards');
    expect(await other.request(SUBJECTS.checks('gateway'), '', soon())).toBe('checks');
  });

  test('the gateway hears announcements, departures and events; a service hears who asks', async () => {
    const [gateway, brain] = await Promise.all([busOf('gateway'), busOf('brain')]);
    const subjects = [SUBJECTS.announce, SUBJECTS.leave, SUBJECTS.events('brain')];
    for (const subject of subjects)
      expect(await heard([brain, [subject]], [gateway, subject], subject)).toContain(subject);
    expect(await heard([brain, [SUBJECTS.events('brain')]], [gateway, SUBJECTS.allEvents], SUBJECTS.announce)).toEqual([
      SUBJECTS.events('brain'),
    ]);
    expect(await heard([gateway, [SUBJECTS.who]], [brain, SUBJECTS.who], SUBJECTS.who)).toContain(SUBJECTS.who);
  });

  test.each(ROLES)('both users of %s do its work', async (service) => {
    const [one, other] = await Promise.all([busOf(service), busOf(service, `${service}_b`)]);
    for (const bus of [one, other]) {
      const answering = await bus.respond(SUBJECTS.checks(service), async () => 'checks');
      await answering.drain();
    }
    expect(
      await heard([other, [SUBJECTS.announce]], [await busOf('gateway'), SUBJECTS.announce], SUBJECTS.leave),
    ).toEqual([SUBJECTS.announce]);
  });

  test('two processes of the brain ask each other', async () => {
    const [one, other] = await Promise.all([busOf('brain'), busOf('brain')]);
    await one.respond('brain.process.one', async (payload) => `done ${payload}`);
    expect(await other.request('brain.process.one', 'x', soon())).toBe('done x');
  });

  test('a service can neither call tools nor speak in the name of another', async () => {
    const [gateway, caller, owner] = await Promise.all([busOf('gateway'), busOf('brain'), busOf('brain')]);
    const forged = [SUBJECTS.events('escrow'), SUBJECTS.events('gateway')];
    expect(await heard([caller, forged], [gateway, SUBJECTS.allEvents], SUBJECTS.announce)).toEqual([]);
    const call = SUBJECTS.tool('brain', 'svc_search');
    expect(await heard([caller, [call]], [owner, SUBJECTS.tools('brain')], 'brain.process.owner')).toEqual([]);
    expect(await heard([gateway, [call]], [owner, SUBJECTS.tools('brain')], SUBJECTS.who)).toEqual([call]);
  });

  test('within a named deployment each may do what it may do anywhere, and only that', async () => {
    const named = (service: string) => busOf(service, service, 'alpha');
    const [gateway, agora, habitat] = await Promise.all([named('gateway'), named('agora'), named('habitat')]);
    await agora.respond(SUBJECTS.tools('agora'), async () => 'done', { queue: 'agora' });
    await habitat.respond(OPERATION_SUBJECTS.servedBy('habitat'), async () => 'known', { queue: 'habitat' });
    expect(await gateway.request(SUBJECTS.tool('agora', 'agora_nodes'), '{}', soon())).toBe('done');
    expect(await agora.request(OPERATION_SUBJECTS.one('habitat', 'agora', 'operation'), '{}', soon())).toBe('known');
    for (const pattern of [SUBJECTS.tools('habitat'), OPERATION_SUBJECTS.servedBy('habitat'), '>'])
      await expect(agora.subscribe(pattern, () => {})).rejects.toThrow('does not let this service listen');
  });

  test('agora alone speaks to other deployments', async () => {
    const [agora, other, brain] = await Promise.all([
      busOf('agora', 'agora', 'alpha'),
      busOf('agora', 'agora', 'beta'),
      busOf('brain'),
    ]);
    await other.respond('svc.x.beta.agora', async () => 'heard', { queue: 'agora' });
    expect(await agora.request('svc.x.beta.agora', '', soon())).toBe('heard');
    expect(await heard([agora, ['svc.x.presence']], [other, 'svc.x.presence'], 'svc.x.gamma.agora')).toEqual([
      'svc.x.presence',
    ]);
    for (const pattern of ['svc.x.beta.agora', 'svc.x.presence', 'svc.x.>'])
      await expect(brain.subscribe(pattern, () => {})).rejects.toThrow('does not let this service listen');
    const told: string[] = [];
    const listening = await other.subscribe('svc.x.presence', (payload) => told.push(payload));
    brain.publish('svc.x.presence', 'forged');
    agora.publish('svc.x.presence', 'true');
    await expect.poll(() => told).toContain('true');
    expect(told).not.toContain('forged');
    await listening.drain();
  });

  test("a service hears neither another's calls nor another's replies nor events", async () => {
    const [gateway, brain, thief] = await Promise.all([busOf('gateway'), busOf('brain'), busOf('brain')]);
    const stolen: string[] = [];
    for (const pattern of ['>', 'tool.>', 'tool.gateway.*', '_INBOX_gateway.>', '_INBOX.>', 'event.*']) {
      const listening = thief.subscribe(pattern, (_payload, subject) => stolen.push(subject));
      await expect(listening, pattern).rejects.toThrow('does not let this service listen');
    }
    await gateway.respond(SUBJECTS.tools('gateway'), async () => 'own');
    await brain.respond(SUBJECTS.tools('brain'), async () => 'secret', { queue: 'brain' });
    await gateway.request(SUBJECTS.tool('gateway', 'nodes_list'), '{}', soon());
    await gateway.request(SUBJECTS.tool('brain', 'svc_get_memory'), '{}', soon());
    await heard([brain, [SUBJECTS.events('brain')]], [gateway, SUBJECTS.allEvents], SUBJECTS.announce);
    await heard([gateway, []], [thief, SUBJECTS.who], SUBJECTS.who);
    expect(stolen).toEqual([]);
  });
});
