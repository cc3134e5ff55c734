/** One connection to NATS as a bus. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  AuthorizationError,
  createInbox,
  headers,
  type Msg,
  type NatsConnection,
  PermissionViolationError,
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
import { createFailureReport } from './failures.ts';
import { IdleGate } from './idle-gate.ts';
import type { Absence } from './bus.nats.absence.ts';
import { Listening } from './bus.nats.listening.ts';
import { RepeatedTrouble, troubleOf } from './repeated-trouble.ts';
import type { StartPatience } from './start-problem.ts';
import type { Logger } from 'pino';

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
  /** Of who waits for the server beside its work, and not at a start: it tells of it by this one. */
  readonly trouble?: RepeatedTrouble;
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
  readonly #listening: Listening;
  readonly #trouble = new RepeatedTrouble();
  readonly #report: ReturnType<typeof createFailureReport>;
  readonly #absence: Absence;
  #serverMaxBytes = MAX_PAYLOAD_BYTES;
  #connected = true;
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor(
    connection: NatsConnection,
    absence: Absence,
    { log, inboxPrefix, member, deployment, clock = systemClock }: NatsBusOptions,
  ) {
    this.#connection = connection;
    this.#absence = absence;
    this.#log = log;
    this.#report = createFailureReport(log, 'a bus handler threw');
    this.#pending = new PendingCalls(clock);
    this.#inbox = `${createInbox(inboxPrefix)}.`;
    this.#space = spaceOf(deployment);
    this.#listening = new Listening({ connection, log, flush: () => this.#flush() });
    const presence = {
      connection,
      listening: this.#listening,
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

  get isDeaf(): boolean {
    return !this.#listening.isWhole;
  }

  sinceGivenUpMs(repeatable: boolean): number {
    return this.#presence?.sinceGivenUpMs(repeatable) ?? Infinity;
  }

  /** Opens the one reply subscription and follows the connection's state. */
  async start(): Promise<void> {
    this.#readLimit();
    void this.#followStatus();
    await this.#listening.open({ subject: `${this.#inbox}*`, receive: (message) => this.#onReply(message) });
    if (this.#presence === null) return;
    await this.#listening.open({
      subject: this.#outer(ALL_BEATS),
      receive: (message) => this.#members.heard(textOf(message), this.#inner(message.subject)),
    });
    await this.#presence.start();
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
    this.#absence.end();
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
    const handler = presence === null ? receive : awake(presence, receive);
    const answer = (message: Msg, actual: string): void => void this.#handle(handling, handler, message, actual);
    const ear = await this.#listening.open({
      subject: this.#outer(pattern),
      queue,
      // Not declined, however late: who asks the whole group sends it nowhere else meanwhile.
      receive: (message) => answer(message, this.#inner(message.subject)),
    });
    const drain = async () => {
      this.#drains.delete(drain);
      presence?.remove(answer);
      await ear.drain();
      await handling.idle();
    };
    this.#drains.add(drain);
    presence?.add(pattern, answer);
    return { drain };
  }

  async #handle(handling: IdleGate, receive: Receive, message: Msg, subject: string): Promise<void> {
    handling.enter();
    try {
      await receive(message, subject);
    } catch (error) {
      this.#report(error, { subject });
    }
    handling.leave();
  }

  #onReply(message: Msg): void {
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
    this.#tell(error);
    if (!(error instanceof PermissionViolationError)) return;
    if (error.operation === 'subscription') this.#listening.taken(error);
    if (error.operation !== 'publish') return;
    // Not addressed to one process, it may pass: whoever is allowed to ask the group is to be heard.
    const subject = withoutAddress(this.#inner(error.subject));
    if (subject === null) return;
    this.#members.neverAddress(subject);
    this.#pending.rejectSentTo(subject, () => new BusError('NO_RESPONDERS', `${error.subject} may not be asked`));
  }

  /** A connection that is refused is tried again several times a second. */
  #tell(error: Error): void {
    if (!this.#trouble.isDue(troubleOf(error))) return;
    if (error instanceof AuthorizationError) {
      const server = this.#connection.getServer();
      this.#log.warn(`NATS at ${server} refuses the credential: ${error.message}; it is asked again until it takes it`);
    } else this.#log.warn({ err: error }, 'NATS reports an error');
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
    if (!this.#connection.isClosed()) this.#absence.begin();
    this.#pending.rejectAll(
      (subject) => new BusError('DISCONNECTED', `the connection was lost while ${subject} was asked`),
    );
    for (const listener of this.#listeners) listener(false);
  }

  /** The client says it once for each time that it was turned away before. */
  #onReconnect(): void {
    if (this.#connected) return;
    this.#absence.end();
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

/** Whoever asked a whole group waits for this process alone, so that what came while it stood still is not late. */
function awake(presence: Presence, receive: Receive): Receive {
  return (message, subject) =>
    presence.wasGivenUp ? presence.wake().then(() => receive(message, subject)) : receive(message, subject);
}

/** Not `message.string()`: that drops a leading byte order mark and is slower. */
function textOf({ data }: Msg): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
}
