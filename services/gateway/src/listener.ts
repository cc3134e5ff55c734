/** The HTTP server: its limits, its start, and an end that fails no request. */
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import { createServer } from '@svc/runtime/http-server.ts';
import { listenProblem } from '@svc/runtime/start-problem.ts';

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_WITHIN_MS = 10_000;
const REQUEST_WITHIN_MS = 60_000;
const KEEP_ALIVE_MS = 65_000;
const CHECK_EVERY_MS = 2000;
const SOCKET_PATH = '/socket.io/';
const IDLE_SWEEP_MS = 25;
/** More than the system lets wait. */
const MAX_ACCEPT_TURNS = 1024;
const QUIET_TURNS = 3;

export function createHttpServer(handler: RequestListener): Server {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_WITHIN_MS,
    requestTimeout: REQUEST_WITHIN_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    shouldUpgradeCallback: isOfSockets,
  };
  return createServer(options, handler);
}

/** Whoever offers another protocol, as clients of HTTP/2 do, or that one elsewhere, is answered as if it had offered none. */
function isOfSockets({ headers, url = '' }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && url.startsWith(SOCKET_PATH);
}

/** Resolves with the port. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(listenProblem(error, { host, port, settings: { host: 'SVC_BIND', port: 'SVC_MCP_PORT' } }));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/**
 * Stops listening and resolves when every request in flight has its reply. Connections that fall idle meanwhile are
 * closed; one with a request on it never is.
 */
export async function finishInFlight(server: Server): Promise<void> {
  await acceptWaiting(server);
  let isClosed = false;
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      isClosed = true;
      resolve();
    });
  });
  while (!isClosed) {
    await Promise.race([closed, sleep(IDLE_SWEEP_MS)]);
    server.closeIdleConnections();
  }
}

/** The system resets who is connected but not accepted. Each turn of the loop accepts one, while there are any. */
async function acceptWaiting(server: Server): Promise<void> {
  let quietTurns = 0;
  const accepted = (): void => void (quietTurns = 0);
  server.on('connection', accepted);
  for (let turn = 0; turn < MAX_ACCEPT_TURNS && quietTurns < QUIET_TURNS; turn += 1) {
    quietTurns += 1;
    await turnOfLoop();
  }
  server.off('connection', accepted);
}
