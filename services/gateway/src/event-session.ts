/** What one socket has been told and how it catches up: every event it may read, once and in order. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventRecord, PositionedEvent } from '@svc/contract/events.ts';
import type { Policy } from '@svc/contract/policy.ts';
import { inOrder, MissedEvents, PAGE_SIZE, type PagedEvents, type Place } from './missed-events.ts';

/** An event with the policies that were attached to its resources when it was read. */
export interface JudgedEvent {
  readonly position: number;
  readonly event: EventRecord;
  readonly policies: readonly Policy[];
}

/** Where missed events are read. */
export interface EventSource extends PagedEvents {
  positions(): ReadonlyMap<string, number>;
  /** Every service that has to be there has been heard of. */
  isComplete(): boolean;
  judge(events: readonly PositionedEvent[]): Promise<readonly JudgedEvent[]>;
}

interface EventSink {
  /** Sends the event if the socket may and wants to hear it. */
  send(event: JudgedEvent): void;
  /** Resolves when the socket took what was sent, or is gone. */
  taken(): Promise<void>;
  isOpen(): boolean;
  /** What was asked for is not kept any more. */
  tellGone(): void;
}

/** How often one socket may ask for what it missed: each time costs what it is sent. */
const MAX_RESUMES = 8;
const RETRY_MS = 250;
/** How often the services are asked for an event while some of them do not answer, or were not heard of yet. */
const MAX_SEARCHES = 120;
/** Of services that nobody expects a gateway hears when it hears of them. */
const MIN_SEARCHES = 4;

/** An event that a service keeps: which, and at which position. */
interface Found {
  readonly place: Place;
  readonly position: number;
}

export class EventSession {
  readonly #source: EventSource;
  readonly #sink: EventSink;
  readonly #places = new Map<string, Place>();
  #started = false;
  #resuming = 0;
  #resumes = 0;
  /** What came before it is known to the client, also of services that are not heard of yet. */
  #resumedAfter: string | null = null;
  #work: Promise<void> = Promise.resolve();

  constructor(source: EventSource, sink: EventSink) {
    this.#source = source;
    this.#sink = sink;
    this.#takeNewPlaces();
  }

  #takeNewPlaces(): void {
    for (const [service, position] of this.#source.positions()) {
      if (!this.#places.has(service)) this.#places.set(service, placeAt(position));
    }
  }

  /** Begins live delivery with what happened since the socket came in. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#enqueue(() => this.#catchUpAll());
  }

  get mayResume(): boolean {
    return this.#resumes < MAX_RESUMES;
  }

  /** Tells what followed `eventId` up to where the socket came in, then goes on live. */
  resume(eventId: string): void {
    this.#started = true;
    this.#resuming += 1;
    this.#resumes += 1;
    for (const place of this.#places.values()) place.live = false;
    this.#enqueue(async () => {
      await this.#replay(eventId);
      this.#resuming -= 1;
      if (this.#resuming === 0) await this.#catchUpAll();
    });
  }

  /** Live events of one service. */
  offer(service: string, events: readonly JudgedEvent[]): void {
    const [oldest] = events;
    const newest = events.at(-1);
    if (oldest === undefined || newest === undefined) return;
    let place = this.#places.get(service);
    place ??= this.#begin(service, oldest.position - 1);
    place.offered = newest.position;
    if (place.live) this.#tell(place, events);
  }

  setBack(service: string, position: number): void {
    const place = this.#places.get(service);
    if (place === undefined) return;
    place.cursor = Math.min(place.cursor, position);
    place.offered = Math.min(place.offered, position);
  }

  #begin(service: string, position: number): Place {
    const place = placeAt(position);
    this.#places.set(service, place);
    if (this.#resumedAfter !== null) place.missed = { since: this.#resumedAfter };
    // What is being resumed catches up with all places when it is done.
    if (!this.#started || this.#resuming > 0) return place;
    place.live = place.missed === null;
    if (place.missed !== null) this.#enqueue(() => this.#catchUp(service, place));
    return place;
  }

  #tell(place: Place, events: readonly JudgedEvent[]): void {
    for (const event of events) {
      if (event.position <= place.cursor) continue;
      place.cursor = event.position;
      this.#sink.send(event);
    }
  }

