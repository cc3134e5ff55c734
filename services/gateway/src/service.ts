/** The gateway as a whole: one HTTP server with its doors, its sockets, and its own few tools on the bus. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigProblem } from '@svc/runtime/config.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { type ServiceDefinition, startService } from '@svc/runtime/service.ts';
import { type Admission, createAdmission } from './admission.ts';
import { createBodies } from './body.ts';
import { createSendCall } from './calls.ts';
import { type ClientAddresses, createClientAddresses } from './client-address.ts';
import { limitConnections } from './connections.ts';
import { createCredentials, type Credentials } from './credentials.ts';
import { createDenials, type Denials } from './denials.ts';
import type { GatewayDeps } from './deps.ts';
import { bindAddress, type DoorAddress } from './domain/addresses.ts';
import type { HttpDoor } from './domain/call-form.ts';
import { createDoor } from './door.ts';
import { createJsonRpc } from './json-rpc.ts';
import { createMcpProtocol } from './mcp/protocol.ts';
import { createMcpSessions } from './mcp/sessions.ts';
import { createMcpStreams } from './mcp/streams.ts';
import { createCallTool } from './tool-call.ts';
import { createReplyWriter, HttpExchange } from './http-exchange.ts';
import { createGatewayMetrics, type GatewayMetrics } from './gateway-metrics.ts';
import { createHttpApp, securityHeaders } from './http.ts';
import { createLimits, type Limits } from './limits.ts';
import { createHttpServer, finishInFlight, listen } from './listener.ts';
import { createEnvelopeBuilder } from './envelope-builder.ts';
import { createPorts, type Ports } from './ports.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { type ServiceDirectory, startServiceDirectory } from './service-directory.ts';
import { createSessionKeys, type SessionKeys } from './session.ts';
import { startSockets } from './sockets.ts';
import { discoveryTools } from './tools/discovery.ts';
import { nodeTools } from './tools/nodes.ts';

export const gatewayTools = [...nodeTools, ...discoveryTools];

export interface GatewayOptions {
  /** Services without which this gateway is not ready, also before it ever heard of them. */
  readonly expectedServices?: readonly string[];
}

export interface Gateway {
  readonly address: string;
  readonly port: number;
  readonly ready: Readiness['check'];
  /** Graceful end: not ready at once, open for SVC_DRAIN_WAIT_MS, then what is in flight is finished. */
  drain(): Promise<void>;
  /** Lets go of everything; what is still open is cut. */
  close(): Promise<void>;
}

/** Resolves when the port listens; `ready` tells when the services are known. Throws ConfigProblem. */
export async function startGateway(platform: StatelessPlatform, options: GatewayOptions = {}): Promise<Gateway> {
  const { config } = platform;
  const bind = bindOf(platform);
  const parts = await assemble(platform, bind, options);
  const { directory, readiness, ports, denials } = parts;
  const doors = createDoors(parts);
  const server = createHttpServer(doors.serve);
  limitConnections(server, config, parts.addresses, parts.metrics);
  const sockets = await startSockets(server, parts);
  const port = await listen(server, bind.host, config.SVC_MCP_PORT);
  const { keyed, requiresKey } = parts.credentials;
  const deps: GatewayDeps = { platform, directory, readiness, ports, keyed, requiresKey };
  const service = await startService(platform, definitionOf(deps), { host: hostname(), port });

  return {
    address: bind.host,
    port,
    ready: readiness.check,
    async drain() {
      readiness.leave();
      parts.isDraining = true;
      await sleep(config.SVC_DRAIN_WAIT_MS ?? platform.drainWaitMs);
      sockets.leave();
      doors.leave();
      await finishInFlight(server);
      ports.close();
      await denials.flush();
    },
    async close() {
      server.closeAllConnections();
      await sockets.close();
      await service.stop();
      await directory.close();
      ports.close();
      await denials.close();
      parts.metrics.close();
    },
  };
}

interface Parts {
  readonly platform: StatelessPlatform;
  readonly addresses: ClientAddresses;
  readonly directory: ServiceDirectory;
  readonly readiness: Readiness;
  readonly ports: Ports;
  readonly sessions: SessionKeys;
  readonly credentials: Credentials;
  readonly limits: Limits;
  readonly admission: Admission;
  readonly metrics: GatewayMetrics;
  readonly denials: Denials;
  isDraining: boolean;
}

