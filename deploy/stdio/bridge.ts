/** Passes on what a client says on stdio to /mcp of the node, and what the node says to the client. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parsed } from '@svc/client/exchange.ts';
import { isObject } from '@svc/gateway/domain/call-form.ts';
import { ANSWER_WITHIN_MS, type Door, NoAnswer } from './door.ts';
import { follow } from './follow.ts';
import { answerTo, errorLine, eventData, oneLine } from './frames.ts';
import { createListenRelay, createRelay } from './listening.ts';
import { type ClientMessage, headersOf, ownKey, readMessage } from './message.ts';
import { createLegacySession, type LegacySession } from './session.ts';

interface Bridge {
  /** A line of the client; null = one that was too long. */
  take(line: string | null): void;
  /** The client says no more: what it asked is answered, its session ended. */
  end(): Promise<void>;
}

interface BridgeParts {
  readonly door: Door;
  /** A line to the client, without its end. */
  readonly write: (line: string) => void;
  /** For the operator. */
  readonly warn: (sentence: string) => void;
}

/** `key`: under which a call takes effect once. */
type Pass = (message: ClientMessage, key: string, signal: AbortSignal) => Promise<void>;

interface InHand {
  readonly message: ClientMessage;
  readonly ender: AbortController;
  readonly done: Promise<void>;
}

const SERVER_ERROR = -32_000;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** For what was asked before the client said its last word. */
const LAST_ANSWERS_MS = 30_000;
const GOODBYE_MS = 1000;
const LISTEN = 'subscriptions/listen';
const LISTEN_AGAIN_MS = 1000;
/** What takes as long as a tool does, or as somebody listens. */
const LASTING = new Set(['tools/call', LISTEN]);

export function createBridge({ door, write, warn }: BridgeParts): Bridge {
  const ending = new AbortController();
  const session = createLegacySession(door, ending.signal);
  const pass = passing(door, session, write);
  const inHand = new Set<InHand>();
  /** What opens a session and what is only told keep their place in the order. */
  let before: Promise<void> = Promise.resolve();
  let following: Promise<void> | null = null;

  async function handle(message: ClientMessage, after: Promise<void>, signal: AbortSignal): Promise<void> {
    const key = randomUUID();
    try {
      await after;
      await pass(message, key, signal);
      if (message.method === 'initialize' && session.name() !== null)
        following ??= follow({ door, session, write, signal: ending.signal });
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      warn(reason);
      if (message.kind === 'request') write(unanswered(message, key, error, reason));
    }
  }

  return {
    take(line) {
      const message = line === null ? null : readMessage(line);
      if (line === null) write(errorLine(null, INVALID_REQUEST, 'The message is too long.', 'PAYLOAD_TOO_LARGE'));
      else if (message === null) write(errorLine(null, PARSE_ERROR, 'The line is not JSON.', 'PARSE_ERROR'));
      if (message === null || cancels(message, inHand)) return;
      session.note(message);
      const ender = new AbortController();
      const done = handle(message, before, ender.signal);
      const entry = { message, ender, done };
      inHand.add(entry);
      void done.finally(() => inHand.delete(entry));
      if (message.kind === 'notification' || message.method === 'initialize') before = done;
    },
    async end() {
      for (const { message, ender } of inHand) if (message.method === LISTEN) ender.abort();
      const answered = Promise.all([...inHand].map(({ done }) => done));
      await Promise.race([answered, sleep(LAST_ANSWERS_MS, null, { ref: false })]);
      ending.abort();
      await leaveSession(door, session);
      door.leave();
    },
  };
}

