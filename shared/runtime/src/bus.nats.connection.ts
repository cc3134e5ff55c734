/** One connection to NATS as a bus. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  createInbox,
  headers,
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  type Subscription as NatsSubscription,
} from '@nats-io/transport-node';
import {
  type Bus,
  BusError,
  MAX_PAYLOAD_BYTES,
  type RequestOptions,
  type RespondOptions,
  type Subscription,
} from './bus.ts';
import { addressOfMember, ALL_BEATS, type Member, Members, withoutAddress } from './bus.members.ts';
import { assertFits, exceeds, replyTooLarge } from './bus-payload.ts';
import { PendingCalls } from './bus-pending.ts';
import { Presence } from './bus.presence.ts';
import { assertPattern, assertSubject, BETWEEN_DEPLOYMENTS, spaceOf } from './bus-subject.ts';
import { type Clock, systemClock } from './clock.ts';
import { IdleGate } from './idle-gate.ts';
import { type StartPatience, StartProblem } from './start-problem.ts';
import type { Logger } from 'pino';

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
  /** Which process of which service this is; absent = it only asks, and follows nobody's life. */
  readonly member?: Member;
  /** Name of the deployment, when others may be on the same server: what it says within itself none of them hears. */
  readonly deployment?: string | undefined;
  readonly clock?: Clock;
}

const NO_RESPONDERS = 503;
const REPLY_TOO_LARGE = 413;
const FLUSH_RETRY_MS = 100;

type Receive = (message: Msg, subject: string) => void | Promise<void>;