async function assemble(
  platform: StatelessPlatform,
  { loopback }: DoorAddress,
  { expectedServices = [] }: GatewayOptions,
): Promise<Parts> {
  const { config } = platform;
  const metrics = createGatewayMetrics(platform.metrics);
  const directory = await startServiceDirectory(platform, metrics, expectedServices);
  const ports = createPorts(platform, metrics.tokens);
  const sessions = createSessionKeys();
  const credentials = createCredentials({ config, ports, sessions });
  const limits = createLimits(platform, loopback);
  return {
    platform,
    addresses: createClientAddresses(config.SVC_TRUST_PROXY),
    directory,
    readiness: createReadiness(platform, directory, metrics, expectedServices),
    ports,
    sessions,
    credentials,
    limits,
    admission: createAdmission({ config, loopback, credentials, limits, metrics }),
    metrics,
    denials: createDenials(platform),
    isDraining: false,
  };
}

function bindOf({ config, log }: StatelessPlatform): DoorAddress {
  const bind = bindAddress(config.SVC_BIND, config.SVC_API_KEY !== undefined);
  if (!bind.ok) throw new ConfigProblem(bind.sentence);
  if (config.SVC_API_KEY === undefined) log.info('no SVC_API_KEY: this node serves this machine only');
  return bind.address;
}

function definitionOf(deps: GatewayDeps): ServiceDefinition<GatewayDeps, StatelessPlatform> {
  const handle = { deps, checks: async () => [], drain: async () => {}, close: async () => {} };
  return { name: 'gateway', tools: gatewayTools, start: async () => handle };
}

const REQUEST_ID = /^[A-Za-z0-9-]{1,64}$/;

/** Gives each request its id: the caller's, or one of this process, counted because randomness costs more than a call. */
function exchanges({
  platform: { ids },
  addresses,
}: Parts): (request: IncomingMessage, response: ServerResponse) => HttpExchange {
  const prefix = ids.next('r').slice(-24);
  let count = 0;
  return (request, response) => {
    const given = request.headers['x-request-id'];
    const address = addresses.of(request);
    if (typeof given === 'string' && REQUEST_ID.test(given)) return new HttpExchange(request, response, given, address);
    count += 1;
    return new HttpExchange(request, response, `${prefix}-${count.toString(36)}`, address);
  };
}

interface Doors {
  readonly serve: RequestListener;
  /** Ends the replies that would go on for ever. */
  leave(): void;
}

/** The calls go straight to their door; everything else goes through Express. */
function createDoors(parts: Parts): Doors {
  const { platform, admission, directory, readiness, ports, sessions, metrics, denials } = parts;
  const corsOrigins = platform.config.SVC_CORS_ORIGINS;
  const writer = createReplyWriter({
    securityHeaders: securityHeaders(),
    corsOrigins,
    isDraining: () => parts.isDraining,
  });
  const exchangeOf = exchanges(parts);
  const buildEnvelope = createEnvelopeBuilder({ platform, ports, sessions });
  const callTool = createCallTool({ directory, ports, buildEnvelope, sendCall: createSendCall(platform) });
  const jsonRpc = createJsonRpc({ directory, ports, callTool, writer });
  const mcpSessions = createMcpSessions(platform.shared);
  const streams = createMcpStreams({
    directory,
    sessions: mcpSessions,
    writer,
    metrics,
    limits: { all: platform.config.SVC_MAX_CONNECTIONS, each: platform.config.SVC_MAX_CONNECTIONS_PER_ADDRESS },
  });
  const server = { name: 'brain-service', version: platform.node.version };
  const mcp = createMcpProtocol({ server, directory, ports, callTool, sessions: mcpSessions, streams, writer });
  const door = createDoor({
    log: platform.log,
    admission,
    bodies: createBodies(),
    ports,
    protocols: { call: jsonRpc, exec: jsonRpc, mcp },
    metrics,
    denials,
    writer,
  });
  const app = createHttpApp({ platform, admission, directory, ports, readiness, writer, corsOrigins }, exchangeOf);
  const serve: RequestListener = (request, response) => {
    const which = doorAt(request);
    if (which === null) app(request, response);
    else void door(exchangeOf(request, response), which);
  };
  return { serve, leave: () => streams.leave() };
}

function doorAt({ method = '', url = '' }: IncomingMessage): HttpDoor | null {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  if (path === '/mcp') return MCP_VERBS.has(method) ? 'mcp' : null;
  if (method !== 'POST') return null;
  if (path === '/call') return 'call';
  return path === '/mcp/exec' ? 'exec' : null;
}

const MCP_VERBS: ReadonlySet<string> = new Set(['POST', 'GET', 'DELETE']);
