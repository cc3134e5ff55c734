import type { Socket } from 'socket.io-client';
import { expect, test } from 'vitest';
import { SUBJECTS } from '@svc/contract/discovery.ts';
import { type EventLog, startEventLog } from '../testing/event-log.ts';
import { type Harness, until } from '../testing/harness.ts';
import { type Client, openClient } from '../testing/listener.ts';
import { withEventLog } from '../testing/with-event-log.ts';

let harness: Harness;
let log: EventLog;
const sockets = withEventLog((started) => ({ harness, log } = started));

function resuming(after: string): Client {
  return subscribing({ after });
}

function subscribing(message: object): Client {
  const first = (socket: Socket): void => void socket.emit('subscribe', message, () => {});
  const client = openClient({ url: harness.url, first });
  sockets.push(client.socket);
  return client;
}

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

test('tells what was missed of every service, also of one that is heard of later', async () => {
  const other = await startEventLog(harness.platform, 0, { service: 'other', numberedFrom: 100 });
  const before = subscribing({});
  await until(() => before.socket.connected);
  log.emit(5);
  other.emit(2);
  await until(() => before.heard.length === 7);
  before.socket.close();
  other.emit(250);
  log.emit(1);
  const witness = subscribing({});
  await until(() => witness.socket.connected);
  await until(async () => (await harness.tool('probe_echo')).status === 200);
  const back = resuming('evt_5');
  await until(() => back.heard.length === 253);
  expect(back.heard.filter((number) => number < 100)).toEqual([6]);
  expect(back.heard.filter((number) => number > 100)).toEqual(upTo(352, 101));
  const late = await startEventLog(harness.platform, 3, { service: 'late', numberedFrom: 1000 });
  late.emit(1);
  other.emit(1);
  await until(() => back.heard.length === 258);
  expect(back.heard.filter((number) => number > 352)).toEqual(expect.arrayContaining([...upTo(1004, 1001), 353]));
  expect([back.errors, witness.errors]).toEqual([[], []]);
  await late.stop();
  await other.stop();
});

test('tells what was missed of a service that is first heard of while the others are being resumed', async () => {
  const { bus } = harness.platform;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let asked = 0;
  await bus.respond(SUBJECTS.eventsAfter('slow'), async (question) => {
    if (!question.includes('"id"')) {
      asked += 1;
      await released;
    }
    return JSON.stringify({ head: 7, events: [] });
  });
  bus.publish(SUBJECTS.events('slow'), JSON.stringify({ service: 'slow', head: 7, events: [] }));
  log.emit(2);
  const client = resuming('evt_1');
  await until(() => asked > 0);
  const late = await startEventLog(harness.platform, 3, { service: 'late', numberedFrom: 1000 });
  late.emit(1);
  release();
  await until(() => client.heard.includes(1004));
  expect(client.heard).toEqual([2, ...upTo(1004, 1001)]);
  await late.stop();
});

test('says so when one of the services does not keep all that was missed, and tells the rest', async () => {
  const { bus } = harness.platform;
  await bus.respond(SUBJECTS.eventsAfter('forgetful'), async () => JSON.stringify({ gone: true }));
  bus.publish(SUBJECTS.events('forgetful'), JSON.stringify({ service: 'forgetful', head: 7, events: [] }));
  log.emit(4);
  const client = resuming('evt_1');
  await until(() => client.heard.length === 3);
  expect(client.heard).toEqual([2, 3, 4]);
  expect(client.errors).toMatchObject([{ code: 'E_EVENT_GONE' }]);
});
