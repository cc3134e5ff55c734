/** Reading the events of a service in the order of their publication. */
import type { EventPage, EventsAfter } from '@svc/contract/discovery.ts';
import type { EventName, EventPayload, EventRecord, PositionedEvent } from '@svc/contract/events.ts';
import type { SqlClient } from './database.ts';

const MAX_PAGE = 1000;

export interface EventRow {
  readonly id: string;
  readonly position: bigint | null;
  readonly name: EventName;
  readonly payload: EventPayload<EventName>;
  readonly workspace: string | null;
  readonly node: string;
  readonly at: bigint;
}

export const EVENT_COLUMNS =
  'id, position, name, payload, workspace, node, (extract(epoch from at) * 1000)::bigint AS at';

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
  const rows = await client.$queryRawUnsafe<EventRow[]>(
    `SELECT ${EVENT_COLUMNS} FROM "${schema}".outbox WHERE position > $1::bigint ORDER BY position LIMIT $2::int`,
    after,
    limit,
  );
  return { head: await readHead(client, schema), events: rows.map(positionedEvent) };
}

async function positionOf(client: SqlClient, schema: string, id: string): Promise<number | null> {
  const rows = await client.$queryRawUnsafe<{ position: bigint }[]>(
    `SELECT position FROM "${schema}".outbox WHERE id = $1 AND position IS NOT NULL`,
    id,
  );
  return rows[0] === undefined ? null : Number(rows[0].position);
}

export function positionedEvent(row: EventRow): PositionedEvent {
  const event: EventRecord = {
    id: row.id,
    name: row.name,
    at: Number(row.at),
    node: row.node,
    payload: row.payload,
    ...(row.workspace === null ? {} : { workspace: row.workspace }),
  };
  return { position: Number(row.position), event };
}
