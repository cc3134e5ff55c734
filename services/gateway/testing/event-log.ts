/** A service that emits events: keeps them, publishes them, and can lose what it publishes. */
import { type EventBatch, type EventPage, type EventsAfter, SUBJECTS } from '@svc/contract/discovery.ts';
import type { EventRecord, PositionedEvent } from '@svc/contract/events.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { type RunningService, startService } from '@svc/runtime/service.ts';

interface EmitOptions {
  readonly lost?: boolean;
  readonly workspace?: string;
  /** Row-rule keys beyond that of the brain. */
  readonly resources?: readonly string[];
  /** Those of the account: then it is an event of money. */
  readonly parties?: readonly string[];
  /** Of a thing of that id: then it is an event of work. */
  readonly work?: string;
}

export interface EventLog {
  readonly kept: PositionedEvent[];
  /** Writes `count` events and publishes them, or loses them on the way. */
  emit(count: number, options?: EmitOptions): PositionedEvent[];
  /** Publishes anything, as an unreliable bus would. */
  publish(events: readonly PositionedEvent[]): void;
  heartbeat(): void;
  /** Forgets the oldest events. */
  forget(count: number): void;
  /** Is an older copy of itself from now on, which knows nothing beyond that position. */
  setBack(position: number): void;
  readonly pages: number;
  stop(): Promise<void>;
}

interface LogOptions {
  readonly service?: string;
  /** Its events are numbered from the next one on, so that they follow those of another. */
  readonly numberedFrom?: number;
}

/** `past`: how many events there are already when it is first heard of. */
export async function startEventLog(
  platform: StatelessPlatform,
  past = 0,
  { service = 'log', numberedFrom = 0 }: LogOptions = {},
): Promise<EventLog> {
  const { bus } = platform;
  const numbered = (position: number, options?: EmitOptions) => ({
    position,
    event: eventAt(numberedFrom + position, options),
  });
  const kept = Array.from({ length: past }, (_, index) => numbered(index + 1));
  let head = past;
  let pages = 0;
  const publish = (events: readonly PositionedEvent[]): void => {
    bus.publish(SUBJECTS.events(service), JSON.stringify({ service, head, events } satisfies EventBatch));
  };
  function known(asked: EventsAfter): number | undefined {
    if ('since' in asked) return Number(asked.since.replace('evt_', '')) - numberedFrom;
    return 'id' in asked ? kept.find(({ event }) => event.id === asked.id)?.position : asked.position;
  }
  function page(asked: EventsAfter): EventPage {
    const after = known(asked);
    if (after === undefined) return { gone: true };
    return { head, events: kept.filter(({ position }) => position > after).slice(0, asked.limit) };
  }
  await bus.respond(SUBJECTS.eventsAfter(service), async (question) => {
    pages += 1;
    return JSON.stringify(page(JSON.parse(question) as EventsAfter));
  });
  const handle = { deps: {}, checks: async () => [], drain: async () => {}, close: async () => {} };
  const running: RunningService<object> = await startService(platform, {
    name: service,
    tools: [],
    start: async () => handle,
  });
  return {
    kept,
    emit(count, { lost = false, ...options } = {}) {
      const events = Array.from({ length: count }, () => numbered(++head, options));
      kept.push(...events);
      if (!lost) publish(events);
      return events;
    },
    publish,
    heartbeat: () => publish([]),
    forget: (count) => void kept.splice(0, count),
    setBack(position) {
      kept.splice(0, kept.length, ...kept.filter((each) => each.position <= position));
      head = position;
    },
    get pages() {
      return pages;
    },
    stop: () => running.stop(),
  };
}

function eventAt(position: number, { workspace, resources = [], parties, work }: EmitOptions = {}): EventRecord {
  const place = workspace === undefined ? {} : { workspace };
  const shown = { id: `evt_${position}`, at: 1, node: 'n', ...place };
  if (parties !== undefined) {
    const payload = { account: parties[0] ?? null, holdId: `h${position}`, amount: 1, parties: [...parties] };
    return { ...shown, name: 'escrow:held', payload };
  }
  if (work !== undefined) {
    return {
      ...shown,
      name: 'stream:enqueued',
      payload: { stream: 'q', id: work, seq: position, by: 'a1', parties: [] },
    };
  }
  return {
    ...shown,
    name: 'brain:change',
    payload: {
      file: `notes/${position}.md`,
      brain: 'svc',
      branch: 'main',
      hash: null,
      change: 'created',
      by: 'a1',
      source: 'tool',
      resources: ['brain:svc', ...resources],
    },
  };
}
