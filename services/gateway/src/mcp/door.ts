/** /mcp with all that it keeps: sessions, streams, tasks. */
import { CallError } from '@svc/contract/codes.ts';
import type { Credentials } from '../credentials.ts';
import type { Protocol } from '../door.ts';
import type { EventHub } from '../event-hub.ts';
import type { GatewayMetrics } from '../gateway-metrics.ts';
import type { HttpExchange, ReplyWriter } from '../http-exchange.ts';
import type { Ports } from '../ports.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import type { ServiceDirectory } from '../service-directory.ts';
import type { Calling, PrepareCall } from '../tool-call.ts';
import { createOpenStream } from './event-stream.ts';
import { createHandshake } from './handshake.ts';
import { McpProtocol } from './protocol.ts';
import { createServiceRoom } from './service-room.ts';
import type { Room } from './room.ts';
import { type SessionNews, startSessionNews } from './session-news.ts';
import { createMcpSessions, type McpSessions } from './sessions.ts';
import { streamRights } from './stream-rights.ts';
import { createMcpStreams, type McpStreams } from './streams.ts';
import { type ResumeTask, TaskDesk, type Tasks } from './tasks.ts';

interface McpDoorParts {
  readonly platform: StatelessPlatform;
  readonly directory: ServiceDirectory;
  readonly ports: Ports;
  readonly credentials: Pick<Credentials, 'tokenIn'>;
  readonly hub: EventHub;
  readonly metrics: Pick<GatewayMetrics, 'streams'>;
  readonly writer: ReplyWriter;
  readonly prepare: PrepareCall;
}

export interface McpDoor {
  readonly protocol: Protocol;
  /** Ends the replies that would go on for ever, and hands over what is worked on. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

export const MCP_PATH = '/mcp';
const CONFORMANCE_PATH = '/mcp/conformance';
export const MCP_PATHS: readonly string[] = [MCP_PATH, CONFORMANCE_PATH];

export async function startMcpDoor(parts: McpDoorParts): Promise<McpDoor> {
  const { platform, directory, ports, prepare } = parts;
  const tasks = new TaskDesk(platform);
  const sessions = createMcpSessions(platform.shared);
  platform.metrics.gauge(
    'svc_mcp_sessions',
    'Sessions of the Model Context Protocol, of all gateways.',
    [],
    async (g) => g.set(await sessions.count()),
  );
  platform.metrics.gauge('svc_mcp_tasks', 'Tasks of the Model Context Protocol, of all gateways.', [], async (g) =>
    g.set(await tasks.count()),
  );
  const news = await startSessionNews(platform);
  const furnish = furnishing(parts, { tasks, sessions, news });
  const service = createServiceRoom({ directory, ports, prepare, tasks });
  const main = furnish(service, service.resume);
  const rooms = [main];
  let protocol: Protocol = main.protocol;
  if (platform.config.SVC_CONFORMANCE) {
    const { createConformanceRoom } = await import('./conformance/room.ts');
    const fixtures = furnish(createConformanceRoom(tasks), noResume);
    rooms.push(fixtures);
    protocol = byPath(main.protocol, fixtures.protocol);
  }
  return {
    protocol,
    async leave() {
      for (const { streams } of rooms) streams.leave();
      await tasks.leave();
    },
    close: () => news.close(),
  };
}

interface Shared {
  readonly tasks: Tasks;
  readonly sessions: McpSessions;
  readonly news: SessionNews;
}

interface FurnishedRoom {
  readonly protocol: McpProtocol;
  readonly streams: McpStreams;
}

/** What every room has, at whatever address. */
function furnishing(
  { platform, ports, credentials, hub, metrics, writer }: McpDoorParts,
  { tasks, sessions, news }: Shared,
): (room: Room, resume: (calling: Calling) => ResumeTask) => FurnishedRoom {
  const { config, log, node } = platform;
  const server = { name: 'brain-service', version: node.version };
  const limits = { all: config.SVC_MAX_CONNECTIONS, each: config.SVC_MAX_CONNECTIONS_PER_ADDRESS };
  const open = createOpenStream({ writer, metrics, limits });
  const rightsOf = (calling: Calling) => streamRights({ ports, credentials, agentId: config.SVC_AGENT_ID }, calling);
  return (room, resume) => {
    const streams = createMcpStreams({ room, sessions, news, hub, rightsOf, open });
    const handshake = createHandshake({ server, room, sessions, news });
    return { streams, protocol: new McpProtocol({ log, server, room, handshake, streams, tasks, resume, writer }) };
  };
}

/** No task of the room outlives the gateway that began it. */
function noResume(): ResumeTask {
  return () => Promise.reject(new CallError('E_OUTCOME_UNKNOWN'));
}

function byPath(main: McpProtocol, fixtures: McpProtocol): Protocol {
  const at = ({ request: { url = '' } }: HttpExchange): McpProtocol =>
    pathOf(url) === CONFORMANCE_PATH ? fixtures : main;
  return {
    perform: (body, calling) => at(calling.exchange).perform(body, calling),
    performBare: (calling) => at(calling.exchange).performBare(calling),
    failure: (exchange, error) => at(exchange).failure(exchange, error),
  };
}

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/** Of a request's target, which may name the host too, as what is said to a proxy does. */
export function pathOf(url: string): string {
  const local = url.startsWith('/') ? url : url.replace(ABSOLUTE, '');
  const query = local.indexOf('?');
  return query < 0 ? local : local.slice(0, query);
}
