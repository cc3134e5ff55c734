/** The gateway as a whole: one HTTP server with its doors, its sockets, and its own few tools on the bus. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
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
import { MCP_PATH, MCP_PATHS, type McpDoor, pathOf, startMcpDoor } from './mcp/door.ts';
import { type InnerCallDeps, serveInnerCalls } from './inner-calls.ts';
import { callWith, createPrepareCall, type PrepareCall } from './tool-call.ts';
import { type EventHub, startEventHub } from './event-hub.ts';
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
  /** To be told when all that starts with the gateway has: a loop that was busy until then makes it not unready. */
  started(): void;
  /** When somebody was connected last, of `performance.now()`: now, while somebody is. */
  usedAt(): Promise<number>;
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
  const doors = await startDoors(parts);
  const server = createHttpServer(doors.serve);
  limitConnections(server, config, parts.addresses, parts.metrics);
  const sockets = startSockets(server, parts);
  const port = await listen(server, bind.host, config.SVC_MCP_PORT);
  const { keyed, requiresKey } = parts.credentials;
  const deps: GatewayDeps = { platform, directory, readiness, ports, keyed, requiresKey };
  const inner = { ...parts, prepare: doors.prepare };
  const service = await startService(platform, definitionOf(deps, inner), { host: hostname(), port });

  return {
    address: bind.host,
    port,
    ready: readiness.check,
    started: parts.metrics.started,
    usedAt: connectionTimes(server),
    async drain() {
      readiness.leave();
      parts.isDraining = true;
      await sleep(config.SVC_DRAIN_WAIT_MS ?? platform.drainWaitMs);
      sockets.leave();
      await doors.leave();
      await finishInFlight(server);
      ports.close();
      await denials.flush();
    },
    async close() {
      server.closeAllConnections();
      await sockets.close();
      await doors.close();
      await parts.hub.close();
      await service.stop();
      await directory.close();
      ports.close();
      await denials.close();
      parts.metrics.close();
    },
  };
}

function connectionTimes(server: Server): () => Promise<number> {
  let openedAt = performance.now();
  server.on('connection', () => {
    openedAt = performance.now();
  });
  return async () => {
    const open = await promisify(server.getConnections.bind(server))();
    if (open > 0) openedAt = performance.now();
    return openedAt;
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
  readonly hub: EventHub;
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
    hub: await startEventHub({ platform, ports, metrics, isComplete: () => directory.missing().length === 0 }),
    isDraining: false,
  };
}

function bindOf({ config, log }: StatelessPlatform): DoorAddress {
  const bind = bindAddress(config.SVC_BIND, config.SVC_API_KEY !== undefined);
  if (!bind.ok) throw new ConfigProblem(bind.sentence);
  if (config.SVC_CONFORMANCE && !bind.address.loopback) {
    throw new ConfigProblem(
      `SVC_CONFORMANCE would offer fixtures of tests at ${bind.address.host}: set SVC_BIND=127.0.0.1 as well, or leave it out.`,
    );
  }
  if (config.SVC_API_KEY === undefined) log.info('no SVC_API_KEY: this node serves this machine only');
  return bind.address;
}

function definitionOf(deps: GatewayDeps, inner: InnerCallDeps): ServiceDefinition<GatewayDeps, StatelessPlatform> {
  const handle = { deps, checks: async () => [], drain: async () => {}, close: async () => {} };
  const serve = (platform: StatelessPlatform) => serveInnerCalls(platform, inner);
  return { name: 'gateway', tools: gatewayTools, serve, start: async () => handle };
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

interface Doors extends Pick<McpDoor, 'leave' | 'close'> {
  readonly serve: RequestListener;
  readonly prepare: PrepareCall;
}

/** The calls go straight to their door; everything else goes through Express. */
async function startDoors(parts: Parts): Promise<Doors> {
  const { platform, admission, credentials, directory, readiness, ports, sessions, metrics, denials, hub } = parts;
  const corsOrigins = platform.config.SVC_CORS_ORIGINS;
  const writer = createReplyWriter({
    securityHeaders: securityHeaders(),
    corsOrigins,
    isDraining: () => parts.isDraining,
  });
  const exchangeOf = exchanges(parts);
  const doorAt = doorsAt(platform.config.SVC_CONFORMANCE ? MCP_PATHS : [MCP_PATH]);
  const buildEnvelope = createEnvelopeBuilder({ platform, ports, sessions });
  const prepare = createPrepareCall({ directory, ports, buildEnvelope, sendCall: createSendCall(platform) });
  const jsonRpc = createJsonRpc({ directory, ports, callTool: callWith(prepare), writer });
  const mcp = await startMcpDoor({ platform, directory, ports, credentials, hub, metrics, writer, prepare });
  const door = createDoor({
    log: platform.log,
    admission,
    bodies: createBodies(),
    ports,
    protocols: { call: jsonRpc, exec: jsonRpc, mcp: mcp.protocol },
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
  return { serve, prepare, leave: mcp.leave, close: mcp.close };
}

/** Null = none of them. */
function doorsAt(mcpPaths: readonly string[]): (request: IncomingMessage) => HttpDoor | null {
  return ({ method = '', url = '' }) => {
    const path = pathOf(url);
    if (mcpPaths.includes(path)) return MCP_VERBS.has(method) ? 'mcp' : null;
    if (method !== 'POST') return null;
    if (path === '/call') return 'call';
    return path === '/mcp/exec' ? 'exec' : null;
  };
}

const MCP_VERBS: ReadonlySet<string> = new Set(['POST', 'GET', 'DELETE']);
