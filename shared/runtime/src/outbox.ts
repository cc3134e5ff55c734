/**
 * Events leave a service through a table: written in the transaction of the change, all in one row, numbered by the relay
 * in the order they were written, then sent over the bus. The bus may lose a message; whoever misses a number asks for it
 * here.
 */
import type { EventDeclaration } from '@svc/contract/event-declaration.ts';
import type { EventName, EventPayload, PositionedEvent } from '@svc/contract/events.ts';
import { type EventBatch, SUBJECTS } from '@svc/contract/discovery.ts';
import type { z } from 'zod';
import { batchesOf, insertionOf } from './batches.ts';
import type { Bus, Subscription } from './bus.ts';
import type { SqlClient } from './database.ts';
import { sweepRows } from './row-sweep.ts';
import { answerPage, EVENTS_KEPT_ROWS, type NumberedRow, positionedEvents, readHead } from './event-log.ts';
import type { Platform } from './platform.ts';
import { RepeatedTrouble, troubleOf } from './repeated-trouble.ts';
import type { Statement } from './transaction.ts';
import { repeatGathered } from './turns.ts';

/** Rows that are numbered at once. */
const RELAY_ROWS = 50;
/** A message of the bus that carries several rows ends here. */
const MESSAGE_BYTES = 256 * 1024;
/** From the first event to the round that relays it; what is written meanwhile goes together. */
const GATHER_MS = 20;
const HEARTBEAT_MS = 1000;

interface EventOf<Name extends EventName> {
  readonly name: Name;
  readonly payload: EventPayload<Name>;
  readonly workspace?: string;
}

/** An event not yet written; without a type argument, any of them. */
export type NewEvent<Name extends EventName = EventName> = Name extends EventName ? EventOf<Name> : never;

/** Declarations by the names of the events. */
export type EventTable = Readonly<Record<string, EventDeclaration>>;

/** One of the events of a table. */
export type EventIn<Events extends EventTable> = {
  [Name in keyof Events & string]: {
    readonly name: Name;
    readonly payload: z.output<Events[Name]['payload']>;
    readonly workspace?: string;
  };
}[keyof Events & string];

export interface Outbox<Event = NewEvent> {
  /** Writes events in the caller's transaction; call `kick` after it committed. Throws on a payload that does not fit. */
  write(transaction: SqlClient, events: readonly Event[]): Promise<void>;
  /** What `write` writes, for whoever sends it with COMMIT; null = nothing. Throws on a payload that does not fit. */
  statement(events: readonly Event[]): Statement | null;
  /** Relays what is written, soon. */
  kick(): void;
  /** Relays everything that is written by now, also what a dead process left. */
  flush(): Promise<void>;
  /** Deletes events past their time; returns how many. */
  sweep(): Promise<number>;
  start(): Promise<void>;
  /** Relays the rest, then stops. */
  close(): Promise<void>;
}

interface OutboxOptions {
  readonly service: string;
  /** All that it may tell. */
  readonly events: EventTable;
  readonly schema: string;
  readonly client: SqlClient;
  /** No other process relays the same table. */
  readonly exclusive: boolean;
  /** Runs `work` in one transaction. */
  readonly transact: <Value>(work: (transaction: SqlClient) => Promise<Value>) => Promise<Value>;
  readonly platform: Pick<Platform, 'bus' | 'clock' | 'config' | 'ids' | 'log' | 'node'>;
}

export function createOutbox<Event extends EventIn<EventTable> = NewEvent>(options: OutboxOptions): Outbox<Event> {
  const { platform, service, schema, client } = options;
  const relay = createRelay(options);
  const { SVC_KEEP_EVENTS_DAYS: keptDays } = platform.config;
  const subscriptions: Subscription[] = [];
  let heartbeat: NodeJS.Timeout | null = null;

  async function beat(): Promise<void> {
    try {
      publishBatch(platform.bus, service, await relay.head(), []);
    } catch (error) {
      platform.log.debug({ err: error }, 'no event heartbeat');
    }
  }

  return {
    async write(transaction, events) {
      const statement = eventStatement(options, events);
      if (statement !== null) await transaction.$executeRawUnsafe(statement.sql, ...statement.values);
    },
    statement: (events) => eventStatement(options, events),
    kick: relay.kick,
    flush: relay.flush,
    sweep: () => deleteOldEvents(options),
    async start() {
      const answer = (payload: string) => answerPage({ client, schema, keptDays }, payload);
      subscriptions.push(await platform.bus.respond(SUBJECTS.eventsAfter(service), answer, { queue: service }));
      heartbeat = setInterval(() => void beat(), HEARTBEAT_MS);
      await relay.flush();
    },
    async close() {
      if (heartbeat !== null) clearInterval(heartbeat);
      await relay.close();
      await Promise.all(subscriptions.map((subscription) => subscription.drain()));
    },
  };
}

const EVENT_COLUMNS = ['first_id text', 'last_id text', 'count int', 'bytes int', 'events json', 'at timestamptz'];

