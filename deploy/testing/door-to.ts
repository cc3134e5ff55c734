/** The way of a client on stdio to a server that the test makes up, and that goes with the test. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createDoor, type Door } from '../stdio/door.ts';

/** For how long a node is looked for: a test waits that long where there is none. */
export const WITHIN_MS = 300;

export async function doorTo(handler: RequestListener): Promise<Door> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const join = async () => ({ url, leave: () => {} });
  return createDoor({ join, headers: {}, query: '', withinMs: WITHIN_MS });
}
