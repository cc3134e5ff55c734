/**
 * Events leave a service through a table: written in the transaction of the change, numbered by the relay in the order
 * they were written, then sent over the bus. The bus may lose a message; whoever misses a number asks for it here.
 */
import { EVENTS, type EventName, type EventPayload, type PositionedEvent } from '@svc/contract/events.ts';
import { type EventBatch, SUBJECTS } from '@svc/contract/discovery.ts';
import type { Bus, Subscription } from './bus.ts';
import type { SqlClient } from './database.ts';
import { answerPage, EVENT_COLUMNS, type EventRow, positionedEvent, readHead } from './event-log.ts';
import type { Platform } from './platform.ts';

export const EVENTS_KEPT_DAYS = 7;
export const EVENTS_KEPT_ROWS = 1_000_000;
const RELAY_BATCH = 500;
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

export interface Outbox {
  /** Writes events in the caller's transaction; call `kick` after it committed. Throws on a payload that does not fit. */
  write(transaction: SqlClient, events: readonly NewEvent[]): Promise<void>;
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

export interface OutboxOptions {
  readonly service: string;
  readonly schema: string;
  readonly client: SqlClient;
  /** No other process relays the same table. */
  readonly exclusive: boolean;
  /** Runs `work` in one transaction. */
  readonly transact: <Value>(work: (transaction: SqlClient) => Promise<Value>) => Promise<Value>;
  readonly platform: Pick<Platform, 'bus' | 'clock' | 'ids' | 'log' | 'node'>;
}

export function createOutbox(options: OutboxOptions): Outbox {
  const { platform, service, schema, client } = options;
  const relay = createRelay(options);
  const subscriptions: Subscription[] = [];
  let heartbeat: NodeJS.Timeout | null = null;

  async function beat(): Promise<void> {
    try {
      publishBatch(platform.bus, service, await readHead(client, schema), []);
    } catch (error) {
      platform.log.debug({ err: error }, 'no event heartbeat');
    }
  }

  return {
    write: (transaction, events) => writeEvents(options, transaction, events),
    kick: relay.kick,
    flush: relay.flush,
    sweep: () => deleteOldEvents(client, schema),
    async start() {
      const answer = (payload: string) => answerPage(client, schema, payload);
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

async function writeEvents(
  { schema, platform }: OutboxOptions,
  transaction: SqlClient,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ name, payload, workspace }) => ({
    id: platform.ids.next('evt'),
    name,
    payload: EVENTS[name].payload.parse(payload),
    workspace: workspace ?? null,
    at: platform.clock.now(),
  }));
  await transaction.$executeRawUnsafe(
    `INSERT INTO "${schema}".outbox (id, name, payload, workspace, node, at)
     SELECT e.id, e.name, e.payload, e.workspace, $2, to_timestamp(e.at / 1000.0)
     FROM json_to_recordset($1::json) AS e(id text, name text, payload jsonb, workspace text, at double precision)`,
    JSON.stringify(rows),
    platform.node.nodeId,
  );
}

function deleteOldEvents(client: SqlClient, schema: string): Promise<number> {
  return client.$executeRawUnsafe(
    `DELETE FROM "${schema}".outbox WHERE position IS NOT NULL AND (at < now() - interval '${EVENTS_KEPT_DAYS} days'
       OR position <= (SELECT head FROM "${schema}".outbox_head) - ${EVENTS_KEPT_ROWS})`,
  );
}

/** One relay round at a time in this process; the locked head row keeps replicas from numbering at once. */
function createRelay(options: OutboxOptions) {
  const { service, platform } = options;
  let running: Promise<void> | null = null;
  let wanted = false;
  /** Somebody waits for the end: no gathering. */
  let urgent = false;

  async function round(): Promise<number> {
    const rows = await numberEvents(options);
    const events = rows.map(positionedEvent);
    const head = events.at(-1)?.position;
    if (head !== undefined) publishBatch(platform.bus, service, head, events);
    return rows.length;
  }

  async function run(): Promise<void> {
    while (wanted) {
      if (!urgent) await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      wanted = false;
      try {
        while ((await round()) === RELAY_BATCH);
      } catch (error) {
        platform.log.warn({ err: error }, 'events wait: the relay could not read or number them');
      }
    }
    running = null;
  }

  function kick(): void {
    wanted = true;
    running ??= run();
  }

  async function flush(): Promise<void> {
    urgent = true;
    kick();
    while (running !== null) await running;
    urgent = false;
  }

  return { kick, flush, close: flush };
}

/**
 * Numbers what waits. Among several processes the head row is locked before the statement that looks for it, because a
 * statement sees what was there when it began.
 */
function numberEvents({ schema, client, transact, exclusive }: OutboxOptions): Promise<EventRow[]> {
  if (exclusive) return assignPositions(client, schema);
  return transact(async (transaction) => {
    await transaction.$queryRawUnsafe(`SELECT head FROM "${schema}".outbox_head FOR UPDATE`);
    return assignPositions(transaction, schema);
  });
}

function assignPositions(client: SqlClient, schema: string): Promise<EventRow[]> {
  return client.$queryRawUnsafe<EventRow[]>(
    `WITH next AS (
       SELECT id, (SELECT head FROM "${schema}".outbox_head) + row_number() OVER (ORDER BY written) AS position
       FROM "${schema}".outbox WHERE position IS NULL ORDER BY written LIMIT ${RELAY_BATCH}
     ), numbered AS (
       UPDATE "${schema}".outbox o SET position = next.position FROM next WHERE o.id = next.id
       RETURNING o.id, o.position, o.name, o.payload, o.workspace, o.node, o.at
     ), moved AS (
       UPDATE "${schema}".outbox_head SET head = head + (SELECT count(*) FROM next) WHERE EXISTS (SELECT 1 FROM next)
     )
     SELECT ${EVENT_COLUMNS} FROM numbered ORDER BY position`,
  );
}

function publishBatch(bus: Bus, service: string, head: number, events: readonly PositionedEvent[]): void {
  const batch: EventBatch = { service, head, events };
  bus.publish(SUBJECTS.events(service), JSON.stringify(batch));
}
