/** A Socket.IO client that keeps every event it hears, in order. */
import { sawEvent } from '@svc/testing/seen.ts';
import { io, type Socket } from 'socket.io-client';
import { waitFor } from './wait-for.ts';

export interface HeardEvent {
  readonly id: string;
  readonly name: string;
  readonly at: number;
  readonly node: string;
  readonly [field: string]: unknown;
}

interface SubscribeAnswer {
  readonly ok: boolean;
  readonly code?: string;
  readonly events?: readonly string[];
  readonly workspaces?: readonly string[];
}

export interface SocketOptions {
  readonly auth?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
}

const ANSWER_WITHIN_MS = 60_000;

/** Names that Socket.IO or the service uses for the channel itself. */
const CHANNEL_EVENTS = new Set(['error']);

export class EventSocket {
  readonly heard: HeardEvent[] = [];
  readonly errors: { code: string; message: string }[] = [];
  readonly disconnects: string[] = [];
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.onAny((name: string, event: HeardEvent) => {
      if (CHANNEL_EVENTS.has(name)) {
        this.errors.push(event as unknown as { code: string; message: string });
        return;
      }
      sawEvent(name);
      this.heard.push({ ...event, name });
    });
    socket.on('disconnect', (reason) => this.disconnects.push(reason));
  }

  /** Throws an error with `data.code` when the handshake is refused. */
  static async connect(url: string, options: SocketOptions = {}): Promise<EventSocket> {
    const { auth = {}, headers = {}, query = {} } = options;
    const socket = io(url, {
      auth,
      query,
      extraHeaders: headers,
      transports: ['websocket'],
      reconnection: false,
      forceNew: true,
      timeout: ANSWER_WITHIN_MS,
    });
    const watched = new EventSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('connect_error', (error) => {
        socket.close();
        reject(error);
      });
    });
    return watched;
  }

  async subscribe(request: Record<string, unknown> = {}): Promise<SubscribeAnswer> {
    return (await this.#socket.timeout(ANSWER_WITHIN_MS).emitWithAck('subscribe', request)) as SubscribeAnswer;
  }

  async unsubscribe(request: Record<string, unknown> = {}): Promise<SubscribeAnswer> {
    return (await this.#socket.timeout(ANSWER_WITHIN_MS).emitWithAck('unsubscribe', request)) as SubscribeAnswer;
  }

  of(brain: string, name?: string): HeardEvent[] {
    return this.heard.filter((event) => event.brain === brain && (name === undefined || event.name === name));
  }

  async until(what: string, wanted: (event: HeardEvent) => boolean, withinMs?: number): Promise<HeardEvent> {
    const before = this.heard.length;
    try {
      return await waitFor(() => this.heard.find(wanted), { withinMs, what: `the event ${what}` });
    } catch (error) {
      throw new Error(`${(error as Error).message}; ${this.#story(before)}`, { cause: error });
    }
  }

  /** Resolves when it has heard so many of the brain. */
  async count(brain: string, name: string, wanted: number): Promise<readonly HeardEvent[]> {
    await this.until(`number ${wanted} of ${name}`, () => this.of(brain, name).length >= wanted);
    return this.of(brain, name);
  }

  /** What became of it since it had heard so many events. */
  #story(before: number): string {
    const names = Map.groupBy(this.heard.slice(before), ({ name }) => name);
    const heard = [...names].map(([name, events]) => `${events.length} ${name}`).join(', ');
    const state = this.connected ? 'connected' : `disconnected (${this.disconnects.join(', ')})`;
    const told = this.errors.map(({ code }) => code).join(', ');
    return `heard meanwhile: ${heard || 'nothing'}; ${before} before; ${state}; errors: ${told || 'none'}`;
  }

  get connected(): boolean {
    return this.#socket.connected;
  }

  /** Drops the connection without a goodbye. */
  cut(): void {
    this.#socket.io.engine.close();
  }

  close(): void {
    this.#socket.close();
  }
}
