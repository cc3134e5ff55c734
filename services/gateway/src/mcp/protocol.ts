/** The Model Context Protocol at /mcp, in both eras: stateless since 2026-07-28, with sessions before. */
import type { IncomingMessage } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import { assertBounded } from '../domain/json-limits.ts';
import { answeredObject, createResultFrames, type RequestMessage, type ResultFrames } from '../domain/mcp-results.ts';
import {
  type Era,
  frameMessageError,
  idOf,
  INVALID_PARAMS,
  isProtocolError,
  LEGACY,
  McpError,
  type McpMessage,
  type MessageId,
  type MirrorHeaders,
  MODERN,
  messageOf,
  statusOf,
} from '../domain/mcp-wire.ts';
import { isObject } from '../domain/call-form.ts';
import type { FailureReply, Protocol } from '../door.ts';
import { headerText } from '../header-text.ts';
import { failureHeaders, type HttpExchange, type ReplyWriter } from '../http-exchange.ts';
import { stampOf } from '../identity.ts';
import { parseJson } from '../json-body.ts';
import type { Ports } from '../ports.ts';
import type { ServiceDirectory } from '../service-directory.ts';
import type { Calling, CallTool } from '../tool-call.ts';
import { type Asked, listResources, readResource, RESOURCE_TEMPLATES } from './resources.ts';
import type { McpSessions } from './sessions.ts';
import type { McpStreams } from './streams.ts';

export interface McpParts {
  readonly server: { readonly name: string; readonly version: string };
  readonly directory: Pick<ServiceDirectory, 'pages'>;
  readonly ports: Pick<Ports, 'profilesFor'>;
  readonly callTool: CallTool;
  readonly sessions: McpSessions;
  readonly streams: McpStreams;
  readonly writer: ReplyWriter;
}

/** What is answered with the text of a whole reply. */
type Answering = (parts: McpParts & { readonly frames: ResultFrames }, asked: Asked) => Promise<string>;

const LIST_TTL_MS = 300_000;
const DEFAULT_PROFILE = 'core';
const SESSION_HEADER = 'mcp-session-id';
const INSTRUCTIONS =
  'Versioned file memory. svc_search and svc_get_memory read, svc_set_memory writes, svc_commit keeps a version. ' +
  'More tools than are listed: tool_search finds them, tool_describe tells their arguments, svc_call calls them.';
const CAPABILITIES = '"capabilities":{"tools":{"listChanged":true},"resources":{}}';

/** What a request was, as far as it could be read: how its failure is framed. */
interface Reading {
  id: MessageId | null;
  era: Era | null;
  /** The failure has a number of its own in the protocol. */
  error: McpError | null;
}

export function createMcpProtocol(given: McpParts): Protocol {
  const parts = { ...given, frames: createResultFrames(given.server) };
  const readings = new WeakMap<HttpExchange, Reading>();

  async function perform(body: Buffer, calling: Calling): Promise<void> {
    const { exchange } = calling;
    const reading: Reading = { id: null, era: null, error: null };
    readings.set(exchange, reading);
    try {
      const parsed = parseJson(body);
      reading.id = idOf(parsed);
      assertBounded(parsed);
      const message = messageOf(parsed, mirrorsOf(exchange.request));
      reading.era = message.era;
      await (message.era === 'modern' ? answerModern(parts, message, calling) : answerLegacy(parts, message, calling));
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      reading.error = error;
      throw new CallError(error.code, error.message);
    }
  }

  return {
    perform,
    performBare: (calling) => performBare(parts, calling),
    failure(exchange, error): FailureReply {
      const { id, era, error: own } = readings.get(exchange) ?? { id: null, era: null, error: null };
      const shown = own ?? error;
      const body = frameMessageError(id, shown, exchange.requestId);
      return { status: statusOf(shown, era), body, headers: failureHeaders(error) };
    },
  };
}

function mirrorsOf({ headers }: IncomingMessage): MirrorHeaders {
  return {
    version: headerText(headers, 'mcp-protocol-version'),
    method: headerText(headers, 'mcp-method'),
    name: headerText(headers, 'mcp-name'),
  };
}

const SHARED: Readonly<Record<string, Answering>> = {
  'tools/list': listTools,
  'tools/call': callTool,
  'resources/list': async ({ frames, callTool: call }, asked) =>
    frames.result(asked.message, `${await listResources(call, asked)}${hints(asked.message, 0, 'private')}`),
  'resources/templates/list': async ({ frames }, { message }) =>
    frames.result(message, `${RESOURCE_TEMPLATES}${hints(message, LIST_TTL_MS, 'public')}`),
  'resources/read': async ({ frames, callTool: call }, asked) =>
    frames.result(asked.message, `${await readResource(call, asked)}${hints(asked.message, 0, 'private')}`),
};

const MODERN_METHODS: Readonly<Record<string, Answering>> = {
  ...SHARED,
  async 'server/discover'({ frames }, { message }) {
    const versions = `"supportedVersions":${JSON.stringify([MODERN])}`;
    const instructions = `"instructions":${JSON.stringify(INSTRUCTIONS)}`;
    return frames.result(
      message,
      `${versions},${CAPABILITIES},${instructions}${hints(message, LIST_TTL_MS, 'public')}`,
    );
  },
};

const LEGACY_METHODS: Readonly<Record<string, Answering>> = {
  ...SHARED,
  ping: async ({ frames }, { message }) => frames.result(message, ''),
};

