import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from './service.ts';
import { type EventLog, startEventLog } from '../testing/event-log.ts';
import { type Harness, KEYED, startHarness, until } from '../testing/harness.ts';
import { type Client, connectedClient } from '../testing/listener.ts';
import { createTestPlatform, KEY } from '../testing/platform.ts';

let harness: Harness;
let log: EventLog;
let others: Gateway[] = [];
const clients: Client[] = [];

beforeEach(async () => {
  harness = await startHarness({ environment: KEYED });
  log = await startEventLog(harness.platform);
});
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.close();
  for (const gateway of others) await gateway.close();
  others = [];
  await log.stop();
  await harness.stop();
});

async function otherGateway(): Promise<string> {
  const gateway = await startGateway(createTestPlatform({ environment: KEYED, bus: harness.platform.bus }));
  others.push(gateway);
  return `http://127.0.0.1:${gateway.port}`;
}

/** Live from the first event on. */
async function listening(auth: Record<string, unknown>, url = harness.url, headers = {}): Promise<Client> {
  const client = await connectedClient({ url, auth, headers });
  clients.push(client);
  expect(await client.ask('subscribe')).toMatchObject({ ok: true });
  return client;
}

async function resuming(auth: Record<string, unknown>, after: string): Promise<Client> {
  const first = (socket: Client['socket']) => void socket.emit('subscribe', { after }, () => {});
  const client = await connectedClient({ url: harness.url, auth, first });
  clients.push(client);
  return client;
}

const withToken = (token: string, url?: string) => listening({ token }, url);

/** The numbers of what a client heard of the events emitted so far, once the operator beside it has heard all. */
async function settled(witness: Client): Promise<void> {
  await until(() => witness.heard.length === log.kept.length);
  await sleep(20);
}

test('a token held to a profile that does not read files hears nothing of them', async () => {
  const { registry } = harness;
  registry.grant('a', 'acme', 'viewer');
  const [free, held] = [
    await withToken(registry.mint('a')),
    await withToken(registry.mint('a', { profile: 'escrow' })),
  ];
  const witness = await listening({ apiKey: KEY });
  log.emit(2, { workspace: 'acme' });
  await settled(witness);
  expect([free.heard, held.heard]).toEqual([[1, 2], []]);
});

describe('events of a workspace', () => {
  test('are heard by its members and operators only', async () => {
    const { registry } = harness;
    registry.grant('a', 'acme', 'viewer');
    registry.grant('b', 'beta', 'viewer');
    const [acme, beta] = [await withToken(registry.mint('a')), await withToken(registry.mint('b'))];
    const operator = await listening({ apiKey: KEY });
    log.emit(2, { workspace: 'acme' });
    log.emit(1);
    await until(() => [acme, operator].every(({ heard }) => heard.length === 3) && beta.heard.length === 1);
    expect(beta.heard).toEqual([3]);
    for (const workspace of ['acme', 'none-such', 'constructor']) {
      expect(await beta.ask('subscribe', { workspace })).toMatchObject({ ok: false, code: 'FORBIDDEN' });
    }
    expect(await beta.ask('subscribe', { workspace: 'beta' })).toMatchObject({ ok: true, workspaces: ['beta'] });
  });

  test('follow the roles of now, in the very next batch', async () => {
    const { registry } = harness;
    registry.grant('a', 'home', 'viewer');
    const [member, witness] = [await withToken(registry.mint('a')), await listening({ apiKey: KEY })];
    const expected: number[] = [];
    for (let round = 0; round < 50; round += 1) {
      const isMember = round % 2 === 0;
      if (isMember) registry.grant('a', 'acme', 'viewer');
      else registry.grant('a', 'acme');
      const [event] = log.emit(1, { workspace: 'acme' });
      if (isMember && event !== undefined) expected.push(event.position);
      await until(() => witness.heard.length === log.kept.length);
    }
    await until(() => member.heard.length >= expected.length);
    expect(member.heard).toEqual(expected);
  });
});

describe('events of the account of an organisation', () => {
  test('follow who belongs to it now, in the very next batch and in replay', async () => {
    const { registry } = harness;
    for (const id of ['a', 'b']) registry.grant(id, 'home', 'viewer');
    const token = registry.mint('a');
    const [member, other] = [await withToken(token), await withToken(registry.mint('b'))];
    const witness = await listening({ apiKey: KEY });
    const expected: number[] = [];
    for (let round = 0; round < 50; round += 1) {
      const isMember = round % 2 === 0;
      registry.assign('a', isMember ? 'org_1' : 'org_2');
      const [event] = log.emit(1, { parties: ['org_1'] });
      if (isMember && event !== undefined) expected.push(event.position);
      await until(() => witness.heard.length === log.kept.length);
    }
    await until(() => member.heard.length >= expected.length);
    expect([member.heard, other.heard]).toEqual([expected, []]);
    for (const client of [member, witness]) expect(client.payloads[0]).not.toHaveProperty('parties');

    registry.assign('a');
    const [own] = log.emit(1, { parties: ['a'] });
    const back = await resuming({ token }, 'evt_1');
    await until(() => back.heard.length > 0);
    await sleep(50);
    expect(back.heard).toEqual([own?.position]);
  });
});