/** One message and its answers; throws Error when nobody answers. */
function passing(door: Door, session: LegacySession, write: (line: string) => void): Pass {
  async function send(message: ClientMessage, { key, signal, relay }: Sending): Promise<Answer> {
    const ofSession = message.isModern || message.method === 'initialize' ? {} : session.headers();
    const headers = { ...headersOf(message, key), ...ofSession };
    return door.exchange({
      request: { method: 'POST', body: message.text, headers },
      signal,
      ...(LASTING.has(message.method) ? {} : { answerWithinMs: ANSWER_WITHIN_MS }),
      async read(reply) {
        if (!isEventStream(reply)) return { reply, text: await reply.text() };
        if (reply.body !== null) await relayStream(reply.body, relay);
        return { reply, text: '' };
      },
    });
  }

  async function ask(message: ClientMessage, sending: Sending): Promise<Answer> {
    if (message.isModern || message.method === 'initialize') return send(message, sending);
    await session.settled();
    const stale = session.name();
    const answer = await send(message, sending);
    if (answer.reply.status !== 404 || stale === null) return answer;
    // Begun anew once: a session that is forgotten at once is no session.
    return (await session.renew(stale)) ? send(message, sending) : answer;
  }

  /** The end of a stream, as that of one with its credential, is nothing that a client sees here: it is asked why. */
  async function listen(message: ClientMessage, sending: Sending): Promise<Answer> {
    for (;;) {
      const answer = await ask(message, sending);
      if (sending.relay.isAnswered() || !isEventStream(answer.reply)) return answer;
      await sleep(LISTEN_AGAIN_MS, null, { signal: sending.signal, ref: false });
    }
  }

  return async (message, key, signal) => {
    const isListen = message.method === LISTEN;
    const relay = isListen ? createListenRelay(write) : createRelay(write);
    const { reply, text } = await (isListen ? listen : ask)(message, { key, signal, relay });
    if (message.method === 'initialize' && reply.ok && isMessage(reply, text)) session.opened(reply, text);
    if (message.kind === 'notification' || relay.isAnswered()) return;
    if (message.kind === 'other' && text === '') return;
    if (!isMessage(reply, text)) throw noMessage(reply);
    write(reply.ok ? oneLine(text) : refusalOf(message, text));
  };
}

/** Who asked for a change, and would ask again, is told that it may have happened. */
function unanswered({ id, method, params }: ClientMessage, key: string, error: unknown, reason: string): string {
  if (method !== 'tools/call' || !(error instanceof NoAnswer && error.mayHaveArrived))
    return errorLine(id, SERVER_ERROR, reason, 'SERVICE_UNAVAILABLE');
  const sentence = `${reason}; the call may have taken effect, and does so once under the same _meta.idempotencyKey`;
  return errorLine(id, SERVER_ERROR, sentence, 'E_OUTCOME_UNKNOWN', { idempotencyKey: ownKey(params) ?? key });
}

/** Somebody who asks for something else, or for another address, has passed nothing on. */
function noMessage({ status, url }: Response): NoAnswer {
  return new NoAnswer(`what is at ${url} answered ${status} and no message`, status < 300 || status >= 500);
}

/** Up to the answer: what becomes of the connection after that is no reason to ask again. */
async function relayStream(body: ReadableStream<Uint8Array>, relay: Sending['relay']): Promise<void> {
  for await (const data of eventData(body)) {
    relay.take(oneLine(data));
    if (relay.isAnswered()) return;
  }
}

/** Not a page of somebody on the way, and whole. */
function isMessage({ headers }: Response, text: string): boolean {
  return headers.get('content-type')?.startsWith('application/json') === true && isObject(parsed(text));
}

interface Sending {
  readonly key: string;
  readonly signal: AbortSignal;
  /** For the lines of a reply that is a stream. */
  readonly relay: ReturnType<typeof createRelay>;
}

/** The node reads an id with the body, and refuses some before that; the client waits for the answer to its id. */
function refusalOf({ kind, id }: ClientMessage, text: string): string {
  return kind === 'request' ? answerTo(id, text) : oneLine(text);
}

interface Answer {
  readonly reply: Response;
  /** Empty when all was said already. */
  readonly text: string;
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

/** What is cancelled is not sent again. In the newer era the end of its connection says so, in the earlier one a message too. */
function cancels({ method, params }: ClientMessage, inHand: ReadonlySet<InHand>): boolean {
  if (method !== 'notifications/cancelled') return false;
  const found = [...inHand].find(({ message }) => message.kind === 'request' && message.id === params['requestId']);
  if (found === undefined || found.message.method === 'initialize') return false;
  found.ender.abort();
  return found.message.isModern;
}

async function leaveSession(door: Door, session: LegacySession): Promise<void> {
  if (session.name() === null) return;
  const request = { method: 'DELETE' as const, headers: session.headers() };
  const read = async (reply: Response) => reply.body?.cancel();
  await door.exchange({ request, signal: AbortSignal.timeout(GOODBYE_MS), read }).catch(() => {});
}
