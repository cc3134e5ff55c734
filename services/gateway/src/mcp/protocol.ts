/** The Model Context Protocol at one address, in both eras: stateless since 2026-07-28, with sessions before. */
import type { IncomingMessage } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { assertBounded } from '../domain/json-limits.ts';
import {
  createFrameResult,
  type FrameResult,
  joined,
  type RequestMessage,
  type ServerInfo,
} from '../domain/mcp-results.ts';
import {
  type ClientReply,
  type Era,
  frameMessageError,
  idOf,
  McpError,
  type McpMessage,
  type MessageId,
  type MirrorHeaders,
  MODERN,
  messageOf,
  replyIn,
  statusOf,
  TASKS_EXTENSION,
} from '../domain/mcp-wire.ts';
import { isObject } from '../domain/call-form.ts';
import type { FailureReply, Protocol } from '../door.ts';
import { headerText } from '../header-text.ts';
import { failureHeaders, type HttpExchange, type ReplyWriter } from '../http-exchange.ts';
import { parseJson } from '../json-body.ts';
import type { Calling } from '../tool-call.ts';
import { cacheable, LIST_TTL_MS } from './caching.ts';
import { Replying } from './event-stream.ts';
import { type Handshake, SESSION_HEADER } from './handshake.ts';
import type { Answering, Methods, Room } from './room.ts';
import { taskMethods } from './task-methods.ts';
import type { ResumeTask, Tasks } from './tasks.ts';
import type { McpStreams } from './streams.ts';

interface McpParts {
  readonly log: StatelessPlatform['log'];
  readonly server: ServerInfo;
  readonly room: Room;
  readonly handshake: Handshake;
  readonly streams: McpStreams;
  readonly tasks: Tasks;
  readonly resume: (calling: Calling) => ResumeTask;
  readonly writer: ReplyWriter;
}

/** What a request was, as far as it could be read: how its failure is framed. */
interface Reading {
  id: MessageId | null;
  era: Era | null;
  /** The failure has a number of its own in the protocol. */
  error: McpError | null;
}

export class McpProtocol implements Protocol {
  readonly #parts: McpParts;
  readonly #frame: FrameResult;
  readonly #methods: Readonly<Record<Era, Methods>>;
  readonly #readings = new WeakMap<HttpExchange, Reading>();

  constructor(parts: McpParts) {
    this.#parts = parts;
    this.#frame = createFrameResult(parts.server);
    this.#methods = { modern: modernMethods(parts), legacy: legacyMethods(parts) };
  }

  async perform(body: Buffer, calling: Calling): Promise<void> {
    const { exchange } = calling;
    const reading: Reading = { id: null, era: null, error: null };
    this.#readings.set(exchange, reading);
    try {
      const parsed = parseJson(body);
      const reply = replyIn(parsed);
      // An answer is not answered: its id is one of ours, and the client may be waiting for the same one of its own.
      reading.id = reply === null ? idOf(parsed) : null;
      assertBounded(parsed);
      if (reply !== null && this.#parts.room.takeReply !== undefined) return await this.#takeReply(reply, calling);
      const message = messageOf(parsed, mirrorsOf(exchange.request));
      reading.era = message.era;
      await this.#carryOut(message, calling);
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      reading.error = error;
      throw new CallError(error.code, error.message);
    }
  }

  /** GET opens the event stream of a session, DELETE ends the session. */
  async performBare(calling: Calling): Promise<void> {
    const { handshake, streams, writer } = this.#parts;
    const { exchange } = calling;
    const { request } = exchange;
    if (mirrorsOf(request).version === MODERN || headerText(request.headers, SESSION_HEADER) === undefined) {
      exchange.response.setHeader('Allow', 'POST');
      throw new CallError('METHOD_NOT_ALLOWED');
    }
    const name = await handshake.sessionOf(calling);
    if (request.method === 'GET') return streams.follow(name, calling);
    await handshake.end(name);
    exchange.response.writeHead(204, writer.headersFor(exchange)).end();
  }

  failure(exchange: HttpExchange, error: CallError): FailureReply {
    const { id, era, error: own } = this.#readings.get(exchange) ?? { id: null, era: null, error: null };
    const shown = own ?? error;
    const body = frameMessageError(id, shown, exchange.requestId);
    return { status: statusOf(shown, era), body, headers: failureHeaders(error) };
  }

  async #takeReply(reply: ClientReply, calling: Calling): Promise<void> {
    await this.#parts.handshake.sessionOf(calling);
    this.#parts.room.takeReply?.(calling, reply);
    this.#accept(calling.exchange);
  }

  async #carryOut(message: McpMessage, calling: Calling): Promise<void> {
    const { handshake, streams, writer } = this.#parts;
    const { era, method } = message;
    if (era === 'legacy') {
      if (method === 'initialize' && isRequest(message)) {
        const { answered, headers } = await handshake.begin(message, calling);
        return writer.json(calling.exchange, 200, this.#frame(message, answered), headers);
      }
      await handshake.sessionOf(calling);
    }
    if (!isRequest(message)) return this.#accept(calling.exchange);
    if (era === 'modern' && method === 'subscriptions/listen') return streams.listen(message, calling);
    const methods = this.#methods[era];
    const answering = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (answering === undefined) throw new CallError('METHOD_NOT_FOUND');
    await this.#answer(message, calling, answering);
  }

  async #answer(message: RequestMessage, calling: Calling, answering: Answering): Promise<void> {
    const { log, writer } = this.#parts;
    const { requestId } = calling.exchange;
    const replying = new Replying(calling.exchange, writer);
    try {
      const answered = await answering({ ...calling, message, tell: (notice) => replying.tell(notice) });
      replying.finish(this.#frame(message, answered));
    } catch (error) {
      if (!replying.hasBegun) throw error;
      const failure = error instanceof CallError || error instanceof McpError ? error : new CallError('INTERNAL');
      if (failure !== error) log.error({ err: error, requestId }, 'a request failed after its reply had begun');
      replying.finish(frameMessageError(message.id, failure, requestId));
    }
  }

  #accept(exchange: HttpExchange): void {
    exchange.response.writeHead(202, [...this.#parts.writer.headersFor(exchange), 'Content-Length', '0']).end();
  }
}

function mirrorsOf({ headers }: IncomingMessage): MirrorHeaders {
  return {
    version: headerText(headers, 'mcp-protocol-version'),
    method: headerText(headers, 'mcp-method'),
    name: headerText(headers, 'mcp-name'),
  };
}

function modernMethods({ room, tasks, resume }: McpParts): Methods {
  const { extensions, ...capabilities } = room.capabilities.modern;
  const all = { ...capabilities, extensions: { ...(isObject(extensions) ? extensions : {}), [TASKS_EXTENSION]: {} } };
  const found = joined(
    `"supportedVersions":${JSON.stringify([MODERN])}`,
    `"capabilities":${JSON.stringify(all)}`,
    `"instructions":${JSON.stringify(room.instructions)}`,
  );
  return {
    ...room.methods.modern,
    ...taskMethods(tasks, resume),
    'server/discover': async (asked) => cacheable(asked, found, LIST_TTL_MS, 'public'),
  };
}

function legacyMethods({ room, handshake }: McpParts): Methods {
  return { ...room.methods.legacy, ...handshake.methods, ping: async () => ({ members: '' }) };
}

function isRequest(message: McpMessage): message is RequestMessage {
  return message.id !== null;
}
