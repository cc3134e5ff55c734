/** Reading the events of a service in the order of their publication. */
import type { EventPage, EventsAfter } from '@svc/contract/discovery.ts';
import type { EventRecord, PositionedEvent } from '@svc/contract/events.ts';
import type { SqlClient } from './database.ts';

const MAX_PAGE = 1000;
/** A page ends with the row that goes beyond: it has to fit into a message of the bus. */
const PAGE_BYTES = 256 * 1024;
/** Ids of one row begin at most so much later than its first: they were made in one turn. */
const ROW_SPAN_MS = 10_000;
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

/** Answers a request for `SUBJECTS.eventsAfter`. */
export async function answerPage(client: SqlClient, schema: string, payload: string): Promise<string> {
  const request = JSON.parse(payload) as EventsAfter;
  const page = await readPage(client, schema, request);
  return JSON.stringify(page);
}

async function readPage(client: SqlClient, schema: string, request: EventsAfter): Promise<EventPage> {
  const after = 'id' in request ? await positionOf(client, schema, request.id) : request.position;
  if (after === null) return { gone: true };
  const limit = Math.min(Math.max(1, request.limit), MAX_PAGE);
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
  return { head: await readHead(client, schema), events };
}

async function positionOf(client: SqlClient, schema: string, id: string): Promise<number | null> {
  const time = EVENT_ID.exec(id)?.groups?.['time'];
  if (time === undefined) return null;
  const earliest = Math.max(0, Number.parseInt(time, 16) - ROW_SPAN_MS);
  const rows = await client.$queryRawUnsafe<NumberedRow[]>(
    `SELECT last, count, events FROM "${schema}".event_batches
     WHERE first_id <= $1 AND first_id >= $2 AND last_id >= $1 AND last IS NOT NULL`,
    id,
    `evt_${earliest.toString(16).padStart(12, '0')}`,
  );
  const found = rows.flatMap(positionedEvents).find(({ event }) => event.id === id);
  return found?.position ?? null;
}

export function positionedEvents({ last, count, events }: NumberedRow): PositionedEvent[] {
  return events.map((event, index) => ({ position: Number(last) - count + 1 + index, event }));
}
