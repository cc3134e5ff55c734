/** The bus of a cluster, over NATS core: at most once, no storage. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  AuthorizationError,
  connect,
  createInbox,
  headers,
  type Msg,
  type NatsConnection,
  type NodeConnectionOptions,
  PermissionViolationError,
  type Subscription as NatsSubscription,
} from '@nats-io/transport-node';
import type { Logger } from 'pino';
import { type Bus, BusError, MAX_PAYLOAD_BYTES, type RespondOptions, type Subscription } from './bus.ts';
import { assertFits, exceeds, replyTooLarge } from './bus-payload.ts';
import { PendingCalls } from './bus-pending.ts';
import { assertPattern, assertSubject } from './bus-subject.ts';
import { type Clock, systemClock } from './clock.ts';
import { IdleGate } from './idle-gate.ts';
import { addressOf, reasonOf, type StartPatience, StartProblem } from './start-problem.ts';

/** A NATS that could be reached and does not take us for who we are. */
export class NatsRefused extends StartProblem {}

export interface NatsBusOptions extends StartPatience {
  /** Servers of one NATS cluster; the first one's user and password (or token) count for all. */
  readonly urls: readonly string[];
  /** Shown in the server's list of connections. */
  readonly name: string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Where replies come in; a user with permissions of its own needs its own. */
  readonly inboxPrefix?: string;
  readonly clock?: Clock;
}

const NO_RESPONDERS = 503;
const REPLY_TOO_LARGE = 413;
const NATS_PORT = '4222';
const FIRST_CONNECT_RETRY_MS = 250;
/** While a start waits, it says so this often. */
const TELL_EVERY_MS = 5000;
const FLUSH_RETRY_MS = 100;
const CONNECT_TIMEOUT_MS = 20_000;

type Receive = (message: Msg) => void | Promise<void>;

/**
 * Connects, waiting for a server that is not there yet. Throws NatsRefused when the server refuses who we are, StartProblem
 * when it does not come in time.
 */
export async function connectNatsBus(options: NatsBusOptions): Promise<Bus> {
  const { log, giveUpAt = Number.POSITIVE_INFINITY } = options;
  const address = options.urls.map((url) => addressOf(url, NATS_PORT)).join(', ');
  let toldAt = 0;
  for (;;) {
    try {
      return await connectOnce(options, address, giveUpAt);
    } catch (error) {
      if (error instanceof StartProblem) throw error;
      const now = Date.now();
      if (now + FIRST_CONNECT_RETRY_MS >= giveUpAt) {
        throw new StartProblem(`NATS at ${address} cannot be reached: ${reasonOf(error)} (NATS_URL)`);
      }
      if (now - toldAt >= TELL_EVERY_MS) {
        log.warn({ err: error }, `NATS at ${address} cannot be reached yet`);
        toldAt = now;
      }
      await delay(FIRST_CONNECT_RETRY_MS);
    }
  }
}

async function connectOnce(options: NatsBusOptions, address: string, giveUpAt: number): Promise<Bus> {
  const { urls, name, inboxPrefix } = options;
  const timeout = Math.max(FIRST_CONNECT_RETRY_MS, Math.min(CONNECT_TIMEOUT_MS, giveUpAt - Date.now()));
  try {
    const bus = new NatsBus(await connect({ ...connectionOptions(urls, name, inboxPrefix), timeout }), options);
    await bus.start();
    return bus;
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    throw new NatsRefused(`NATS at ${address} refuses the credential in NATS_URL: ${error.message}`);
  }
}

function connectionOptions(
  urls: readonly string[],
  name: string,
  inboxPrefix: string | undefined,
): NodeConnectionOptions {
  const parsed = urls.map((url) => new URL(url));
  const user = decodeURIComponent(parsed[0]?.username ?? '');
  const pass = decodeURIComponent(parsed[0]?.password ?? '');
  return {
    servers: parsed.map(({ host }) => host),
    name,
    ...(pass === '' ? (user === '' ? {} : { token: user }) : { user, pass }),
    ...(parsed.some(({ protocol }) => protocol === 'tls:') ? { tls: {} } : {}),
    ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
    // Stack traces for errors that never happen cost a fifth of the throughput.
    noAsyncTraces: true,
    pingInterval: 5000,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
  };
}

