/** The HTTP server: its limits, its start, and an end that fails no request. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
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

/** How long clients have once the server ends. `askMs`: for a request to its last header; `exchangeMs`: for its body, or its reply. */
interface Patience {
  readonly askMs: number;
  readonly exchangeMs: number;
}

const PATIENCE: Patience = { askMs: 2000, exchangeMs: 10_000 };
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
  const server = createServer(options, handler);
  keepUnsent(server);
  return server;
}

/** Of each server: what is open, and which reply the client of a connection asked for last, until it has it. */
const openConnections = new WeakMap<Server, Map<Socket, ServerResponse | null>>();

/**
 * Node takes a connection for idle once a reply was handed over, though its client may have got only the beginning, and
 * ends it with the rest. So idle ones are closed while nothing is on its way, also by `close`.
 */
function keepUnsent(server: Server): void {
  const open = new Map<Socket, ServerResponse | null>();
  openConnections.set(server, open);
  server.on('connection', (socket: Socket) => {
    open.set(socket, null);
    socket.once('close', () => open.delete(socket));
  });
  server.on('request', ({ socket }, reply) => {
    if (!open.has(socket)) return;
    open.set(socket, reply);
    reply.on('close', () => open.get(socket) === reply && open.set(socket, null));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    if (![...open.keys()].some(({ writableLength }) => writableLength > 0)) closeIdle();
  };
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
 * closed; one with a request on it never is, unless its client does not send it whole, or does not take its reply.
 */
export async function finishInFlight(server: Server, patience: Patience = PATIENCE): Promise<void> {
  await acceptWaiting(server);
  let isClosed = false;
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      isClosed = true;
      resolve();
    });
  });
  const waits = new WeakMap<Socket, number>();
  while (!isClosed) {
    await Promise.race([closed, sleep(IDLE_SWEEP_MS)]);
    server.closeIdleConnections();
    for (const [socket, reply] of openConnections.get(server) ?? []) {
      const withinMs = leftTo(socket, reply, patience);
      const since = waits.get(socket) ?? performance.now();
      if (withinMs === null) waits.delete(socket);
      else waits.set(socket, since);
      if (withinMs !== null && performance.now() - since > withinMs) socket.destroy();
    }
  }
}

/** How long its client may take for what is to come from it; null = it is this server's turn. From here Node minds no times. */
function leftTo({ writableLength }: Socket, reply: ServerResponse | null, patience: Patience): number | null {
  if (reply !== null && !reply.writableEnded) return reply.req.complete ? null : patience.exchangeMs;
  return writableLength > 0 ? patience.exchangeMs : patience.askMs;
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
