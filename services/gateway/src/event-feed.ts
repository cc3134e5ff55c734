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
import type { Subscription } from '@svc/runtime/bus.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';

/** Hands out events of one service in order; the next ones wait until it resolves. */
export type Deliver = (service: string, events: readonly PositionedEvent[]) => Promise<void>;

export interface EventFeed {
  /** Position of the last event of each service that was handed out. */
  positions(): ReadonlyMap<string, number>;
  /** A page of what a service keeps. Throws BusError. */
  page(service: string, after: EventsAfter): Promise<EventPage>;
  close(): Promise<void>;
}

export interface FeedOptions {
  readonly platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>;
  readonly deliver: Deliver;
  /** Events that no service keeps any more. */
  readonly onLost: (count: number) => void;
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
}

export async function startEventFeed(options: FeedOptions): Promise<EventFeed> {
  const feed = new Feed(options);
  await feed.listen();
  return feed;
}

class Feed implements EventFeed {
  readonly #options: FeedOptions;
  readonly #streams = new Map<string, Stream>();
  readonly #asked = new Set<string>();
  #subscriptions: Subscription[] = [];
  #closed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  async listen(): Promise<void> {
    const { bus } = this.#options.platform;
    this.#subscriptions = [
      await bus.subscribe(SUBJECTS.allEvents, (text) => this.#onBatch(JSON.parse(text) as EventBatch)),
      await bus.subscribe(SUBJECTS.announce, (text) => this.#onAnnounce(JSON.parse(text) as Announcement)),
    ];
  }

  positions(): ReadonlyMap<string, number> {
    return new Map([...this.#streams.values()].map(({ service, position }) => [service, position]));
  }

  async page(service: string, after: EventsAfter): Promise<EventPage> {
    const { bus, clock } = this.#options.platform;
    const options = { deadlineAt: clock.now() + PAGE_WITHIN_MS, isRepeatable: true };
    return JSON.parse(await bus.request(SUBJECTS.eventsAfter(service), JSON.stringify(after), options)) as EventPage;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#subscriptions.map((subscription) => subscription.drain()));
  }

  #begin(service: string, position: number): Stream {
    const stream: Stream = { service, position, head: position, waiting: [], running: false };
    this.#streams.set(service, stream);
    return stream;
  }

  #onBatch({ service, head, events }: EventBatch): void {
    const first = events[0]?.position;
    const stream = this.#streams.get(service) ?? this.#begin(service, first === undefined ? head : first - 1);
    stream.head = Math.max(stream.head, head, events.at(-1)?.position ?? 0);
    if (stream.waiting.length < MAX_WAITING) stream.waiting.push(...events);
    if (stream.position < stream.head) this.#run(stream);
  }

  /** A service is followed from where it stands when it is first heard of. */
  #onAnnounce({ service }: Announcement): void {
    if (this.#streams.has(service) || this.#asked.has(service)) return;
    this.#asked.add(service);
    this.page(service, { position: Number.MAX_SAFE_INTEGER, limit: 1 }).then(
      (answer) => {
        if (!this.#streams.has(service) && 'head' in answer) this.#begin(service, answer.head);
      },
      () => this.#asked.delete(service),
    );
  }

  #run(stream: Stream): void {
    if (stream.running || this.#closed) return;
    stream.running = true;
    void this.#advance(stream).finally(() => {
      stream.running = false;
    });
  }

  async #advance(stream: Stream): Promise<void> {
    while (!this.#closed && stream.position < stream.head) {
      const next = takeNext(stream);
      try {
        await this.#handOut(stream, next.length > 0 ? next : await this.#missing(stream));
      } catch (error) {
        const { log } = this.#options.platform;
        log.warn({ err: error, service: stream.service }, 'events could not be read or judged yet');
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  /** What the service still has after the last position; where it has nothing, events were lost for good. */
  async #missing(stream: Stream): Promise<readonly PositionedEvent[]> {
    const answer = await this.page(stream.service, { position: stream.position, limit: PAGE_SIZE });
    const events = 'events' in answer ? answer.events : [];
    const goesOnAt = events[0]?.position ?? stream.head + 1;
    if (goesOnAt > stream.position + 1) this.#options.onLost(goesOnAt - stream.position - 1);
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