export class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #log: NatsBusOptions['log'];
  readonly #pending: PendingCalls;
  readonly #inbox: string;
  readonly #space: string;
  readonly #drains = new Set<() => Promise<void>>();
  readonly #listeners = new Set<(connected: boolean) => void>();
  readonly #members = new Members();
  readonly #presence: Presence | null;
  #serverMaxBytes = MAX_PAYLOAD_BYTES;
  #connected = true;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(
    connection: NatsConnection,
    { log, inboxPrefix, member, deployment, clock = systemClock }: NatsBusOptions,
  ) {
    this.#connection = connection;
    this.#log = log;
    this.#pending = new PendingCalls(clock);
    this.#inbox = `${createInbox(inboxPrefix)}.`;
    this.#space = spaceOf(deployment);
    const presence = {
      connection,
      space: this.#space,
      isConnected: () => this.#connected,
      flush: () => connection.flush(),
      onBeat: () => this.#giveUpSilent(),
    };
    this.#presence = member === undefined ? null : new Presence({ ...presence, member });
  }

  get maxPayloadBytes(): number {
    return Math.min(MAX_PAYLOAD_BYTES, this.#serverMaxBytes);
  }

  get connected(): boolean {
    return this.#connected;
  }

  sinceGivenUpMs(repeatable: boolean): number {
    return this.#presence?.sinceGivenUpMs(repeatable) ?? Infinity;
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
    if (this.#presence !== null) {
      this.#connection.subscribe(this.#outer(ALL_BEATS), {
        callback: (error, message) => {
          refused ??= error;
          if (error === null) this.#members.heard(textOf(message), this.#inner(message.subject));
        },
      });
      this.#presence.start();
    }
    await this.#flush();
    this.#assertAllowed(this.#inbox, refused);
  }

  async request(subject: string, payload: string, options: RequestOptions): Promise<string> {
    for (;;) {
      this.#assertSendable(subject, payload);
      const member = this.#members.choose(subject);
      const to = this.#outer(member === null ? subject : addressOfMember(member) + subject);
      try {
        return await this.#pending.open({ ...options, subject, holder: member?.process }, (id) => {
          this.#connection.publish(to, payload, { reply: `${this.#inbox}${id}` });
        });
      } catch (error) {
        if (member === null || !(error instanceof BusError) || error.code !== 'NO_RESPONDERS') throw error;
        this.#members.declined(member.process);
      }
    }
  }

  publish(subject: string, payload: string): void {
    this.#assertSendable(subject, payload);
    this.#connection.publish(this.#outer(subject), payload);
  }

  respond(
    subject: string,
    handler: (payload: string, subject: string) => Promise<string | null>,
    options: RespondOptions = {},
  ): Promise<Subscription> {
    const receive: Receive = async (message, actual) => {
      const to = message.reply;
      if (to === undefined || to === '') return;
      const reply = await handler(textOf(message), actual);
      if (reply === null) return;
      if (exceeds(reply, this.maxPayloadBytes)) {
        this.#connection.publish(to, '', { headers: headers(REPLY_TOO_LARGE, 'Reply Too Large') });
      } else {
        this.#connection.publish(to, reply);
      }
    };
    return this.#add(subject, options, receive, options.queue === undefined ? null : this.#presence);
  }

  subscribe(
    subject: string,
    handler: (payload: string, subject: string) => void,
    options: RespondOptions = {},
  ): Promise<Subscription> {
    return this.#add(subject, options, (message, actual) => handler(textOf(message), actual), null);
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
    this.#presence?.stop();
    this.#state = 'closed';
    if (this.#connected) await this.#connection.flush().catch(() => {});
    this.#connected = false;
    await this.#connection.close();
  }

  /** `presence`: of a responder that shares the work of a group, so that others may choose this process for it. */
  async #add(
    pattern: string,
    { queue }: RespondOptions,
    receive: Receive,
    presence: Presence | null,
  ): Promise<Subscription> {
    if (this.#state !== 'open') throw new BusError('CLOSED', 'the bus is closed');
    assertPattern(pattern);
    const handling = new IdleGate();
    const answer = (message: Msg, actual: string): void => void this.#handle(handling, receive, message, actual);
    let refused: Error | null = null;
    const subscription = this.#connection.subscribe(this.#outer(pattern), {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        // Not declined, however late: who asks the whole group sends it nowhere else meanwhile.
        if (error === null) answer(message, this.#inner(message.subject));
        else {
          refused = error;
          this.#log.error({ err: error, subject: pattern }, 'a NATS subscription failed');
        }
      },
    });
    const drain = async () => {
      this.#drains.delete(drain);
      presence?.remove(answer);
      await drainSubscription(subscription);
      await handling.idle();
    };
    this.#drains.add(drain);
    await this.#flush();
    this.#assertAllowed(pattern, refused);
    presence?.add(pattern, answer);
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

  async #handle(handling: IdleGate, receive: Receive, message: Msg, subject: string): Promise<void> {
    handling.enter();
    try {
      await receive(message, subject);
    } catch (error) {
      this.#log.error({ err: error, subject }, 'a bus handler threw');
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

  #giveUpSilent(): void {
    const { silent, lost } = this.#members.tick();
    for (const process of silent) {
      this.#log.warn({ process }, 'a process shows no sign of life, and gets no more work');
      this.#pending.rejectHeldBy(process, false);
    }
    for (const process of lost) this.#pending.rejectHeldBy(process, true);
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
      else if (status.type === 'error') this.#onError(status.error);
    }
    if (this.#state === 'closed') return;
    this.#log.error('the connection to NATS is closed for good');
    this.#onDisconnect();
  }

  #onError(error: Error): void {
    this.#log.warn({ err: error }, 'NATS reports an error');
    if (!(error instanceof PermissionViolationError) || error.operation !== 'publish') return;
    // Not addressed to one process, it may pass: whoever is allowed to ask the group is to be heard.
    const subject = withoutAddress(this.#inner(error.subject));
    if (subject === null) return;
    this.#members.neverAddress(subject);
    this.#pending.rejectSentTo(subject, () => new BusError('NO_RESPONDERS', `${error.subject} may not be asked`));
  }

  #outer(subject: string): string {
    return subject.startsWith(BETWEEN_DEPLOYMENTS) ? subject : this.#space + subject;
  }

  #inner(subject: string): string {
    return subject.startsWith(this.#space) ? subject.slice(this.#space.length) : subject;
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
