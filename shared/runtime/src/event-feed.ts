/**
 * Every event of every service, each once and in order, although the bus may lose, repeat or reorder its messages:
 * positions count without gaps, so what is missing is seen and asked for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Announcement,
  type EventBatch,
  type EventPage,
  type EventsAfter,
  SUBJECTS,
} from '@svc/contract/discovery.ts';
import type { PositionedEvent } from '@svc/contract/events.ts';
import type { Subscription } from './bus.ts';
import type { StatelessPlatform } from './platform.ts';
import { RepeatedTrouble, troubleOf } from './repeated-trouble.ts';

/** Hands out events of one service in order; the next ones wait until it resolves. */
export type Deliver = (service: string, events: readonly PositionedEvent[]) => Promise<void>;

export interface EventFeed {
  /** Position of the last event of each service that was handed out. */
  positions(): ReadonlyMap<string, number>;
  /** A page of what a service keeps. Throws BusError. */
  page(service: string, after: EventsAfter): Promise<EventPage>;
  close(): Promise<void>;
}

interface FeedOptions {
  readonly platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>;
  readonly deliver: Deliver;
  /** Events that a service no longer keeps. */
  readonly onLost: (service: string, count: number) => void;
  /** The service counts from an earlier position on again: its database is an older copy. What comes next follows `position`. */
  readonly onSetBack?: (service: string, position: number) => void;
  /** After which position a service is followed, whose newest event has position `head`; absent = after that. */
  readonly startAfter?: (service: string, head: number) => Promise<number>;
  /** Services that are followed from the start, heard of or not. */
  readonly known?: readonly string[];
  /** How long events wait for others, to be handed out together. */
  readonly gatherMs?: number;
}

const PAGE_WITHIN_MS = 5000;
const PAGE_SIZE = 500;
/** More than this is not kept in memory while a gap is filled; it is asked for again. */
const MAX_WAITING = 5000;
const RETRY_MS = 250;

interface Stream {
  readonly service: string;
  position: number;
  /** Where the service is, as far as was heard. */
  head: number;
  waiting: PositionedEvent[];
  running: boolean;
  /** It is asked whether it was set back. */
  isDoubted: boolean;
}

export async function startEventFeed(options: FeedOptions): Promise<EventFeed> {
  const feed = new Feed(options);
  await feed.listen();
  return feed;
}

/** A page of what a service keeps. Throws BusError. */
export async function readEventPage(
  { bus, clock }: Pick<StatelessPlatform, 'bus' | 'clock'>,
  service: string,
  after: EventsAfter,
): Promise<EventPage> {
  const options = { deadlineAt: clock.now() + PAGE_WITHIN_MS, isRepeatable: true };
  return JSON.parse(await bus.request(SUBJECTS.eventsAfter(service), JSON.stringify(after), options)) as EventPage;
}

/** Beyond the newest event: asks a service where it stands. */
const AT_HEAD = { position: Number.MAX_SAFE_INTEGER, limit: 1 } as const satisfies EventsAfter;

class Feed implements EventFeed {
  readonly #options: FeedOptions;
  readonly #streams = new Map<string, Stream>();
  readonly #asked = new Set<string>();
  readonly #trouble = new RepeatedTrouble();
  #subscriptions: Subscription[] = [];
  #closed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  async listen(): Promise<void> {
    const { bus } = this.#options.platform;
    this.#subscriptions = [
      await bus.subscribe(SUBJECTS.allEvents, (text) => this.#onBatch(JSON.parse(text) as EventBatch)),
      await bus.subscribe(SUBJECTS.announce, (text) => this.#learn((JSON.parse(text) as Announcement).service)),
    ];
    for (const service of this.#options.known ?? []) this.#learn(service);
  }

  positions(): ReadonlyMap<string, number> {
    return new Map([...this.#streams.values()].map(({ service, position }) => [service, position]));
  }

  page(service: string, after: EventsAfter): Promise<EventPage> {
    return readEventPage(this.#options.platform, service, after);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#subscriptions.map((subscription) => subscription.drain()));
  }

  #begin(service: string, position: number, head = position): Stream {
    const stream: Stream = { service, position, head, waiting: [], running: false, isDoubted: false };
    this.#streams.set(service, stream);
    return stream;
  }

  #onBatch({ service, head, events }: EventBatch): void {
    const stream = this.#streams.get(service) ?? this.#beginAt(service, events[0]?.position, head);
    if (stream === null) return;
    stream.head = Math.max(stream.head, head, events.at(-1)?.position ?? 0);
    if (stream.waiting.length < MAX_WAITING) stream.waiting.push(...events);
    if (head < stream.position && !stream.isDoubted) void this.#doubt(stream);
    if (stream.position < stream.head) this.#run(stream);
  }

  /** A head that lies behind is mostly a message that came late. */
  async #doubt(stream: Stream): Promise<void> {
    const { service, position } = stream;
    stream.isDoubted = true;
    try {
      const answer = await this.page(service, AT_HEAD);
      // Read after the event at that position was handed out, so it was there.
      if ('head' in answer && answer.head < position) await this.#setBack(stream, answer.head);
    } catch (error) {
      this.#options.platform.log.debug({ err: error, service }, 'a service does not say where its events stand');
    }
    stream.isDoubted = false;
  }

  async #setBack(stream: Stream, head: number): Promise<void> {
    const { platform, startAfter, onSetBack } = this.#options;
    const { service } = stream;
    platform.log.warn(
      { service, was: stream.position, head },
      'events are counted from an earlier one on again: their database was set back',
    );
    const start = await startAfter?.(service, head);
    stream.waiting = stream.waiting.filter(({ position }) => position <= head);
    stream.position = start ?? Math.min(head, ...stream.waiting.map(({ position }) => position - 1));
    stream.head = head;
    onSetBack?.(service, stream.position);
    if (stream.position < stream.head) this.#run(stream);
  }