class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #log: NatsBusOptions['log'];
  readonly #pending: PendingCalls;
  readonly #inbox: string;
  readonly #drains = new Set<() => Promise<void>>();
  readonly #listeners = new Set<(connected: boolean) => void>();
  #serverMaxBytes = MAX_PAYLOAD_BYTES;
  #connected = true;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(connection: NatsConnection, { log, inboxPrefix, clock = systemClock }: NatsBusOptions) {
    this.#connection = connection;
    this.#log = log;
    this.#pending = new PendingCalls(clock);
    this.#inbox = `${createInbox(inboxPrefix)}.`;
  }

  get maxPayloadBytes(): number {
    return Math.min(MAX_PAYLOAD_BYTES, this.#serverMaxBytes);
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Opens the one reply subscription and follows the connection's state. */
  async start(): Promise<void> {
    this.#readLimit();
    void this.#followStatus();
    let refused: Error | null = null;
    this.#connection.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => {
        refused ??= error;
        this.#onReply(error, message);
      },
    });
    await this.#flush();
    this.#assertAllowed(this.#inbox, refused);
  }

  async request(subject: string, payload: string, { deadlineAt }: { readonly deadlineAt: number }): Promise<string> {
    this.#assertSendable(subject, payload);
    return this.#pending.open(subject, deadlineAt, (id) => {
      this.#connection.publish(subject, payload, { reply: `${this.#inbox}${id}` });
    });
  }

  publish(subject: string, payload: string): void {
    this.#assertSendable(subject, payload);
    this.#connection.publish(subject, payload);
  }

  respond(
    subject: string,
    handler: (payload: string, subject: string) => Promise<string>,
    options: RespondOptions = {},
  ): Promise<Subscription> {
    return this.#add(subject, options, async (message) => {
      const to = message.reply;
      if (to === undefined || to === '') return;
      const reply = await handler(textOf(message), message.subject);
      if (exceeds(reply, this.maxPayloadBytes)) {
        this.#connection.publish(to, '', { headers: headers(REPLY_TOO_LARGE, 'Reply Too Large') });
      } else {
        this.#connection.publish(to, reply);
      }
    });
  }

  subscribe(
    subject: string,
    handler: (payload: string, subject: string) => void,
    options: RespondOptions = {},
  ): Promise<Subscription> {
    return this.#add(subject, options, (message) => handler(textOf(message), message.subject));
  }

  onConnection(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    await Promise.all([...this.#drains].map((drain) => drain()));
    await this.#pending.idle();
    this.#state = 'closed';
    if (this.#connected) await this.#connection.flush().catch(() => {});
    this.#connected = false;
    await this.#connection.close();
  }

  async #add(pattern: string, { queue }: RespondOptions, receive: Receive): Promise<Subscription> {
    if (this.#state !== 'open') throw new BusError('CLOSED', 'the bus is closed');
    assertPattern(pattern);
    const handling = new IdleGate();
    let refused: Error | null = null;
    const subscription = this.#connection.subscribe(pattern, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error === null) void this.#handle(handling, receive, message);
        else {
          refused = error;
          this.#log.error({ err: error, subject: pattern }, 'a NATS subscription failed');
        }
      },
    });
    const drain = async () => {
      this.#drains.delete(drain);
      await drainSubscription(subscription);
      await handling.idle();
    };
    this.#drains.add(drain);
    await this.#flush();
    this.#assertAllowed(pattern, refused);
    return { drain };
  }

  /** The server says no before it answers the flush. */
  #assertAllowed(subject: string, refused: Error | null): void {
    if (!(refused instanceof PermissionViolationError)) return;
    const server = this.#connection.getServer();
    throw new NatsRefused(
      `NATS at ${server} does not let this service listen on ${subject}: NATS_URL has the credential of another one`,
    );
  }

  async #handle(handling: IdleGate, receive: Receive, message: Msg): Promise<void> {
    handling.enter();
    try {
      await receive(message);
    } catch (error) {
      this.#log.error({ err: error, subject: message.subject }, 'a bus handler threw');
    }
    handling.leave();
  }

  #onReply(error: Error | null, message: Msg): void {
    if (error !== null) {
      this.#log.error({ err: error }, 'the NATS reply subscription failed');
      return;
    }
    const id = Number(message.subject.slice(this.#inbox.length));
    const status = message.headers?.code;
    if (status === NO_RESPONDERS) {
      this.#pending.reject(id, (subject) => new BusError('NO_RESPONDERS', `nobody answers ${subject}`));
    } else if (status === REPLY_TOO_LARGE) {
      this.#pending.reject(id, replyTooLarge);
    } else {
      this.#pending.resolve(id, textOf(message));
    }
  }

  #assertSendable(subject: string, payload: string): void {
    if (this.#state === 'closed') throw new BusError('CLOSED', 'the bus is closed');
    if (!this.#connected) throw new BusError('NOT_CONNECTED', `no connection to NATS, ${subject} was not asked`);
    assertSubject(subject);
    assertFits(payload, this.maxPayloadBytes, subject);
  }

  async #followStatus(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') this.#onDisconnect();
      else if (status.type === 'reconnect') this.#onReconnect();
      else if (status.type === 'error') this.#log.warn({ err: status.error }, 'NATS reports an error');
    }
    if (this.#state === 'closed') return;
    this.#log.error('the connection to NATS is closed for good');
    this.#onDisconnect();
  }

  #onDisconnect(): void {
    if (!this.#connected) return;
    this.#connected = false;
    this.#log.warn('the connection to NATS is lost');
    this.#pending.rejectAll(
      (subject) => new BusError('DISCONNECTED', `the connection was lost while ${subject} was asked`),
    );
    for (const listener of this.#listeners) listener(false);
  }

  #onReconnect(): void {
    this.#readLimit();
    this.#connected = true;
    this.#log.info('connected to NATS again');
    for (const listener of this.#listeners) listener(true);
  }

  #readLimit(): void {
    this.#serverMaxBytes = this.#connection.info?.max_payload ?? MAX_PAYLOAD_BYTES;
  }

  /** Resolves when the server has taken all that was sent before; after a lost connection, when it has it again. */
  async #flush(): Promise<void> {
    for (;;) {
      try {
        await this.#connection.flush();
        return;
      } catch {
        if (this.#connection.isClosed()) throw new BusError('CLOSED', 'the bus is closed');
        await delay(FLUSH_RETRY_MS);
      }
    }
  }
}

/** Not `message.string()`: that drops a leading byte order mark and is slower. */
function textOf({ data }: Msg): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
}

async function drainSubscription(subscription: NatsSubscription): Promise<void> {
  // A subscription that is closed already has nothing left to deliver.
  if (!subscription.isClosed()) await subscription.drain();
}
