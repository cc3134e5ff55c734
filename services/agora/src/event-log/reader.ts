/** What somebody may hear of the log: judged as its sockets are, in steps that are bounded also for whoever may hear nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { EventRecord } from '@svc/contract/events.ts';
import { type Listener, visiblePayload } from '@svc/contract/event-visibility.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { readEventPage } from '@svc/runtime/event-feed.ts';
import { policiesOfEvents } from '@svc/runtime/event-policies.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { isAskedFor, type Wanted } from './domain/wanted.ts';
import type { Listeners, Reading } from './listeners.ts';
import type { LogPages, LogRow, Place } from './log-pages.ts';
import type { LogRows } from './log-rows.ts';
import type { PlaceSeal } from './sealed-place.ts';

interface ShownEvent extends Pick<EventRecord, 'id' | 'at' | 'node'> {
  readonly name: string;
  readonly module: string;
  readonly workspace: string | null;
  readonly payload: Record<string, unknown>;
}

export interface Tail {
  readonly events: readonly ShownEvent[];
  readonly lastId: string | null;
  readonly nextCursor?: string;
}

export interface TailQuestion extends Wanted {
  readonly max: number;
  /** Null = the newest. */
  readonly from: { readonly after: string } | { readonly place: Place } | null;
}

export interface LogReader {
  /** Throws SERVICE_UNAVAILABLE also while an event that was asked for is on its way to the log. */
  tail(caller: Reading, question: TailQuestion): Promise<Decision<Tail, 'E_EVENT_GONE'>>;
}

interface ReaderParts {
  readonly platform: Pick<Platform, 'bus' | 'clock'>;
  readonly pages: LogPages;
  readonly rows: Pick<LogRows, 'positions' | 'oldestAt'>;
  readonly listeners: Listeners;
  readonly seal: PlaceSeal;
}

/** What one call looks at, whoever asks. */
const MAX_LOOKED_AT = 20_000;
const MAX_BYTES = 512 * 1024;
const ARRIVES_WITHIN_MS = 2000;
const LOOK_EVERY_MS = 50;
/** An event that no service knows is on its way at most so long, even if a service does not answer. */
const UNKNOWN_FOR_MS = 600_000;
const TRY_AGAIN = { retryAfterMs: 1000 };
const EVENT_ID = /^evt_(?<time>[0-9a-f]{12})[0-9a-f]{20}$/;

interface Judge {
  readonly listener: Listener;
  readonly stamp: RegistryStamp;
}

export function createLogReader(parts: ReaderParts): LogReader {
  const { pages, listeners, seal } = parts;
  return {
    async tail(caller, question) {
      const judge = await listeners.of(caller);
      const start = await startOf(parts, question.from);
      if (start === null) return deny('E_EVENT_GONE');
      const names = isAll(question) ? null : (await pages.names()).filter((name) => isAskedFor(question, name));
      const { shown, next } = await gather(parts, judge, { start, names, max: question.max });
      const events = start.onward ? shown : shown.toReversed();
      const after = question.from !== null && 'after' in question.from ? question.from.after : null;
      const lastId = events.at(-1)?.id ?? after;
      return allow({ events, lastId, ...(next === null ? {} : { nextCursor: seal.seal(next) }) });
    },
  };
}

function isAll({ nameFilter, module }: Wanted): boolean {
  return nameFilter === undefined && module === undefined;
}

interface Search {
  readonly start: Place;
  readonly names: readonly string[] | null;
  readonly max: number;
}

/** `next`: where a call that looked at enough goes on; null = it has what it wanted, or everything there is. */
async function gather(
  { pages, listeners }: ReaderParts,
  { listener, stamp }: Judge,
  { start, names, max }: Search,
): Promise<{ shown: ShownEvent[]; next: Place | null }> {
  const shown: ShownEvent[] = [];
  let place: Place | null = start;
  let looked = 0;
  let bytes = 0;
  while (place !== null && looked < MAX_LOOKED_AT) {
    const step = await pages.step(place, names, listener);
    const policies = await policiesOfEvents(step.rows, listeners.policiesOf, stamp);
    for (const [index, row] of step.rows.entries()) {
      const event = shownTo(row, visiblePayload(row.event, listener, policies[index] ?? []));
      if (event === null) continue;
      const size = Buffer.byteLength(JSON.stringify(event));
      if (shown.length > 0 && bytes + size > MAX_BYTES) return { shown, next: placeBefore(step.rows, index, place) };
      bytes += size;
      if (shown.push(event) === max) return { shown, next: null };
    }
    looked += step.looked;
    place = step.next;
  }
  return { shown, next: place };
}

/** So that the next call begins with the event that did not fit. */
function placeBefore(rows: readonly LogRow[], index: number, { onward, seq }: Place): Place {
  return { onward, seq: rows[index - 1]?.seq ?? seq };
}

function shownTo({ module, event }: LogRow, payload: Record<string, unknown> | null): ShownEvent | null {
  if (payload === null) return null;
  const { id, name, at, node, workspace = null } = event;
  return { id, name, at, node, module, workspace, payload };
}

/** Null = the event is not kept. */
async function startOf(parts: ReaderParts, from: TailQuestion['from']): Promise<Place | null> {
  if (from === null) return { onward: false, seq: null };
  if ('place' in from) return from.place;
  const found = await parts.pages.find(from.after);
  if (found !== null) return { onward: true, seq: found };
  if (!(await isOnItsWay(parts, from.after))) return null;
  const deadlineAt = parts.platform.clock.now() + ARRIVES_WITHIN_MS;
  while (parts.platform.clock.now() < deadlineAt) {
    const seq = await parts.pages.find(from.after);
    if (seq !== null) return { onward: true, seq };
    await sleep(LOOK_EVERY_MS);
  }
  throw new CallError('SERVICE_UNAVAILABLE', 'The event log is behind; try again shortly.', TRY_AGAIN);
}

/** Whether a service keeps the event that the log does not have yet: sockets hear of it first. */
async function isOnItsWay({ platform, rows }: ReaderParts, id: string): Promise<boolean> {
  const time = EVENT_ID.exec(id)?.groups?.['time'];
  if (time === undefined) return false;
  const at = Number.parseInt(time, 16);
  const oldestAt = await rows.oldestAt();
  if (oldestAt !== null && at < oldestAt) return false;
  const isRecent = platform.clock.now() - at < UNKNOWN_FOR_MS;
  const answers = await Promise.all(
    (await rows.positions()).map(({ service }) =>
      readEventPage(platform, service, { id, limit: 1 }).then(
        (answer) => !('gone' in answer),
        () => isRecent,
      ),
    ),
  );
  return answers.includes(true);
}
