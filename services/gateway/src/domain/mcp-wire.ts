/**
 * The Model Context Protocol as it stands on the wire: which era a message speaks, whether its headers say what its body
 * says, and how results and errors are framed. Revision 2026-07-28 carries all it needs in every request; the revisions
 * of 2025 begin with `initialize`.
 */
import { CallError, type CallErrorCode } from '@svc/contract/codes.ts';
import { isObject } from './call-form.ts';

export const MODERN = '2026-07-28';
/** Newest first. */
export const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
export const REVISIONS: readonly string[] = [MODERN, ...LEGACY];

const PREFIX = 'io.modelcontextprotocol/';
const VERSION_KEY = `${PREFIX}protocolVersion`;
export const TASKS_EXTENSION = `${PREFIX}tasks`;
const CAPABILITIES_KEY = `${PREFIX}clientCapabilities`;
export const SUBSCRIPTION_KEY = `${PREFIX}subscriptionId`;
export const SERVER_KEY = `${PREFIX}serverInfo`;

export type Era = 'modern' | 'legacy';
export type MessageId = string | number;

export interface McpMessage {
  readonly era: Era;
  /** Null = a notification. */
  readonly id: MessageId | null;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The headers that mirror the body, each as one text. */
export interface MirrorHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** A failure that the protocol has a number of its own for. */
export class McpError extends Error {
  readonly number: number;
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>>;
  /** In our words, beside the number. */
  readonly code = 'INVALID_REQUEST';

