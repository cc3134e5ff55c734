/**
 * Takes over what all services tell: each event once and in the order of its service. One process does so at a time; another one
 * goes on where it stopped.
 */
import type { PositionedEvent } from '@svc/contract/events.ts';
import { type EventFeed, startEventFeed } from '@svc/runtime/event-feed.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { RepeatedTrouble, troubleOf } from '@svc/runtime/repeated-trouble.ts';
import { shareRun } from '@svc/runtime/turns.ts';
import type { LogRows } from './log-rows.ts';

interface ConsumerParts {
  readonly platform: Pick<Platform, 'bus' | 'clock' | 'log' | 'database' | 'node'>;
  readonly rows: LogRows;
  /** Something was added. */
  readonly onAppended: () => void;
}

interface LogConsumer {
  /** Whether this process writes the log now. */
  isWriting(): boolean;
  close(): Promise<void>;
}

const CLAIM_EVERY_MS = 1000;
/** What comes within it is one transaction. */
const GATHER_MS = 100;

export function startLogConsumer({ platform, rows, onAppended }: ConsumerParts): LogConsumer {
  const { log, database, node } = platform;
  const holder = node.instance;
  let feed: EventFeed | null = null;
  let closed = false;

  const claim = shareRun(async () => {
    const isMine = !closed && (await rows.claim(holder, database.exclusive));
    if (isMine && feed === null) feed = await follow(platform, rows, append);
    if (!isMine && feed !== null) await stop();
  });
  const trouble = new RepeatedTrouble();
  const tend = (): void =>
    void claim().catch((error: unknown) => {
      if (trouble.isDue(troubleOf(error))) log.warn({ err: error }, 'the event log waits');
    });

  async function append(service: string, events: readonly PositionedEvent[], lost: number): Promise<void> {
    if (await rows.append(holder, { service, events, lost })) return onAppended();
    tend();
    throw new Error('another process writes the event log');
  }

  async function stop(): Promise<void> {
    const ended = feed;
    feed = null;
    await ended?.close();
  }

  const timer = setInterval(() => {
    // What nobody else can take need not be held.
    if (feed === null || !database.exclusive) tend();
  }, CLAIM_EVERY_MS);
  timer.unref();
  tend();
  return {
    isWriting: () => feed !== null,
    async close() {
      closed = true;
      clearInterval(timer);
      await claim().catch(() => {});
      await stop();
      await rows.release(holder);
    },
  };
}

type Append = (service: string, events: readonly PositionedEvent[], lost: number) => Promise<void>;

async function follow(platform: ConsumerParts['platform'], rows: LogRows, append: Append): Promise<EventFeed> {
  const { log } = platform;
  /** Up to where each service was taken over; a service that is not in it is new here. */
  const taken = new Map((await rows.positions()).map(({ service, position }) => [service, position]));
  return startEventFeed({
    platform,
    gatherMs: GATHER_MS,
    known: [...taken.keys()],
    async startAfter(service, head) {
      const position = taken.get(service) ?? 0;
      if (position <= head) return position;
      log.warn({ service }, 'a service counts its events anew: what it keeps is read again, and each event kept once');
      taken.delete(service);
      return 0;
    },
    onLost: (service, count) => log.warn({ service, count }, 'events were not kept until the log could take them over'),
    async deliver(service, events) {
      const [first] = events;
      const last = events.at(-1);
      if (first === undefined || last === undefined) return;
      const before = taken.get(service);
      await append(service, events, before === undefined ? 0 : first.position - before - 1);
      taken.set(service, last.position);
    },
  });
}
