/** What a client that resumes missed of one service, page by page; and of several in one order. */
import type { EventPage, EventsAfter } from '@svc/contract/discovery.ts';
import type { PositionedEvent } from '@svc/contract/events.ts';

/** Of every service at once, and together not as many as make a client a slow one. */
export const PAGE_SIZE = 100;

/** What services keep. */
export interface PagedEvents {
  /** Throws BusError. */
  page(service: string, after: EventsAfter): Promise<EventPage>;
}

/** Whatever follows this is missed. */
type MissedSince = { readonly position: number } | { readonly since: string };

/**
 * `first`: where the socket came in; `missed`: what is still to be told up to there. `cursor`: the last position it was
 * considered for. Live events pass only while it is not catching up; `offered` remembers how far they went meanwhile, and
 * it is done when the cursor is there.
 */
export interface Place {
  readonly first: number;
  missed: MissedSince | null;
  cursor: number;
  offered: number;
  live: boolean;
}

export class MissedEvents {
  readonly #service: string;
  readonly #place: Place;
  #events: PositionedEvent[] = [];
  #isGone = false;

  constructor(service: string, place: Place) {
    this.#service = service;
    this.#place = place;
  }

  /** It does not keep all of them; the rest is not told. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get hasNext(): boolean {
    return this.#events.length > 0;
  }

  get nextId(): string {
    return this.#events[0]?.event.id ?? '';
  }

  /** All that there are were taken. */
  get isDone(): boolean {
    return this.#place.missed === null;
  }

  /** Has some afterwards, unless there are no more, or the service does not answer. */
  async fill(source: PagedEvents): Promise<void> {
    const { missed } = this.#place;
    if (this.hasNext || missed === null) return;
    const page = await source.page(this.#service, { ...missed, limit: PAGE_SIZE }).catch(() => null);
    if (page === null) return;
    this.#isGone = 'gone' in page;
    this.#events = 'gone' in page ? [] : page.events.filter(({ position }) => position <= this.#place.first);
    if (!this.hasNext) this.#place.missed = null;
  }

  take(): PositionedEvent | undefined {
    const next = this.#events.shift();
    if (next !== undefined) this.#place.missed = this.#after(next.position);
    return next;
  }

  #after(position: number): MissedSince | null {
    return position < this.#place.first ? { position } : null;
  }
}

/** Takes the next ones, as far as it is known that nothing of the others comes before. */
export function inOrder(lists: readonly MissedEvents[]): PositionedEvent[] {
  const taken: PositionedEvent[] = [];
  while (lists.every(({ hasNext, isDone }) => hasNext || isDone)) {
    const [next] = lists
      .filter(({ hasNext }) => hasNext)
      .toSorted((one, other) => (one.nextId < other.nextId ? -1 : 1));
    const event = next?.take();
    if (event === undefined) break;
    taken.push(event);
  }
  return taken;
}
