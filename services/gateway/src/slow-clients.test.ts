/** Clients that do not take what they are told, be it events or answers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { EventLog } from '../testing/event-log.ts';
import { type Harness, until } from '../testing/harness.ts';
import { type Client, connectedClient, openClient } from '../testing/listener.ts';
import { KEY } from '../testing/platform.ts';
import { withEventLog } from '../testing/with-event-log.ts';

let harness: Harness;
let log: EventLog;
const sockets = withEventLog((started) => ({ harness, log } = started));

async function connected(): Promise<Client> {
  const client = await connectedClient({ url: harness.url });
  sockets.push(client.socket);
  return client;
}

/** Live from the first event on: its first message ended the wait for a resume. */
async function listening(): Promise<Client> {
  const client = await connected();
  expect(await client.ask('subscribe')).toMatchObject({ ok: true });
  return client;
}

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

test('a client that reads is not cut off by more events at once than are kept for one that does not', async () => {
  const client = await listening();
  log.emit(4000);
  await until(() => client.heard.length === 4000 || client.endings.length > 0);
  expect(client.errors).toEqual([]);
  expect(client.heard).toEqual(upTo(4000));
});

test('a client that does not read is cut off, and may resume', async () => {
  const client = await listening();
  const connection = connectionOf(client);
  connection.pause();
  const isCutOff = async (): Promise<boolean> => /svc_events_dropped_total [1-9]/.test(await metrics());
  // As many as the buffers of the system take, and then as many as the gateway keeps for one client; each when the last was told.
  const reading = await listening();
  while (!(await isCutOff())) {
    log.emit(1000);
    await until(() => reading.heard.at(-1) === log.kept.length);
  }
  connection.resume();
  await until(() => client.endings.length === 1);
  expect(client.errors.at(-1)).toMatchObject({ code: 'SLOW_CONSUMER', message: 'slow consumer' });
  const told = client.heard.length;
  expect(client.heard).toEqual(upTo(told));
  const back = openClient({
    url: harness.url,
    first: (socket) => void socket.emit('subscribe', { after: `evt_${told}` }, () => {}),
  });
  sockets.push(back.socket);
  await until(() => back.heard.at(-1) === log.kept.length);
  expect(back.heard).toEqual(upTo(log.kept.length, told + 1));
});

test('a client that does not read its answers is cut off too, with or without acknowledgements', async () => {
  for (const acknowledgements of [[], [() => {}]]) {
    const client = await connected();
    const connection = connectionOf(client);
    connection.pause();
    for (let round = 0; round < 50 && !(await metrics()).includes('svc_sockets 0'); round += 1) {
      for (let each = 0; each < 2000; each += 1) client.socket.emit('subscribe', {}, ...acknowledgements);
      await sleep(50);
    }
    await until(async () => (await metrics()).includes('svc_sockets 0'));
    connection.resume();
    await until(() => client.endings.length === 1);
    expect(client.errors.at(-1)).toMatchObject({ code: 'SLOW_CONSUMER' });
  }
});

test.each<[string, (line: Line) => void]>([
  ['for sockets of which there are none', (line) => line.send('40/elsewhere,')],
  ['for signs of life', (line) => line.ping(Buffer.alloc(125))],
])('a client that asks %s, and reads nothing, is cut off', async (_what, ask) => {
  const client = await connected();
  const line = lineOf(client);
  line._socket.pause();
  for (let round = 0; round < 100 && !(await metrics()).includes('svc_sockets 0'); round += 1) {
    for (let each = 0; each < 5000; each += 1) ask(line);
    await until(() => line.bufferedAmount === 0 || line._socket.destroyed);
  }
  expect(await metrics()).toContain('svc_sockets 0');
  line._socket.resume();
  await until(() => client.endings.length === 1);
});

async function metrics(): Promise<string> {
  return (await harness.fetch('/metrics', { headers: { 'x-api-key': KEY } })).text();
}

/** What the client's library has below it. */
interface Line {
  readonly bufferedAmount: number;
  readonly _socket: { readonly destroyed: boolean; pause(): void; resume(): void };
  send(text: string): void;
  ping(body: Buffer): void;
}

function lineOf({ socket }: Client): Line {
  return (socket.io.engine as unknown as { transport: { ws: Line } }).transport.ws;
}

function connectionOf(client: Client): Line['_socket'] {
  return lineOf(client)._socket;
}
