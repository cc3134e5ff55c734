import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createHttpServer, finishInFlight, listen } from './listener.ts';

test('who offers another protocol is answered in this one', async () => {
  const server = createHttpServer((_request, response) => response.end('here'));
  server.on('upgrade', (_request, socket: Socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
  const port = await listen(server, '127.0.0.1', 0);
  const status = (path: string, upgrade: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade, 'http2-settings': 'AAMAAABkAAQCAAAA' };
      const outgoing = request({ port, host: '127.0.0.1', path, method: 'POST', headers }).end('{}');
      for (const event of ['response', 'upgrade'])
        outgoing.once(event, (response: IncomingMessage) => {
          resolve(response.statusCode ?? 0);
          outgoing.destroy();
        });
      outgoing.once('error', reject);
    });
  expect(await status('/call', 'h2c')).toBe(200);
  expect(await status('/call', 'websocket')).toBe(200);
  expect(await status('/socket.io/?EIO=4', 'WebSocket')).toBe(101);
  server.closeAllConnections();
  await finishInFlight(server);
});

const CLIENTS = 60;

async function connected(outgoing: ClientRequest): Promise<void> {
  const [socket] = (await once(outgoing, 'socket')) as [Socket];
  if (socket.connecting) await once(socket, 'connect');
}

test('who was connected when the server stopped to listen is answered, accepted already or not', async () => {
  const server = createHttpServer((_request, response) => response.setHeader('Connection', 'close').end('here'));
  const port = await listen(server, '127.0.0.1', 0);
  const agent = new Agent({ maxSockets: CLIENTS });
  const requests = Array.from({ length: CLIENTS }, () => request({ port, host: '127.0.0.1', agent }).end());
  const answers = requests.map(
    (outgoing) =>
      new Promise<number | string>((resolve) => {
        outgoing.once('response', ({ statusCode = 0 }) => resolve(statusCode));
        outgoing.once('error', ({ message }) => resolve(message));
      }),
  );
  await Promise.all(requests.map(connected));
  await finishInFlight(server);
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
});

const SOON = { askMs: 100, exchangeMs: 100 };
/** More than the buffers of the system take. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');

async function beingAnswered(): Promise<{ server: Server; response: IncomingMessage }> {
  const server = createHttpServer((_request, response) => response.end(LARGE));
  const port = await listen(server, '127.0.0.1', 0);
  const outgoing = request({ port, host: '127.0.0.1', agent: new Agent({ keepAlive: true }) }).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { server, response };
}

test('a reply that its client takes slowly is sent to its end', async () => {
  const { server, response } = await beingAnswered();
  const finished = finishInFlight(server);
  let taken = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (taken === 0) await sleep(300);
    taken += chunk.length;
  }
  expect(taken).toBe(LARGE.length);
  await finished;
});

test('a client that does not take its reply loses it, and holds up no end', async () => {
  const { server, response } = await beingAnswered();
  await finishInFlight(server, SOON);
  await expect(once(response.resume(), 'end')).rejects.toThrow('aborted');
});

const ASKED = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n';

test.each([
  ['nothing', ''],
  ['the beginning of a request', 'GET / HTTP/1.1\r\nHost'],
  ['a request without its body', 'POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\n{'],
  ['the beginning of another request', `${ASKED}GET /`],
])('a client that sends %s holds up no end', async (_what, sent) => {
  const server = createHttpServer((incoming, response) => incoming.resume().once('end', () => response.end('here')));
  const port = await listen(server, '127.0.0.1', 0);
  const accepted = once(server, 'connection');
  const client = connect(port, '127.0.0.1');
  const ended = once(
    client.resume().on('error', () => {}),
    'close',
  );
  await accepted;
  await new Promise((resolve) => client.write(sent, resolve));
  await finishInFlight(server, SOON);
  await ended;
});