describe('a policy', () => {
  test('decides on events of its resource, from the next one on, in delivery and in replay', async () => {
    const { registry } = harness;
    registry.grant('a', 'acme', 'viewer');
    const token = registry.mint('a');
    const [member, witness] = [await withToken(token), await listening({ apiKey: KEY })];
    const resources = ['brain:svc/notes'];
    log.emit(1, { resources });
    await until(() => witness.heard.length === 1);
    registry.setPolicy('brain:svc/notes', { container: 'acme', readableBy: ['role:admin'] });
    log.emit(1, { resources });
    log.emit(1);
    await until(() => member.heard.length === 2);
    registry.setPolicy('brain:svc/notes', {
      container: 'acme',
      readableBy: ['role:viewer'],
      filter: ['hash'],
      mask: ['by'],
    });
    log.emit(1, { resources });
    await until(() => member.heard.length === 3 && witness.heard.length === 2);
    expect(member.heard).toEqual([1, 3, 4]);
    expect(member.payloads.at(-1)).toMatchObject({ by: '[masked]', change: 'created' });
    expect(member.payloads.at(-1)).not.toHaveProperty('hash');
    expect(witness.heard).toEqual([1, 3]);

    registry.setPolicy('brain:svc/notes', { container: 'beta', readableBy: [] });
    const back = await resuming({ token }, 'evt_1');
    await until(() => back.heard.length === 1);
    await sleep(50);
    expect(back.heard).toEqual([3]);
  });

  test('is asked for once, however many events it judges', async () => {
    const { registry } = harness;
    const witness = await listening({ apiKey: KEY });
    log.emit(1);
    await until(() => witness.heard.length === 1);
    const before = registry.asked.policies;
    for (let round = 0; round < 20; round += 1) log.emit(20);
    await until(() => witness.heard.length === 401);
    expect(registry.asked.policies).toBe(before);
  });

  test('that cannot be asked for makes events wait, in order, and none is told unjudged or lost', async () => {
    const { registry } = harness;
    registry.grant('a', 'acme', 'viewer');
    const resources = ['brain:svc/secret'];
    registry.setPolicy('brain:svc/secret', { container: 'acme', readableBy: ['role:admin'] });
    const [member, operator] = [await withToken(registry.mint('a')), await listening({ apiKey: KEY })];
    await registry.leave();
    for (let round = 0; round < 10; round += 1) {
      log.emit(3);
      log.emit(1, { resources });
    }
    await sleep(600);
    expect([member.heard, operator.heard]).toEqual([[], []]);
    await registry.comeBack();
    const open = log.kept.map(({ position }) => position).filter((position) => position % 4 !== 0);
    await until(() => member.heard.length === open.length);
    expect([member.heard, operator.heard]).toEqual([open, open]);
    expect(member.endings).toEqual([]);
  });

  test('that cannot be asked for makes a replay wait as well', async () => {
    const { registry } = harness;
    const client = await listening({ apiKey: KEY });
    log.emit(5);
    await settled(client);
    await registry.leave();
    const back = await resuming({ apiKey: KEY }, 'evt_2');
    await sleep(6000);
    expect([back.heard, back.errors]).toEqual([[], []]);
    await registry.comeBack();
    await until(() => back.heard.length === 3);
    expect(back.heard).toEqual([3, 4, 5]);
  });
});

describe('a socket ends', () => {
  const ended = async (client: Client, withinMs: number): Promise<void> => {
    const startedAt = Date.now();
    await until(() => client.endings.length === 1);
    expect(client.errors).toMatchObject([{ code: 'UNAUTHORIZED' }]);
    expect(Date.now() - startedAt).toBeLessThan(withinMs);
  };

  test('with its token, at once on every gateway, while the others stay', async () => {
    const { registry } = harness;
    const url = await otherGateway();
    registry.grant('a', 'acme', 'viewer');
    const token = registry.mint('a');
    const [here, there] = [await withToken(token), await withToken(token, url)];
    const stays = await withToken(registry.mint('a'), url);
    registry.revoke(token);
    await Promise.all([ended(here, 500), ended(there, 500)]);
    expect(stays.endings).toEqual([]);
  });

  test('within two seconds also when nobody was told', async () => {
    const { registry } = harness;
    registry.grant('a', 'acme', 'viewer');
    const token = registry.mint('a');
    const client = await withToken(token);
    registry.revoke(token, true);
    await ended(client, 2000);
  });

  test('before it hears what happened after', async () => {
    const { registry } = harness;
    registry.grant('a', 'acme', 'viewer');
    const token = registry.mint('a');
    const client = await withToken(token);
    registry.revoke(token, true);
    log.emit(1);
    await ended(client, 2000);
    expect(client.heard).toEqual([]);
  });

  test('when its token expires or its identity has no role any more', async () => {
    const { registry } = harness;
    registry.grant('a', 'acme', 'viewer');
    registry.grant('b', 'acme', 'viewer');
    const [short, gone] = [
      await withToken(registry.mint('a', { expiresAt: Date.now() + 1500 })),
      await withToken(registry.mint('b')),
    ];
    registry.grant('b', 'acme');
    await Promise.all([ended(short, 4500), ended(gone, 2000)]);
  });

  test('when its token expires although the registry is away', async () => {
    const { registry } = harness;
    registry.grant('a', 'acme', 'viewer');
    const client = await withToken(registry.mint('a', { expiresAt: Date.now() + 1500 }));
    await registry.leave();
    await ended(client, 4500);
    await registry.comeBack();
  });
});

test('an operator that works for an agent hears as that agent', async () => {
  const { registry } = harness;
  registry.grant('house', 'acme', 'admin');
  registry.setPolicy('brain:svc/notes', { container: 'acme', readableBy: ['role:admin'] });
  const agent = await listening({}, harness.url, { authorization: `Bearer ${KEY}`, 'x-svc-agent': 'house' });
  const nobody = await listening({ apiKey: KEY });
  log.emit(1, { resources: ['brain:svc/notes'] });
  log.emit(1, { workspace: 'somewhere' });
  await until(() => agent.heard.length === 2 && nobody.heard.length === 1);
  expect(nobody.heard).toEqual([2]);
});
