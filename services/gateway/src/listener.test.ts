import { once } from 'node:events';
import { Agent, type ClientRequest, request } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createHttpServer, finishInFlight, listen } from './listener.ts';

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
