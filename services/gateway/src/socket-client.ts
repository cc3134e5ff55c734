/** One connected client: its messages, its queue. */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { EVERYTHING, isWanted } from './domain/event-filter.ts';
import { type Listener, visiblePayload } from '@svc/contract/event-visibility.ts';
import { BRAIN_EVENTS } from '@svc/contract/events.brain.ts';
import type { EventMember } from './event-hub.ts';
import { EventSession, type EventSource, type JudgedEvent } from './event-session.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { SocketCredential, SocketRights } from './socket-rights.ts';
import { type Answer, refused, subscribe, type Understood, unsubscribe } from './socket-messages.ts';
import type { GatewaySocket } from './sockets.ts';

interface ClientParts {
  readonly source: EventSource;
  readonly metrics: GatewayMetrics;
}

/** A client that wants to resume says so first; live events wait this long for it. */
const RESUME_GRACE_MS = 200;
const MESSAGES_PER_SECOND = 20;
/** Of events and answers. */
const MAX_QUEUED = 1000;
const MAX_QUEUED_BYTES = 1024 * 1024;
/** About what one takes in the queue. */
const ANSWER_BYTES = 100;
/** How long a client gets to read why it is cut off, or left. */
export const FAREWELL_MS = 2000;

const UNKNOWN_MESSAGE = refused('INVALID_REQUEST', 'Messages are subscribe and unsubscribe.');

const messageLimiter = new RateLimiterMemory({ keyPrefix: 'socket', points: MESSAGES_PER_SECOND, duration: 1 });

export class SocketClient implements EventMember {
  readonly session: EventSession;
  readonly credential: SocketCredential;
  rights: SocketRights;
  readonly #socket: GatewaySocket;
  readonly #metrics: GatewayMetrics;
  readonly #grace: NodeJS.Timeout;
  #filter = EVERYTHING;
  /** Sent, and not yet handed to the transport. */
  #queued = 0;
  #queuedBytes = 0;
  #isCutOff = false;

  constructor(socket: GatewaySocket, { source, metrics }: ClientParts) {
    this.#socket = socket;
    this.#metrics = metrics;
    this.credential = socket.data.credential;
    this.rights = socket.data.rights;
    this.session = new EventSession(source, {
      send: (event) => this.#send(event),
      taken: () => this.#taken(),
      isOpen: () => socket.connected && !this.#isCutOff,
      tellGone: () => this.#tell('E_EVENT_GONE', 'That event is not kept any more; live events follow.'),
    });
    this.#grace = setTimeout(() => this.session.start(), RESUME_GRACE_MS);
    socket.conn.on('drain', () => {
      this.#queued = 0;
      this.#queuedBytes = 0;
    });
    this.#listen();
  }

  grant(rights: SocketRights): void {
    this.rights = rights;
  }

  hear(service: string, events: readonly JudgedEvent[]): void {
    this.session.offer(service, events);
  }

  setBack(service: string, position: number): void {
    this.session.setBack(service, position);
  }

  get #listener(): Listener {
    return this.rights.listener;
  }

  /** The credential is no longer good. */
  expel(): void {
    if (this.#isCutOff) return;
    this.#isCutOff = true;
    this.#tell('UNAUTHORIZED', 'The credential is no longer valid.');
    this.#socket.disconnect(true);
  }

  /** This gateway goes away; ending the transport makes the client connect again, elsewhere. */
  leave(): void {
    this.#tell('SERVICE_UNAVAILABLE', 'This gateway is shutting down; connect again.');
    this.#socket.conn.close();
  }

  close(): void {
    clearTimeout(this.#grace);
  }

  #listen(): void {
    // Those of another name too: who waits for the answer would wait for ever.
    this.#socket.onAny((name: unknown, ...parts: unknown[]) => {
      if (this.#hasRoomFor(ANSWER_BYTES)) void this.#answer(name, parts);
    });
  }

  #understand(name: unknown, message: unknown): Understood {
    if (name === 'subscribe') return subscribe(message, this.#filter, this.#listener);
    if (name === 'unsubscribe') return unsubscribe(message, this.#filter);
    return { answer: UNKNOWN_MESSAGE, filter: this.#filter };
  }

  async #answer(name: unknown, parts: unknown[]): Promise<void> {
    const last = parts.at(-1);
    if (typeof last !== 'function') return this.#tell('INVALID_REQUEST', 'Messages need an acknowledgement.');
    const acknowledge = last as (answer: Answer) => void;
    const isTooOften = await messageLimiter.consume(this.#socket.id).then(
      () => false,
      () => true,
    );
    if (isTooOften) return acknowledge(refused('RATE_LIMITED', 'Too many messages; wait a second.'));
    const { answer, filter, after } = this.#understand(name, parts.length > 1 ? parts[0] : undefined);
    if (answer.ok && after !== undefined && !this.session.mayResume) {
      return acknowledge(refused('RATE_LIMITED', 'This socket has resumed too often; connect again.'));
    }
    this.#filter = filter;
    acknowledge(answer);
    if (!answer.ok) return;
    if (after === undefined) this.session.start();
    else this.session.resume(after);
  }

  #send({ event, policies }: JudgedEvent): void {
    if (this.#isCutOff || !isWanted(this.#filter, event.name, event.workspace)) return;
    if (!this.rights.mayRead && Object.hasOwn(BRAIN_EVENTS, event.name)) return;
    const payload = visiblePayload(event, this.#listener, policies);
    if (payload === null) return;
    const { id, name, at, node, workspace } = event;
    const common = { id, name, at, node, ...(workspace === undefined ? {} : { workspace }) };
    const shown = { ...common, ...payload, ...(Object.hasOwn(payload, 'id') ? { eventId: id } : {}) };
    if (!this.#hasRoomFor(JSON.stringify(shown).length)) return this.#metrics.eventsDropped(1);
    this.#socket.emit(name, shown);
  }

  /** Takes the room, or cuts the client off, which takes neither its events nor its answers. */
  #hasRoomFor(bytes: number): boolean {
    if (this.#isCutOff) return false;
    if (this.#queued >= MAX_QUEUED || this.#queuedBytes > MAX_QUEUED_BYTES) {
      this.#cutOff();
      return false;
    }
    this.#queued += 1;
    this.#queuedBytes += bytes;
    return true;
  }

  #cutOff(): void {
    this.#isCutOff = true;
    this.#tell('SLOW_CONSUMER', 'slow consumer');
    const { conn } = this.#socket;
    conn.close();
    setTimeout(() => conn.close(true), FAREWELL_MS).unref();
  }

  #taken(): Promise<void> {
    if (this.#queued === 0 || !this.#socket.connected) return Promise.resolve();
    const { conn } = this.#socket;
    return new Promise((resolve) => {
      const done = (): void => {
        conn.off('drain', done).off('close', done);
        resolve();
      };
      conn.on('drain', done).on('close', done);
    });
  }

  #tell(code: string, message: string): void {
    this.#socket.emit('error', { code, message });
  }
}
