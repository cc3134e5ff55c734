/** Socket.IO on the gateway's server: who may connect, what they are told, when they are cut off. */
import type { Server as HttpServer } from 'node:http';
import { type DefaultEventsMap, Server, type Socket } from 'socket.io';
import { CallError } from '@svc/contract/codes.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { Admission } from './admission.ts';
import type { ClientAddresses } from './client-address.ts';
import { type Credentials, type Presented, presentedIn } from './credentials.ts';
import type { EventHub } from './event-hub.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { headerText } from './header-text.ts';
import { type Limits, rateLimited } from './limits.ts';
import type { Ports } from './ports.ts';
import { FAREWELL_MS, SocketClient } from './socket-client.ts';
import { type Denials, strangerFrom } from './denials.ts';
import { SocketGate } from './socket-gate.ts';
import { rightsOf, type SocketCredential, type SocketRights, UNCHECKED_OPERATOR } from './socket-rights.ts';
import { UpgradedConnections } from './upgraded-connections.ts';

interface SocketParts {
  readonly platform: StatelessPlatform;
  readonly addresses: ClientAddresses;
  readonly admission: Admission;
  readonly credentials: Pick<Credentials, 'tokenIn'>;
  readonly limits: Limits;
  readonly ports: Ports;
  readonly metrics: GatewayMetrics;
  readonly denials: Pick<Denials, 'note'>;
  readonly hub: Pick<EventHub, 'source' | 'join' | 'leave'>;
}

/** Under this name a handshake is in the audit, where calls have the name of their tool. */
const HANDSHAKE = 'socket';

export interface Sockets {
  /** Tells every socket why, then ends the transports, so that clients connect to another gateway by themselves. */
  leave(): void;
  close(): Promise<void>;
}

interface SocketData {
  credential: SocketCredential;
  rights: SocketRights;
}

export type GatewaySocket = Socket<DefaultEventsMap, DefaultEventsMap, DefaultEventsMap, SocketData>;
type IoServer = Server<DefaultEventsMap, DefaultEventsMap, DefaultEventsMap, SocketData>;

const MAX_MESSAGE_BYTES = 64 * 1024;
/** For whoever asks for a second socket on a connection that has one, or is just being judged. */
const ONE_AFTER_ANOTHER_MS = 1000;

export function startSockets(server: HttpServer, parts: SocketParts): Sockets {
  const { hub, metrics } = parts;
  const clients = new Map<string, SocketClient>();
  const door = { isOpen: true };
  const upgraded = new UpgradedConnections(server);
  const io = createIo(server, parts, door);
  io.on('connection', (socket) => {
    const client = new SocketClient(socket, { source: hub.source, metrics });
    clients.set(socket.id, client);
    hub.join(client);
    metrics.sockets(1);
    socket.on('disconnect', () => {
      clients.delete(socket.id);
      hub.leave(client);
      client.close();
      metrics.sockets(-1);
      // A session that listens to nothing any more would be held for nothing.
      socket.conn.close();
    });
  });

  return {
    leave() {
      door.isOpen = false;
      for (const client of clients.values()) client.leave();
      // Who is gone without a word answers no farewell, and whoever has no socket yet is told none.
      setTimeout(() => upgraded.endAll(), FAREWELL_MS).unref();
    },
    async close() {
      upgraded.close();
      await io.close();
    },
  };
}

function createIo(server: HttpServer, parts: SocketParts, door: { readonly isOpen: boolean }): IoServer {
  const { admission, addresses, denials, metrics, platform } = parts;
  const { SVC_CORS_ORIGINS: corsOrigins } = platform.config;
  const gate = new SocketGate({
    admission,
    addresses,
    metrics,
    limits: platform.config,
    isOpen: () => door.isOpen,
    onForeignOrigin: (address) => denials.note(strangerFrom(address), HANDSHAKE, 'FORBIDDEN', 'none'),
  });
  const io: IoServer = new Server(server, {
    serveClient: false,
    maxHttpBufferSize: MAX_MESSAGE_BYTES,
    allowRequest: gate.judge,
    ...(corsOrigins === undefined ? {} : { cors: { origin: [...corsOrigins] } }),
  });
  gate.watch(io);
  io.use((socket, next) => {
    if (gate.enter(socket.conn))
      void decide(
        parts,
        socket,
        refusedWith(next, () => gate.leave(socket.conn)),
      );
    else next(handshakeError(rateLimited(ONE_AFTER_ANOTHER_MS), platform));
  });
  return io;
}

type Next = (refusal?: Error) => void;

function refusedWith(next: Next, onRefused: () => void): Next {
  return (refusal) => {
    if (refusal !== undefined) onRefused();
    next(refusal);
  };
}

async function decide(parts: SocketParts, socket: GatewaySocket, next: Next): Promise<void> {
  try {
    await admit(parts, socket);
  } catch (error) {
    const { code } = error instanceof CallError ? error : { code: 'INTERNAL' };
    parts.denials.note(strangerFrom(parts.addresses.of(socket.request)), HANDSHAKE, code, socket.id);
    return next(handshakeError(error, parts.platform));
  }
  next();
}

async function admit(parts: SocketParts, socket: GatewaySocket): Promise<void> {
  const { addresses, admission, limits, metrics, ports } = parts;
  const presented = presentedBy(socket);
  const arrival = { address: addresses.of(socket.request), nobody: 'refused' as const };
  const { identity } = await admission.identify(presented, arrival);
  const rate = await limits.count(identity);
  if (rate !== null && rate.exceededForMs !== null) {
    metrics.rateLimited(identity.plan);
    throw rateLimited(rate.exceededForMs);
  }
  const credential = credentialOf(parts, socket, presented);
  const needsRegistry = credential.kind === 'token' || credential.agentId !== undefined;
  const rights = needsRegistry ? await rightsOf(ports, credential, await ports.requireRevision()) : UNCHECKED_OPERATOR;
  if (rights === null) throw new CallError('UNAUTHORIZED');
  socket.data.credential = credential;
  socket.data.rights = rights;
}

function credentialOf(
  { credentials, platform }: SocketParts,
  { request }: GatewaySocket,
  presented: Presented,
): Exclude<SocketCredential, { kind: 'anonymous' }> {
  const token = credentials.tokenIn(presented);
  if (token !== null) return { kind: 'token', token };
  return { kind: 'operator', agentId: headerText(request.headers, 'x-svc-agent') ?? platform.config.SVC_AGENT_ID };
}

/** The handshake's `auth` first, else the headers of HTTP; never the query. */
function presentedBy({ handshake, request }: GatewaySocket): Presented {
  const auth: Record<string, unknown> = handshake.auth;
  const { token, apiKey } = auth;
  if (token === undefined && apiKey === undefined) return presentedIn(request.headers);
  return {
    authorization: undefined,
    apiKey: credentialText(apiKey),
    token: credentialText(token),
  };
}

/** What is no text is a credential that nobody has. */
function credentialText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : '';
}

function handshakeError(error: unknown, { log }: StatelessPlatform): Error {
  const failure = error instanceof CallError ? error : new CallError('INTERNAL');
  if (failure !== error) log.error({ err: error }, 'a handshake failed');
  return Object.assign(new Error(failure.message), { data: { code: failure.code, ...failure.details } });
}