function eventStatement(
  { schema, platform, events: declared }: OutboxOptions,
  events: readonly EventIn<EventTable>[],
): Statement | null {
  const at = platform.clock.now();
  const records = events.map(({ name, payload, workspace }) => ({
    id: platform.ids.next('evt'),
    name,
    at,
    node: platform.node.nodeId,
    payload: payloadOf(declared, name, payload),
    ...(workspace === undefined ? {} : { workspace }),
  }));
  const rows = batchesOf(records).map(({ items, bytes, json }) => [
    items[0]?.id,
    items.at(-1)?.id,
    items.length,
    bytes,
    json,
    new Date(at),
  ]);
  return insertionOf(`"${schema}".event_batches`, EVENT_COLUMNS, rows);
}

function payloadOf(declared: EventTable, name: string, payload: unknown): Record<string, unknown> {
  const declaration = declared[name];
  if (declaration === undefined) throw new Error(`the service declares no event ${name}`);
  return declaration.payload.parse(payload);
}

function deleteOldEvents({ client, schema, platform }: OutboxOptions): Promise<number> {
  return sweepRows(client, {
    table: `"${schema}".event_batches`,
    condition: `last IS NOT NULL AND (at < now() - make_interval(days => $1::int)
      OR last <= (SELECT head FROM "${schema}".outbox_head) - ${EVENTS_KEPT_ROWS})`,
    values: [platform.config.SVC_KEEP_EVENTS_DAYS],
  });
}

/** One relay round at a time in this process; the locked head row keeps replicas from numbering at once. */
function createRelay(options: OutboxOptions) {
  const { service, platform, client, schema, exclusive } = options;
  /** The last number that was given; null = not known here. */
  let head: number | null = null;

  async function round(): Promise<number> {
    const rows = await numberEvents(options);
    for (const message of messagesOf(rows)) {
      const events = message.flatMap(positionedEvents);
      head = events.at(-1)?.position ?? head;
      publishBatch(platform.bus, service, head ?? 0, events);
    }
    return rows.length;
  }

  const trouble = new RepeatedTrouble();

  async function relayAll(): Promise<void> {
    try {
      while ((await round()) === RELAY_ROWS);
    } catch (error) {
      // What nobody answered may have been numbered all the same; the next heartbeat tells of it.
      head = null;
      if (trouble.isDue(troubleOf(error)))
        platform.log.warn({ err: error }, 'events wait: the relay could not read or number them');
    }
  }

  const { kick, flush } = repeatGathered(relayAll, GATHER_MS);
  return {
    kick,
    flush,
    close: flush,
    /** Where others give numbers too, only the table knows it. */
    async head(): Promise<number> {
      if (exclusive && head !== null) return head;
      head = await readHead(client, schema);
      return head;
    },
  };
}

/**
 * Numbers what waits. Among several processes the head row is locked before the statement that looks for it, because a
 * statement sees what was there when it began.
 */
function numberEvents({ schema, client, transact, exclusive }: OutboxOptions): Promise<WaitingRow[]> {
  if (exclusive) return assignPositions(client, schema);
  return transact(async (transaction) => {
    await transaction.$queryRawUnsafe(`SELECT head FROM "${schema}".outbox_head FOR UPDATE`);
    return assignPositions(transaction, schema);
  });
}

interface WaitingRow extends NumberedRow {
  readonly bytes: number;
}

function assignPositions(client: SqlClient, schema: string): Promise<WaitingRow[]> {
  return client.$queryRawUnsafe<WaitingRow[]>(
    `WITH waiting AS (
       SELECT first_id, count, written FROM "${schema}".event_batches WHERE last IS NULL ORDER BY written LIMIT ${RELAY_ROWS}
     ), next AS (
       SELECT first_id, (SELECT head FROM "${schema}".outbox_head) + sum(count) OVER (ORDER BY written) AS last FROM waiting
     ), numbered AS (
       UPDATE "${schema}".event_batches b SET last = next.last FROM next WHERE b.first_id = next.first_id
       RETURNING b.last, b.count, b.bytes, b.events
     ), moved AS (
       UPDATE "${schema}".outbox_head SET head = (SELECT max(last) FROM next) WHERE EXISTS (SELECT 1 FROM next)
     )
     SELECT last, count, bytes, events FROM numbered ORDER BY last`,
  );
}

function messagesOf(rows: readonly WaitingRow[]): WaitingRow[][] {
  const messages: WaitingRow[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (bytes + row.bytes > MESSAGE_BYTES) {
      messages.push([]);
      bytes = 0;
    }
    messages.at(-1)?.push(row);
    bytes += row.bytes;
  }
  return messages;
}

function publishBatch(bus: Bus, service: string, head: number, events: readonly PositionedEvent[]): void {
  const batch: EventBatch = { service, head, events };
  bus.publish(SUBJECTS.events(service), JSON.stringify(batch));
}