  /** Null = where it is followed from has to be asked; what was told meanwhile is read then. */
  #beginAt(service: string, first: number | undefined, head: number): Stream | null {
    if (this.#options.startAfter === undefined) return this.#begin(service, first === undefined ? head : first - 1);
    this.#learn(service);
    return null;
  }

  #learn(service: string): void {
    if (this.#closed || this.#streams.has(service) || this.#asked.has(service)) return;
    this.#asked.add(service);
    void this.#startOf(service).then(
      ({ position, head }) => {
        const stream = this.#streams.get(service) ?? this.#begin(service, position, head);
        if (stream.position < stream.head) this.#run(stream);
      },
      (error: unknown) => {
        this.#asked.delete(service);
        this.#options.platform.log.debug({ err: error, service }, 'a service does not say where its events stand');
      },
    );
  }

  async #startOf(service: string): Promise<Pick<Stream, 'position' | 'head'>> {
    const answer = await this.page(service, AT_HEAD);
    const head = 'head' in answer ? answer.head : 0;
    return { head, position: (await this.#options.startAfter?.(service, head)) ?? head };
  }

  #run(stream: Stream): void {
    if (stream.running || this.#closed) return;
    stream.running = true;
    void this.#advance(stream).finally(() => {
      stream.running = false;
    });
  }

  async #advance(stream: Stream): Promise<void> {
    const { gatherMs = 0 } = this.#options;
    while (!this.#closed && stream.position < stream.head) {
      if (gatherMs > 0 && stream.head - stream.position < PAGE_SIZE) await sleep(gatherMs, undefined, { ref: false });
      const next = takeNext(stream);
      try {
        await this.#handOut(stream, next.length > 0 ? next : await this.#missing(stream));
      } catch (error) {
        const { log } = this.#options.platform;
        if (this.#trouble.isDue(`${stream.service} ${troubleOf(error)}`)) {
          log.warn({ err: error, service: stream.service }, 'events could not be read or judged yet');
        }
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  /** What the service still has after the last position; where it has nothing, events were lost for good. */
  async #missing(stream: Stream): Promise<readonly PositionedEvent[]> {
    const answer = await this.page(stream.service, { position: stream.position, limit: PAGE_SIZE });
    const events = 'events' in answer ? answer.events : [];
    const goesOnAt = events[0]?.position ?? stream.head + 1;
    if (goesOnAt > stream.position + 1) this.#options.onLost(stream.service, goesOnAt - stream.position - 1);
    if (events.length === 0) stream.position = stream.head;
    return events;
  }

  async #handOut(stream: Stream, events: readonly PositionedEvent[]): Promise<void> {
    const last = events.at(-1);
    if (last === undefined) return;
    await this.#options.deliver(stream.service, events);
    stream.position = last.position;
  }
}

/** The waiting events that follow the position without a gap. */
function takeNext(stream: Stream): PositionedEvent[] {
  const waiting = stream.waiting.filter(({ position }) => position > stream.position);
  waiting.sort((a, b) => a.position - b.position);
  const next: PositionedEvent[] = [];
  let position = stream.position;
  for (const each of waiting) {
    if (each.position === position) continue;
    if (each.position !== position + 1) break;
    next.push(each);
    position = each.position;
  }
  stream.waiting = waiting.filter((each) => each.position > position);
  return next;
}
