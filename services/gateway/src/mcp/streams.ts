/** Event streams of the Model Context Protocol: long replies that tell when the list of tools changed. */
import { CallError } from '@svc/contract/codes.ts';
import { isObject } from '../domain/call-form.ts';
import type { RequestMessage } from '../domain/mcp-results.ts';
import { INVALID_PARAMS, McpError, SUBSCRIPTION_KEY } from '../domain/mcp-wire.ts';
import { Tally } from '../connections.ts';
import type { GatewayMetrics } from '../gateway-metrics.ts';
import type { HttpExchange, ReplyWriter } from '../http-exchange.ts';
import type { ServiceDirectory } from '../service-directory.ts';
import type { Calling } from '../tool-call.ts';
import type { McpSessions } from './sessions.ts';

export interface McpStreams {
  /** `subscriptions/listen`: acknowledged first, open until either side leaves. */
  listen(message: RequestMessage, calling: Calling): Promise<void>;
  /** The stream of a session of the earlier era; ends with the session. */
  follow(session: string, calling: Calling): Promise<void>;
  /** Ends all streams, each with its result. */
  leave(): void;
}

export interface StreamParts {
  readonly directory: Pick<ServiceDirectory, 'onToolsChanged'>;
  readonly sessions: Pick<McpSessions, 'find'>;
  readonly writer: Pick<ReplyWriter, 'headersFor'>;
  readonly metrics: Pick<GatewayMetrics, 'streams'>;
  /** Of all clients together, and of one. */
  readonly limits: { readonly all: number; readonly each: number };
}

const SIGN_OF_LIFE_MS = 20_000;
const ALL = '';
const TRY_AGAIN = { retryAfterMs: 1000 };
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const TOOLS_CHANGED = 'notifications/tools/list_changed';

interface Stream {
  /** Writes nothing once the client has left. */
  send(message: object): void;
  /** A line that carries nothing, so that nobody on the way takes the connection for dead. */
  comment(): void;
  end(last?: object): void;
}

interface Keeping {
  /** The message that the list of tools changed. */
  readonly changed: object;
  /** The last message; absent = the stream just ends. */
  readonly bye?: object;
  /** Asked now and then: ends the stream when what it hangs on is gone. */
  stay?(): Promise<void>;
}

export function createMcpStreams({ directory, sessions, writer, metrics, limits }: StreamParts): McpStreams {
  const open = new Set<{ leave(): void }>();
  const begin = createOpening(writer, metrics, limits);

  /** Tells of changes and shows life until the client has left. */
  function keep(stream: Stream, { exchange }: Calling, { changed, bye, stay }: Keeping): void {
    const stop = directory.onToolsChanged(() => stream.send(changed));
    const pulse = setInterval(() => {
      stream.comment();
      void stay?.().catch(() => {});
    }, SIGN_OF_LIFE_MS);
    const member = { leave: () => stream.end(bye) };
    open.add(member);
    exchange.response.once('close', () => {
      stop();
      clearInterval(pulse);
      open.delete(member);
    });
  }

  return {
    async listen(message, calling) {
      const honoured = honouredPart(message.params['notifications']);
      const _meta = { [SUBSCRIPTION_KEY]: message.id };
      const bye = { jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', _meta } };
      const stream = begin(calling);
      stream.send({ jsonrpc: '2.0', method: ACKNOWLEDGED, params: { notifications: honoured, _meta } });
      if (honoured.toolsListChanged !== true) return stream.end(bye);
      keep(stream, calling, { changed: { jsonrpc: '2.0', method: TOOLS_CHANGED, params: { _meta } }, bye });
    },
    async follow(session, calling) {
      const { principal } = calling.visit.identity;
      const stream = begin(calling);
      keep(stream, calling, {
        changed: { jsonrpc: '2.0', method: TOOLS_CHANGED },
        async stay() {
          if ((await sessions.find(session, principal)) === null) stream.end();
        },
      });
    },
    leave() {
      for (const { leave } of open) leave();
    },
  };
}

/** Throws SERVICE_UNAVAILABLE when there are too many streams. */
function createOpening(
  writer: StreamParts['writer'],
  metrics: StreamParts['metrics'],
  limits: StreamParts['limits'],
): (calling: Calling) => Stream {
  const held = new Tally();
  return ({ exchange, visit }) => {
    const owner = visit.identity.bucket;
    if (held.of(ALL) >= limits.all || held.of(owner) >= limits.each) {
      throw new CallError('SERVICE_UNAVAILABLE', 'There are too many open streams.', TRY_AGAIN);
    }
    for (const name of [ALL, owner]) held.add(name);
    metrics.streams(1);
    exchange.response.once('close', () => {
      metrics.streams(-1);
      for (const name of [ALL, owner]) held.remove(name);
    });
    return startStream(exchange, writer);
  };
}

function startStream(exchange: HttpExchange, { headersFor }: Pick<ReplyWriter, 'headersFor'>): Stream {
  const { response } = exchange;
  const write = (text: string): void => {
    if (!response.writableEnded && !response.destroyed) response.write(text);
  };
  const send = (message: object): void => write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  response.writeHead(200, [
    ...headersFor(exchange),
    'Content-Type',
    'text/event-stream',
    'Cache-Control',
    'no-cache, no-transform',
    'X-Accel-Buffering',
    'no',
  ]);
  response.flushHeaders();
  return {
    send,
    comment: () => write(':\n\n'),
    end(last) {
      if (last !== undefined) send(last);
      response.end();
    },
  };
}

/** Of what a client asks to be told, what is told. Throws McpError. */
function honouredPart(asked: unknown): { readonly toolsListChanged?: true } {
  if (!isObject(asked)) throw new McpError(INVALID_PARAMS, 'params.notifications must be an object.');
  return asked['toolsListChanged'] === true ? { toolsListChanged: true } : {};
}