  #enqueue(job: () => Promise<void>): void {
    this.#work = this.#work.then(() => (this.#sink.isOpen() ? job() : undefined));
  }

  /** Side by side: a service that does not answer holds up nobody's events but its own. */
  async #catchUpAll(): Promise<void> {
    await Promise.all([...this.#places].map(([service, place]) => this.#catchUp(service, place)));
  }

  async #catchUp(service: string, place: Place): Promise<void> {
    while (place.missed !== null && this.#sink.isOpen()) {
      await this.#tellMissed([[service, place]]);
      if (place.missed !== null) await sleep(RETRY_MS, undefined, { ref: false });
    }
    while (place.cursor < place.offered && this.#sink.isOpen()) {
      const events = await this.#read(service, place.cursor);
      if (events === null) continue;
      if (events.length === 0) place.cursor = place.offered;
      this.#tell(place, events);
      await this.#sink.taken();
    }
    place.live = true;
  }

  /** Null after a pause when the service, or the registry that judges, does not answer now. */
  async #read(service: string, position: number): Promise<readonly JudgedEvent[] | null> {
    try {
      const page = await this.#source.page(service, { position, limit: PAGE_SIZE });
      return 'gone' in page ? [] : await this.#source.judge(page.events);
    } catch {
      await sleep(RETRY_MS, undefined, { ref: false });
      return null;
    }
  }

  async #replay(eventId: string): Promise<void> {
    const found = await this.#search(eventId);
    if (found === null) return this.#sink.tellGone();
    this.#resumedAfter = eventId;
    for (const place of this.#places.values()) place.missed = { since: eventId };
    const { place, position } = found;
    place.missed = { position };
    // Another gateway may have told the client more than this one has heard of yet.
    place.cursor = Math.max(place.cursor, position);
    await this.#tellMissed([...this.#places]);
  }

  /**
   * Of all services together, in the order of their ids, so that a client which is cut off again goes on after any of them.
   * A service that does not answer is left out, and caught up with by itself.
   */
  async #tellMissed(places: readonly (readonly [string, Place])[]): Promise<void> {
    let missed = places.map(([service, place]) => new MissedEvents(service, place));
    while (this.#sink.isOpen()) {
      await Promise.all(missed.map((each) => each.fill(this.#source)));
      if (missed.some(({ isGone }) => isGone)) this.#sink.tellGone();
      missed = missed.filter(({ hasNext }) => hasNext);
      if (missed.length === 0) return;
      for (const event of await this.#judged(inOrder(missed))) this.#sink.send(event);
      await this.#sink.taken();
    }
  }

  async #judged(events: readonly PositionedEvent[]): Promise<readonly JudgedEvent[]> {
    while (this.#sink.isOpen()) {
      try {
        return await this.#source.judge(events);
      } catch {
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
    return [];
  }

  async #search(eventId: string): Promise<Found | null> {
    let absent = 0;
    for (let search = 1; search <= MAX_SEARCHES && this.#sink.isOpen(); search += 1) {
      this.#takeNewPlaces();
      const answers = await Promise.all(
        [...this.#places].map(([service, place]) => this.#find(eventId, service, place)),
      );
      const found = answers.find((answer) => typeof answer === 'object');
      if (found !== undefined) return found;
      const isAbsent = this.#source.isComplete() && answers.every((answer) => answer === 'not here');
      absent = isAbsent ? absent + 1 : 0;
      if (absent >= MIN_SEARCHES) return null;
      await sleep(RETRY_MS, undefined, { ref: false });
    }
    return null;
  }

  async #find(eventId: string, service: string, place: Place): Promise<Found | 'not here' | 'no answer'> {
    try {
      const page = await this.#source.page(service, { id: eventId, limit: 1 });
      if ('gone' in page) return 'not here';
      const position = page.events[0] === undefined ? page.head : page.events[0].position - 1;
      return { place, position };
    } catch {
      return 'no answer';
    }
  }
}

function placeAt(position: number): Place {
  return { first: position, missed: null, cursor: position, offered: position, live: false };
}
