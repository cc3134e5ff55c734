/** Who may open a session of the event channel: sessions cost memory before anybody has shown who it is. */
import type { IncomingMessage } from 'node:http';
import type { Server } from 'socket.io';
import type { Admission } from './admission.ts';
import { type ClientAddresses, clientNetwork } from './client-address.ts';
import { type ConnectionLimits, Tally } from './connections.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

/** A session without a good handshake ends after this. */
const HANDSHAKE_WITHIN_MS = 5000;
/** Sessions that have not shown yet whose they are: in all, and of one client. */
const MAX_STRANGERS = 512;
const MAX_STRANGERS_OF_ONE = 64;
/** Packets for one session: more than its socket may have waiting, whose client is told why it is cut off. */
const MAX_WAITING = 2000;

interface GateParts {
  readonly admission: Pick<Admission, 'assertOrigin'>;
  readonly addresses: ClientAddresses;
  readonly limits: ConnectionLimits;
  readonly metrics: Pick<GatewayMetrics, 'connectionRefused'>;
  isOpen(): boolean;
  onForeignOrigin(address: string): void;
}

/** Of the transport below Socket.IO. */
interface Session {
  readonly request: IncomingMessage;
  close(discard: boolean): void;
  once(name: 'close', act: () => void): void;
  on(name: 'packetCreate' | 'drain', act: () => void): void;
}

type Answer = (refusal: string | null, admitted: boolean) => void;

export class SocketGate {
  readonly #parts: GateParts;
  readonly #sessions = new Tally();
  readonly #strangers = new Tally();
  /** Those that have a socket, or ask for one just now. */
  readonly #entered = new WeakSet<object>();
  #sessionCount = 0;
  #strangerCount = 0;

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /** For a request that would begin a session. */
  readonly judge = (request: IncomingMessage, answer: Answer): void => {
    try {
      this.#parts.admission.assertOrigin(request);
    } catch {
      this.#parts.onForeignOrigin(this.#parts.addresses.of(request));
      return answer('FORBIDDEN', false);
    }
    const bound = this.#boundBy(this.#clientOf(request));
    if (bound !== null) this.#parts.metrics.connectionRefused(bound);
    const admitted = bound === null && this.#parts.isOpen();
    answer(admitted ? null : 'SERVICE_UNAVAILABLE', admitted);
  };

  /** False = the session has its socket, or its credential is being judged: what is bounded for sessions is so for sockets. */
  enter(session: object): boolean {
    if (this.#entered.has(session)) return false;
    this.#entered.add(session);
    return true;
  }

  /** It was refused, and may try again. */
  leave(session: object): void {
    this.#entered.delete(session);
  }

  /** Counts what begins and what ends. */
  watch(io: Pick<Server, 'engine' | 'on'>): void {
    const greeted = new WeakMap<object, () => void>();
    io.engine.on('connection', (session: Session) => {
      const client = this.#clientOf(session.request);
      const known = this.#stranger(client);
      this.#sessions.add(client);
      this.#sessionCount += 1;
      boundWaiting(session);
      // At once: a session that polls would be waited for.
      const giveUp = setTimeout(() => session.close(true), HANDSHAKE_WITHIN_MS);
      greeted.set(session, () => {
        clearTimeout(giveUp);
        known();
      });
      session.once('close', () => {
        clearTimeout(giveUp);
        known();
        this.#sessions.remove(client);
        this.#sessionCount -= 1;
      });
    });
    io.on('connection', (socket) => greeted.get(socket.conn)?.());
  }

  /** Answers what ends it. */
  #stranger(client: string): () => void {
    let isStranger = true;
    this.#strangers.add(client);
    this.#strangerCount += 1;
    return () => {
      if (!isStranger) return;
      isStranger = false;
      this.#strangers.remove(client);
      this.#strangerCount -= 1;
    };
  }

  #boundBy(client: string): 'address' | 'all' | null {
    const { SVC_MAX_CONNECTIONS: all, SVC_MAX_CONNECTIONS_PER_ADDRESS: ofOne } = this.#parts.limits;
    if (this.#sessionCount >= all || this.#strangerCount >= MAX_STRANGERS) return 'all';
    const isOneTooMany = this.#sessions.of(client) >= ofOne || this.#strangers.of(client) >= MAX_STRANGERS_OF_ONE;
    return isOneTooMany ? 'address' : null;
  }

  #clientOf(request: IncomingMessage): string {
    return clientNetwork(this.#parts.addresses.of(request));
  }
}

/** Also of what is refused before there is a socket, or beside it. */
function boundWaiting(session: Session): void {
  let waiting = 0;
  session.on('packetCreate', () => {
    waiting += 1;
    if (waiting > MAX_WAITING) session.close(true);
  });
  session.on('drain', () => {
    waiting = 0;
  });
}