  constructor(number: number, message: string, data: Readonly<Record<string, unknown>> = {}, status = 400) {
    super(message);
    this.number = number;
    this.status = status;
    this.data = data;
  }
}

const HEADER_MISMATCH = -32_020;
const MISSING_CAPABILITY = -32_021;
const UNSUPPORTED_VERSION = -32_022;
export const INVALID_PARAMS = -32_602;
const SERVER_ERROR = -32_000;

/** Of call errors that are answered as errors of the protocol; the others are results of a tool. */
const NUMBERS = {
  PARSE_ERROR: -32_700,
  INVALID_REQUEST: -32_600,
  PAYLOAD_TOO_LARGE: -32_600,
  UNSUPPORTED_MEDIA_TYPE: -32_600,
  METHOD_NOT_FOUND: -32_601,
  METHOD_NOT_ALLOWED: -32_601,
  TOOL_NOT_FOUND: INVALID_PARAMS,
  UNAUTHORIZED: SERVER_ERROR,
  RATE_LIMITED: SERVER_ERROR,
  NOT_FOUND: SERVER_ERROR,
  INTERNAL: -32_603,
} as const satisfies Partial<Record<CallErrorCode, number>>;

export function isProtocolError(code: CallErrorCode): code is keyof typeof NUMBERS {
  return Object.hasOwn(NUMBERS, code);
}

/** Readable from any body, so that a refusal of its form still carries its id; null where there is none to echo. */
export function idOf(body: unknown): MessageId | null {
  if (!isObject(body)) return null;
  const { id } = body;
  return (typeof id === 'string' && id.length <= MAX_ID_LENGTH) || Number.isSafeInteger(id) ? (id as MessageId) : null;
}

const MAX_ID_LENGTH = 128;

/** Throws CallError INVALID_REQUEST, or McpError. */
export function messageOf(body: unknown, headers: MirrorHeaders): McpMessage {
  const message = plainMessageOf(body);
  const meta = message.params['_meta'];
  if (meta !== undefined && !isObject(meta)) throw new McpError(INVALID_PARAMS, '_meta must be an object.');
  if (!isModern(meta, headers.version)) return { era: 'legacy', ...message };
  const checked = { era: 'modern', ...message } as const;
  if (message.id !== null) assertModern(checked, meta ?? {}, headers);
  return checked;
}

/** A message of a client that answers a request of ours. */
export interface ClientReply {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Null = the message is something else. */
export function replyIn(body: unknown): ClientReply | null {
  if (!isObject(body) || body.jsonrpc !== '2.0' || Object.hasOwn(body, 'method') || idOf(body) === null) return null;
  return Object.hasOwn(body, 'result') || Object.hasOwn(body, 'error') ? { ...body, id: body.id } : null;
}

function plainMessageOf(body: unknown): Omit<McpMessage, 'era'> {
  if (!isObject(body)) throw new CallError('INVALID_REQUEST', 'The body must be one message; a batch is not taken.');
  if (body.jsonrpc !== '2.0') throw new CallError('INVALID_REQUEST', 'jsonrpc must be "2.0".');
  const { method, params = {} } = body;
  const id = idOf(body);
  if (typeof method !== 'string') throw new CallError('INVALID_REQUEST', 'Only requests and notifications are taken.');
  if (Object.hasOwn(body, 'id') && id === null) {
    throw new CallError('INVALID_REQUEST', `id must be a string of at most ${MAX_ID_LENGTH} characters or an integer.`);
  }
  if (!isObject(params)) throw new McpError(INVALID_PARAMS, 'params must be an object.');
  return { id, method, params };
}

/** A request that names its revision, in its body or its header, and names none of those that began with a handshake. */
function isModern(meta: Readonly<Record<string, unknown>> | undefined, header: string | undefined): boolean {
  if (meta !== undefined && Object.hasOwn(meta, VERSION_KEY)) return true;
  return header !== undefined && !LEGACY.some((revision) => revision === header);
}

function assertModern(
  { method, params }: McpMessage,
  meta: Readonly<Record<string, unknown>>,
  headers: MirrorHeaders,
): void {
  const version = meta[VERSION_KEY];
  if (typeof version === 'string' && headers.version !== undefined && headers.version !== version) {
    throw mismatch('MCP-Protocol-Version', headers.version, version);
  }
  const named = typeof version === 'string' ? version : headers.version;
  if (named !== undefined && named !== MODERN) {
    const data = { supported: [MODERN], requested: named.slice(0, 100) };
    throw new McpError(UNSUPPORTED_VERSION, 'Unsupported protocol version', data);
  }
  if (typeof version !== 'string') throw new McpError(INVALID_PARAMS, `_meta must name ${VERSION_KEY}.`);
  if (!isObject(meta[CAPABILITIES_KEY])) throw new McpError(INVALID_PARAMS, `_meta must name ${CAPABILITIES_KEY}.`);
  assertSame('MCP-Protocol-Version', headers.version, version);
  assertSame('Mcp-Method', headers.method, method);
  const name = NAMED_BY[method];
  if (name === undefined) return;
  const value = params[name];
  if (typeof value !== 'string') throw new McpError(INVALID_PARAMS, `params.${name} must be a string.`);
  assertMirrored('Mcp-Name', headers.name, value);
}

/** Methods whose object stands in a header, and where it stands in the body. */
const NAMED_BY: Readonly<Record<string, 'name' | 'uri' | 'taskId' | undefined>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** What the client can do, as this request says. */
export function capabilitiesOf({ params }: Pick<McpMessage, 'params'>): Readonly<Record<string, unknown>> {
  const meta = params['_meta'];
  const capabilities = isObject(meta) ? meta[CAPABILITIES_KEY] : undefined;
  return isObject(capabilities) ? capabilities : {};
}

export function speaksOfTasks(message: McpMessage): boolean {
  const { extensions } = capabilitiesOf(message);
  return message.era === 'modern' && isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** `required`: what the client would have to be able to do, as it would say so. */
export function missingCapability(required: Readonly<Record<string, unknown>>): McpError {
  return new McpError(MISSING_CAPABILITY, 'Missing required client capability', { requiredCapabilities: required });
}

export const TASKS_REQUIRED = { extensions: { [TASKS_EXTENSION]: {} } };

/** For values that may stand encoded in the header. Throws McpError. */
export function assertMirrored(header: string, value: string | undefined, body: string): void {
  assertSame(header, decodedHeader(value), body);
}

function assertSame(header: string, value: string | undefined, body: string): void {
  if (value === undefined) throw new McpError(HEADER_MISMATCH, `The header ${header} is missing.`);
  if (value !== body) throw mismatch(header, value, body);
}

function mismatch(header: string, value: string, body: string): McpError {
  const [said, meant] = [value, body].map((text) => JSON.stringify(text.slice(0, 100)));
  return new McpError(HEADER_MISMATCH, `The header ${header} says ${said}, the body says ${meant}.`);
}

/** What stands in the headers of a modern request, for whoever passes on one that came without any. */
export function mirroredHeaders(method: string, params: Readonly<Record<string, unknown>>): Record<string, string> {
  const meta = params['_meta'];
  const version = isObject(meta) ? meta[VERSION_KEY] : undefined;
  const field = NAMED_BY[method];
  const name = field === undefined ? undefined : params[field];
  return {
    ...(typeof version === 'string' ? { 'mcp-protocol-version': encodedHeader(version) } : {}),
    'mcp-method': encodedHeader(method),
    ...(typeof name === 'string' ? { 'mcp-name': encodedHeader(name) } : {}),
  };
}

/** Whether the message names its revision itself, as those of the newer era do. */
export function namesRevision(params: unknown): boolean {
  return isObject(params) && isObject(params['_meta']) && Object.hasOwn(params['_meta'], VERSION_KEY);
}

const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

function encodedHeader(value: string): string {
  if (PLAIN.test(value) && !SENTINEL.test(value)) return value;
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

const SENTINEL = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** Values that are no plain header text come as base64 of their UTF-8 between marks; what is none stands for itself. */
function decodedHeader(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const encoded = SENTINEL.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

/** Around the text of a result's members; `members` begins with none of `{` and `,`. */
export function frameMessageResult(id: MessageId, members: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${members}}}`;
}

/** `id` null = it could not be read, and is left out. */
export function frameMessageError(id: MessageId | null, error: CallError | McpError, requestId: string): string {
  return `{"jsonrpc":"2.0",${id === null ? '' : `"id":${JSON.stringify(id)},`}"error":${errorMember(error, requestId)}}`;
}

/** The text of an error as the protocol shows it. */
export function errorMember(error: CallError | McpError, requestId: string): string {
  const { message } = error;
  const shown =
    error instanceof McpError
      ? { code: error.number, message, data: { code: error.code, requestId, ...error.data } }
      : { code: numberOf(error.code), message, data: { code: error.code, requestId, ...error.details } };
  return JSON.stringify(shown);
}

function numberOf(code: CallErrorCode): number {
  return isProtocolError(code) ? NUMBERS[code] : SERVER_ERROR;
}

/** A tool that is not there is an answer to a well-formed request; the rest has the status of the code. */
export function statusOf(error: CallError | McpError, era: Era | null): number {
  if (error instanceof McpError) return era === 'legacy' ? OK : error.status;
  if (error.code === 'TOOL_NOT_FOUND') return OK;
  // A client of 2025 reads a 404 as the end of its session.
  return era === 'legacy' && error.code === 'METHOD_NOT_FOUND' ? OK : error.status;
}

const OK = 200;
