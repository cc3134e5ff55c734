import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
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
