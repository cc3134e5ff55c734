/** The bus inside one process. It does what NATS does, limits included, so that what works here works on a cluster. */
import type { Logger } from 'pino';
import {
  type Bus,
  BusError,
  MAX_PAYLOAD_BYTES,
  type RequestOptions,
  type RespondOptions,
  type Subscription,
} from './bus.ts';
import { assertFits, exceeds, replyTooLarge } from './bus-payload.ts';
import { PendingCalls } from './bus-pending.ts';
import { assertPattern, assertSubject, matchesPattern } from './bus-subject.ts';
import { type Clock, systemClock } from './clock.ts';
import { createFailureReport } from './failures.ts';
import { IdleGate } from './idle-gate.ts';

interface LocalBusOptions {
  readonly maxPayloadBytes?: number;
  readonly clock?: Clock;
  /** Hears of handlers that throw; without one they become process warnings. */
  readonly log?: Pick<Logger, 'error'>;
}

/** Subjects whose receivers are remembered; beyond it the memory starts anew. */
const MAX_ROUTES = 10_000;
/** Call id of a message that wants no reply. */
const NO_REPLY = 0;

type Receive = (payload: string, subject: string, callId: number) => void | Promise<void>;

interface Receiver {
  readonly pattern: string;
  readonly queue: string | undefined;
  readonly receive: Receive;
  /** Deliveries queued or being handled. */
  readonly deliveries: IdleGate;
}

/** Who hears a subject: each of `all`, and one of each group in turn. */
interface Route {
  readonly all: readonly Receiver[];
  readonly groups: readonly { readonly members: readonly Receiver[]; turn: number }[];
}

interface Delivery {
  readonly receiver: Receiver;
  readonly payload: string;
  readonly subject: string;
  readonly callId: number;
}

export function createLocalBus(options: LocalBusOptions = {}): Bus {
  return new LocalBus(options);
}

class LocalBus implements Bus {
  readonly maxPayloadBytes: number;
  /** Absent where nobody reads a log. */
  readonly #report: ReturnType<typeof createFailureReport> | undefined;
  readonly #pending: PendingCalls;
  readonly #receivers = new Set<Receiver>();
  readonly #routes = new Map<string, Route>();
  #queue: Delivery[] = [];
  #state: 'open' | 'closing' | 'closed' = 'open';

  constructor({ maxPayloadBytes = MAX_PAYLOAD_BYTES, clock = systemClock, log }: LocalBusOptions) {
    this.maxPayloadBytes = maxPayloadBytes;
    this.#report = log === undefined ? undefined : createFailureReport(log, 'a bus handler threw');
    this.#pending = new PendingCalls(clock);
  }

  /** Nobody else is there to give it up. */
  sinceGivenUpMs(): number {
    return Infinity;
  }

  get connected(): boolean {
    return this.#state !== 'closed';
  }

  get isDeaf(): boolean {
    return false;
  }

  request(subject: string, payload: string, { deadlineAt }: RequestOptions): Promise<string> {
    return this.#pending.open({ subject, deadlineAt }, (callId) => {
      const route = this.#routeFor(subject, payload);
      if (route.all.length === 0 && route.groups.length === 0) {
        throw new BusError('NO_RESPONDERS', `nobody answers ${subject}`);
      }
      this.#deliver(route, subject, payload, callId);
    });
  }

  publish(subject: string, payload: string): void {
    this.#deliver(this.#routeFor(subject, payload), subject, payload, NO_REPLY);
  }

  async respond(
    subject: string,
    handler: (payload: string, subject: string) => Promise<string | null>,
    options: RespondOptions = {},
  ): Promise<Subscription> {
    return this.#add(subject, options, async (payload, actualSubject, callId) => {
      if (callId === NO_REPLY) return;
      const reply = await handler(payload, actualSubject);
      if (reply === null) return;
      if (exceeds(reply, this.maxPayloadBytes)) this.#pending.reject(callId, replyTooLarge);
      else this.#pending.resolve(callId, reply.toWellFormed());
    });
  }

  async subscribe(
    subject: string,
    handler: (payload: string, subject: string) => void,
    options: RespondOptions = {},
  ): Promise<Subscription> {
    return this.#add(subject, options, handler);
  }

  /** A local bus never loses its connection. */
  onConnection(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closing';
    await Promise.all([...this.#receivers].map((receiver) => this.#drain(receiver)));
    await this.#pending.idle();
    this.#state = 'closed';
  }

  #add(pattern: string, { queue }: RespondOptions, receive: Receive): Subscription {
    if (this.#state !== 'open') throw new BusError('CLOSED', 'the bus is closed');
    assertPattern(pattern);
    const receiver: Receiver = { pattern, queue, receive, deliveries: new IdleGate() };
    this.#receivers.add(receiver);
    this.#routes.clear();
    return { drain: () => this.#drain(receiver) };
  }

  async #drain(receiver: Receiver): Promise<void> {
    this.#receivers.delete(receiver);
    this.#routes.clear();
    await receiver.deliveries.idle();
  }

  #routeFor(subject: string, payload: string): Route {
    if (this.#state === 'closed') throw new BusError('CLOSED', 'the bus is closed');
    assertFits(payload, this.maxPayloadBytes, subject);
    const known = this.#routes.get(subject);
    if (known !== undefined) return known;
    assertSubject(subject);
    const matching = [...this.#receivers].filter(({ pattern }) => matchesPattern(pattern, subject));
    const groups = Map.groupBy(
      matching.filter(({ queue }) => queue !== undefined),
      ({ queue }) => queue,
    );
    const route: Route = {
      all: matching.filter(({ queue }) => queue === undefined),
      groups: [...groups.values()].map((members) => ({ members, turn: 0 })),
    };
    if (this.#routes.size >= MAX_ROUTES) this.#routes.clear();
    this.#routes.set(subject, route);
    return route;
  }

  #deliver(route: Route, subject: string, payload: string, callId: number): void {
    const text = payload.toWellFormed();
    for (const receiver of route.all) this.#enqueue({ receiver, payload: text, subject, callId });
    for (const group of route.groups) {
      const receiver = group.members[group.turn % group.members.length];
      group.turn += 1;
      if (receiver !== undefined) this.#enqueue({ receiver, payload: text, subject, callId });
    }
  }

  /** One batch per turn of the event loop: keeps the order, never runs a handler in the sender's stack, starves no I/O. */
  #enqueue(delivery: Delivery): void {
    delivery.receiver.deliveries.enter();
    this.#queue.push(delivery);
    if (this.#queue.length === 1) {
      setImmediate(() => {
        const batch = this.#queue;
        this.#queue = [];
        for (const each of batch) void this.#handle(each);
      });
    }
  }

  async #handle({ receiver, payload, subject, callId }: Delivery): Promise<void> {
    try {
      await receiver.receive(payload, subject, callId);
    } catch (error) {
      if (this.#report === undefined) process.emitWarning(error instanceof Error ? error : String(error));
      else this.#report(error, { subject });
    }
    receiver.deliveries.leave();
  }
}
