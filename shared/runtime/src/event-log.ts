/** Reading the events of a service in the order of their publication. */
import type { EventPage, EventsAfter } from '@svc/contract/discovery.ts';
import type { EventRecord, PositionedEvent } from '@svc/contract/events.ts';
import type { SqlClient } from './database.ts';

const MAX_PAGE = 1000;
/** A page ends with the row that goes beyond: it has to fit into a message of the bus. */
const PAGE_BYTES = 256 * 1024;
/** Ids of one row begin at most so much later than its first: they were made in one turn. */
const ROW_SPAN_MS = 10_000;
/**
 * Of two services' events the later one may have the earlier id by so much: a process that stands still is given up after
 * ten seconds, others relay what it left within five, and clocks differ by less than the rest.
 */
const OVERLAP_MS = 20_000;
/** Rows are written nearly in the order of their ids: the first one that was numbered is among so many. */
const NEIGHBOURS = 1000;
/** As many events are kept, however young the rest is. */
export const EVENTS_KEPT_ROWS = 1_000_000;
/** More than there are in one row. */
const ROW_EVENTS = 1000;
const EVENT_ID = /^evt_(?<time>[0-9a-f]{12})[0-9a-f]{20}$/;

/** Events of one transaction; `last` = position of the last of them. */
export interface NumberedRow {
  readonly last: bigint;
  readonly count: number;
  readonly events: readonly EventRecord[];
}

/** Position of the newest published event; 0 before the first. */
export async function readHead(client: SqlClient, schema: string): Promise<number> {
  const rows = await client.$queryRawUnsafe<{ head: bigint }[]>(`SELECT head FROM "${schema}".outbox_head`);
  return Number(rows[0]?.head ?? 0);
}

interface KeptEvents {
  readonly client: SqlClient;
  readonly schema: string;
  readonly keptDays: number;
}

/** Answers a request for `SUBJECTS.eventsAfter`. */
export async function answerPage(kept: KeptEvents, payload: string): Promise<string> {
  const request = JSON.parse(payload) as EventsAfter;
  const page = await readPage(kept, request);
  return JSON.stringify(page);
}

async function readPage(kept: KeptEvents, request: EventsAfter): Promise<EventPage> {
  const { client, schema } = kept;
  const after = await startOf(kept, request);
  if (after === null) return { gone: true };
  const limit = Math.min(Math.max(1, request.limit), MAX_PAGE);
  // Read first: whoever is told of no events goes on behind the head, so it must not be that of later ones.
  const head = await readHead(client, schema);
  // What is no longer kept is passed over: whoever asks sees it by the position of the first.
  const rows = await client.$queryRawUnsafe<NumberedRow[]>(
    `SELECT last, count, events FROM (
       SELECT last, count, bytes, events, sum(bytes) OVER (ORDER BY last) AS through FROM (
         SELECT last, count, bytes, events FROM "${schema}".event_batches WHERE last > $1::bigint ORDER BY last LIMIT $2::int
       ) next
     ) kept WHERE through - bytes < ${PAGE_BYTES} ORDER BY last`,
    after,
    limit,
  );
  const events = rows
    .flatMap(positionedEvents)
    .filter(({ position }) => position > after)
    .slice(0, limit);
  return { head, events };
}

/** Null = gone. */
async function startOf(kept: KeptEvents, request: EventsAfter): Promise<number | null> {
  if ('id' in request) return positionOf(kept.client, kept.schema, request.id);
  return 'since' in request ? positionSince(kept, request.since) : request.position;
}

interface Since {
  /** Position of the newest event. */
  readonly head: bigint;
  /** Position of the oldest that is kept, its row's first id, and whether it is older than what is kept by age. */
  readonly oldest: bigint | null;
  readonly oldestId: string | null;
  readonly isPastAge: boolean;
  /** Position before the first that may have followed; null = none did. */
  readonly before: bigint | null;
}

async function positionSince({ client, schema, keptDays }: KeptEvents, id: string): Promise<number | null> {
  const time = EVENT_ID.exec(id)?.groups?.['time'];
  if (time === undefined) return null;
  const earliest = Math.max(0, Number.parseInt(time, 16) - OVERLAP_MS);
  const earliestId = idAt(earliest);
  const [found] = await client.$queryRawUnsafe<Since[]>(
    `SELECT head, oldest.position AS oldest, oldest.first_id AS "oldestId",
       to_timestamp($2::float8 / 1000.0) < now() - make_interval(days => $3::int) AS "isPastAge",
       (SELECT min(last - count) FROM (
          SELECT last, count FROM "${schema}".event_batches WHERE first_id >= $1 AND last IS NOT NULL
          ORDER BY first_id LIMIT ${NEIGHBOURS}
        ) next) AS before
     FROM "${schema}".outbox_head LEFT JOIN (
       SELECT last - count + 1 AS position, first_id FROM "${schema}".event_batches
       WHERE last IS NOT NULL ORDER BY last LIMIT 1
     ) oldest ON true`,
    earliestId,
    earliest,
    keptDays,
  );
  if (found === undefined || mayHaveDropped(found, earliestId)) return null;
  return Number(found.before ?? found.head);
}

/** Whether the sweep may have taken events that are as young as those asked for. */
function mayHaveDropped({ head, oldest, oldestId, isPastAge }: Since, earliestId: string): boolean {
  const first = oldest === null ? Number(head) + 1 : Number(oldest);
  if (first === 1 || (oldestId !== null && oldestId <= earliestId)) return false;
  return isPastAge || Number(head) - first > EVENTS_KEPT_ROWS - ROW_EVENTS;
}

function idAt(ms: number): string {
  return `evt_${ms.toString(16).padStart(12, '0')}`;
}

async function positionOf(client: SqlClient, schema: string, id: string): Promise<number | null> {
  const time = EVENT_ID.exec(id)?.groups?.['time'];
  if (time === undefined) return null;
  const earliest = Math.max(0, Number.parseInt(time, 16) - ROW_SPAN_MS);
  const rows = await client.$queryRawUnsafe<NumberedRow[]>(
    `SELECT last, count, events FROM "${schema}".event_batches
     WHERE first_id <= $1 AND first_id >= $2 AND last_id >= $1 AND last IS NOT NULL`,
    id,
    idAt(earliest),
  );
  const found = rows.flatMap(positionedEvents).find(({ event }) => event.id === id);
  return found?.position ?? null;
}

export function positionedEvents({ last, count, events }: NumberedRow): PositionedEvent[] {
  return events.map((event, index) => ({ position: Number(last) - count + 1 + index, event }));
}