async function answerModern(
  parts: McpParts & { readonly frames: ResultFrames },
  message: McpMessage,
  calling: Calling,
): Promise<void> {
  if (!isRequest(message)) return accept(parts, calling.exchange);
  if (message.method === 'subscriptions/listen') return parts.streams.listen(message, calling);
  const text = await methodOf(MODERN_METHODS, message)(parts, { ...calling, message });
  parts.writer.json(calling.exchange, 200, text);
}

async function answerLegacy(
  parts: McpParts & { readonly frames: ResultFrames },
  message: McpMessage,
  calling: Calling,
): Promise<void> {
  if (message.method === 'initialize' && isRequest(message)) return initialize(parts, message, calling);
  await assertSession(parts, calling);
  if (!isRequest(message)) return accept(parts, calling.exchange);
  const text = await methodOf(LEGACY_METHODS, message)(parts, { ...calling, message });
  parts.writer.json(calling.exchange, 200, text);
}

function isRequest(message: McpMessage): message is RequestMessage {
  return message.id !== null;
}

function methodOf(methods: Readonly<Record<string, Answering>>, { method }: McpMessage): Answering {
  const answering = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (answering === undefined) throw new CallError('METHOD_NOT_FOUND');
  return answering;
}

function accept({ writer }: McpParts, exchange: HttpExchange): void {
  exchange.response.writeHead(202, [...writer.headersFor(exchange), 'Content-Length', '0']).end();
}

async function initialize(
  parts: McpParts & { readonly frames: ResultFrames },
  message: RequestMessage,
  { exchange, visit }: Calling,
): Promise<void> {
  const { protocolVersion } = message.params;
  if (typeof protocolVersion !== 'string')
    throw new McpError(INVALID_PARAMS, 'params.protocolVersion must be a string.');
  const revision = LEGACY.find((known) => known === protocolVersion) ?? LEGACY[0];
  const name = await parts.sessions.open({ principal: visit.identity.principal, revision });
  const members = [
    `"protocolVersion":${JSON.stringify(revision)}`,
    CAPABILITIES,
    `"serverInfo":${JSON.stringify(parts.server)}`,
    `"instructions":${JSON.stringify(INSTRUCTIONS)}`,
  ];
  parts.writer.json(exchange, 200, parts.frames.result(message, members.join(',')), ['Mcp-Session-Id', name]);
}

/** Resolves with the name. Throws INVALID_REQUEST without one, NOT_FOUND for one that is none of this principal. */
async function assertSession({ sessions }: McpParts, { exchange, visit }: Calling): Promise<string> {
  const name = headerText(exchange.request.headers, SESSION_HEADER);
  if (name === undefined) {
    throw new CallError('INVALID_REQUEST', `Send initialize first, or name the revision ${MODERN} in _meta.`);
  }
  if ((await sessions.find(name, visit.identity.principal)) === null) {
    throw new CallError('NOT_FOUND', 'There is no such session; send initialize again.');
  }
  return name;
}

/** GET opens the event stream of a session, DELETE ends the session. */
async function performBare(parts: McpParts, calling: Calling): Promise<void> {
  const { exchange, visit } = calling;
  const { request } = exchange;
  if (mirrorsOf(request).version === MODERN || headerText(request.headers, SESSION_HEADER) === undefined) {
    throw new CallError('METHOD_NOT_ALLOWED');
  }
  const name = await assertSession(parts, calling);
  if (request.method === 'GET') return parts.streams.follow(name, calling);
  await parts.sessions.end(name, visit.identity.principal);
  exchange.response.writeHead(204, parts.writer.headersFor(exchange)).end();
}

async function listTools(
  { directory, ports, frames }: McpParts & { readonly frames: ResultFrames },
  { message, visit, exchange }: Asked,
): Promise<string> {
  const bound = visit.identity.token?.limits.profile ?? null;
  const profile = bound ?? profileIn(exchange.request) ?? DEFAULT_PROFILE;
  const set = await ports.profilesFor(profile, () => stampOf(visit));
  const page = directory.pages(profile, message.params['cursor'], set);
  return frames.result(message, `${page}${hints(message, LIST_TTL_MS, bound === null ? 'public' : 'private')}`);
}

/** A wish: what a token is held to comes before it. */
function profileIn({ url = '', headers }: IncomingMessage): string | undefined {
  const query = url.indexOf('?');
  const asked = query < 0 ? null : new URLSearchParams(url.slice(query)).get('profile');
  return asked ?? headerText(headers, 'x-svc-profile');
}

/** Results that clients may keep say for how long; the earlier era knows of no such thing. */
function hints({ era }: McpMessage, ttlMs: number, scope: 'public' | 'private'): string {
  return era === 'modern' ? `,"ttlMs":${ttlMs},"cacheScope":"${scope}"` : '';
}

async function callTool(
  { callTool: call, frames }: McpParts & { readonly frames: ResultFrames },
  { message, ...calling }: Asked,
): Promise<string> {
  const { name, arguments: args = {}, _meta } = message.params;
  if (typeof name !== 'string' || name === '')
    throw new McpError(INVALID_PARAMS, 'params.name must be the name of a tool.');
  if (!isObject(args)) throw new McpError(INVALID_PARAMS, 'params.arguments must be an object.');
  const metaKey = isObject(_meta) ? _meta['idempotencyKey'] : undefined;
  try {
    const { body, refusal, card } = await call({ name, args, metaKey }, calling);
    return frames.toolResult(message, answeredObject(body, card, refusal), refusal);
  } catch (error) {
    if (!(error instanceof CallError) || isProtocolError(error.code)) throw error;
    calling.tally.code = error.code;
    calling.tally.failed = true;
    return frames.toolError(message, error, calling.exchange.requestId);
  }
}
