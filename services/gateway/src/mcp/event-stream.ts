/** Replies that go on: what is told on the way to a result, or for as long as the client stays. */
import { CallError } from '@svc/contract/codes.ts';
import { Tally } from '../connections.ts';
import type { GatewayMetrics } from '../gateway-metrics.ts';
import type { HttpExchange, ReplyWriter } from '../http-exchange.ts';
import type { Calling } from '../tool-call.ts';

export interface Stream {
  /** Writes nothing once the client has left. */
  send(message: object): void;
  /** The text of a message. */
  sendText(message: string): void;
  /** Tells something once, as soon as the client takes it, however often it was noted under that key until then. */
  note(key: string, message: object): void;
  /** A line that carries nothing, so that nobody on the way takes the connection for dead. */
  comment(): void;
  /** Who has not taken all that was sent within two seconds loses the rest. */
  end(last?: object): void;
}

/** Throws SERVICE_UNAVAILABLE when there are too many streams, of all clients together or of one. */
export type OpenStream = (calling: Calling) => Stream;

interface OpeningParts {
  readonly writer: Pick<ReplyWriter, 'headersFor'>;
  readonly metrics: Pick<GatewayMetrics, 'streams'>;
  readonly limits: { readonly all: number; readonly each: number };
}

const ALL = '';
const TAKEN_WITHIN_MS = 2000;
const TRY_AGAIN = { retryAfterMs: 1000 };

export function createOpenStream({ writer, metrics, limits }: OpeningParts): OpenStream {
  const held = new Tally();
  return ({ exchange, visit }) => {
    const owner = visit.identity.bucket;
    // Nobody would ever tell that it has closed.
    if (exchange.response.destroyed) throw new CallError('SERVICE_UNAVAILABLE', 'The client has left.', TRY_AGAIN);
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
  const due = new Map<string, object>();
  const write = (text: string): void => {
    if (!response.writableEnded && !response.destroyed) response.write(text);
  };
  const sendText = (message: string): void => write(`event: message\ndata: ${message}\n\n`);
  const send = (message: object): void => sendText(JSON.stringify(message));
  const tellDue = (): void => {
    for (const [key, message] of due) {
      if (response.writableNeedDrain) return;
      due.delete(key);
      send(message);
    }
  };
  response.on('drain', tellDue);
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
    sendText,
    note(key, message) {
      due.set(key, message);
      tellDue();
    },
    // To a client that reads nothing, nothing more is written.
    comment: () => void (response.writableNeedDrain || write(':\n\n')),
    end(last) {
      if (response.writableEnded) return;
      if (last !== undefined) send(last);
      response.end();
      // A client that reads nothing would never let go of it.
      const giveUp = setTimeout(() => response.destroy(), TAKEN_WITHIN_MS);
      response.once('close', () => clearTimeout(giveUp));
    },
  };
}

/** A reply that is one message, or an event stream that ends with it once something was told before. */
export class Replying {
  readonly #exchange: HttpExchange;
  readonly #writer: ReplyWriter;
  #stream: Stream | null = null;

  constructor(exchange: HttpExchange, writer: ReplyWriter) {
    this.#exchange = exchange;
    this.#writer = writer;
  }

  get hasBegun(): boolean {
    return this.#stream !== null;
  }

  tell(message: object): void {
    this.#stream ??= startStream(this.#exchange, this.#writer);
    this.#stream.send(message);
  }

  finish(text: string): void {
    if (this.#stream === null) return this.#writer.json(this.#exchange, 200, text);
    this.#stream.sendText(text);
    // Not as a stream ends: a reply is taken as slowly as its client likes.
    this.#exchange.response.end();
  }
}
