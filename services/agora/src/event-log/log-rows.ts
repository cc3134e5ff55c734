/** Rows of the event log: written by one process at a time, each event once, in numbers without an order of their own. */
import { randomBytes } from 'node:crypto';
import { audienceOf } from '@svc/contract/event-visibility.ts';
import type { EventRecord, PositionedEvent } from '@svc/contract/events.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, isAhead, timestampOf } from '@svc/runtime/sql-time.ts';

/** Whoever does not say for so long that it writes the log has left it to others. */
const HELD = "interval '4 seconds'";
const SWEPT_AT_ONCE = 5000;

/** Events of one service that follow each other. `lost`: so many before them it keeps no more. */
interface Portion {
  readonly service: string;
  readonly events: readonly PositionedEvent[];
  readonly lost: number;
}

export interface LogState {
  readonly rows: number;
  readonly oldestAt: number | null;
  readonly newestAt: number | null;
}

export interface LogPosition {
  readonly service: string;
  readonly position: number;
  readonly lost: number;
}

export interface Retention {
  readonly days: number;
  readonly rows: number;
}

export interface LogRows {
  /** Whether `holder` is who writes the log from now on. `alone`: no other process can be. */
  claim(holder: string, alone: boolean): Promise<boolean>;
  release(holder: string): Promise<void>;
  positions(): Promise<LogPosition[]>;
  /** With the position of its service, or not at all: false = another process writes the log. */
  append(holder: string, portion: Portion): Promise<boolean>;
  state(): Promise<LogState>;
  /** Of the first event in it; null = it is empty. */
  oldestAt(): Promise<number | null>;
  /** Deletes what is past its time; returns how many. */
  sweep(retention: Retention): Promise<number>;
  secret(): Promise<string>;
}

export function createLogRows(client: SqlClient): LogRows {
  return {
    async claim(holder, alone) {
      const held = await client.$queryRawUnsafe<object[]>(
        `UPDATE agora.log_head SET holder = $1, held_until = clock_timestamp() + ${HELD}
         WHERE $2::boolean OR holder IS NULL OR holder = $1 OR held_until < clock_timestamp()
           OR ${isAhead(`held_until - ${HELD}`)} RETURNING one`,
        holder,
        alone,
      );
      return held.length > 0;
    },
    async release(holder) {
      await client.$executeRawUnsafe('UPDATE agora.log_head SET holder = NULL WHERE holder = $1', holder);
    },
    positions: () =>
      client.$queryRawUnsafe<LogPosition[]>(
        'SELECT service, position::float8 AS position, lost::float8 AS lost FROM agora.log_position ORDER BY service',
      ),
    append: (holder, portion) => append(client, holder, portion),
    async state() {
      const [state] = await client.$queryRawUnsafe<LogState[]>(
        `SELECT count(*)::int AS rows, ${epochMs('min(at)')} AS "oldestAt", ${epochMs('max(at)')} AS "newestAt"
         FROM agora.event_log`,
      );
      return state ?? { rows: 0, oldestAt: null, newestAt: null };
    },
    async oldestAt() {
      const [oldest] = await client.$queryRawUnsafe<{ at: number }[]>(
        `SELECT ${epochMs('at')} AS at FROM agora.event_log ORDER BY seq LIMIT 1`,
      );
      return oldest?.at ?? null;
    },
    sweep: (retention) => sweep(client, retention),
    async secret() {
      await client.$executeRawUnsafe(
        'INSERT INTO agora.log_head (secret) VALUES ($1) ON CONFLICT DO NOTHING',
        randomBytes(32).toString('hex'),
      );
      // By itself: beside the insert it would not see what another process that starts at the same time has made.
      const [head] = await client.$queryRawUnsafe<{ secret: string }[]>('SELECT secret FROM agora.log_head');
      if (head === undefined) throw new Error('the head of the event log is missing');
      return head.secret;
    },
  };
}

/** Locking the head first makes numbers visible in their order, so that no reader passes over one that comes later. */
async function append(client: SqlClient, holder: string, { service, events, lost }: Portion): Promise<boolean> {
  const last = events.at(-1);
  if (last === undefined) return true;
  const rows = events.map(({ event }, index) => rowOf(event, index + 1));
  const [outcome] = await client.$queryRawUnsafe<{ held: boolean }[]>(
    `WITH head AS (
       UPDATE agora.log_head SET seq = seq + $1::int WHERE holder = $2 RETURNING seq - $1::int AS before
     ), moved AS (
       INSERT INTO agora.log_position (service, position, lost) SELECT $3, $4::bigint, $5::bigint FROM head
       ON CONFLICT (service) DO UPDATE SET position = excluded.position, lost = log_position.lost + excluded.lost
     ), kept AS (
       INSERT INTO agora.event_log (seq, id, name, at, node, module, workspace, audience, payload)
       SELECT head.before + told.line, told.id, told.name, ${timestampOf('told.at')}, told.node, $3, told.workspace,
         told.audience, told.payload
       FROM head CROSS JOIN json_to_recordset($6::json) AS told(line int, id text, name text, at float8, node text,
         workspace text, audience text, payload json)
       ON CONFLICT (id) DO NOTHING
     ), ended AS (${UNSUBSCRIBE_ENDED}), freed AS (${FREE_INBOXES})
     SELECT EXISTS (SELECT 1 FROM head) AS held`,
    rows.length,
    holder,
    service,
    last.position,
    lost,
    JSON.stringify(rows),
  );
  return outcome?.held === true;
}

/** Who was killed hears nothing any more, and takes up no place among those who do. */
const UNSUBSCRIBE_ENDED = `DELETE FROM agora.subscriptions s
  USING head CROSS JOIN json_to_recordset($6::json) AS told(name text, payload json)
  WHERE told.name = 'agent:killed' AND s.actor = told.payload ->> 'agentId'`;

/** Whoever began the channel of an agent may begin another one once that is killed: it counts under nobody but itself. */
const FREE_INBOXES = `UPDATE agora.channels c SET family = c.channel
  FROM head CROSS JOIN json_to_recordset($6::json) AS told(name text, payload json)
  WHERE told.name = 'agent:killed' AND c.channel = 'agent:' || (told.payload ->> 'agentId')`;

function rowOf({ id, name, at, node, workspace = '', payload }: EventRecord, line: number): object {
  const audience = audienceOf(name);
  return { line, id, name, at, node, workspace: workspace === '' ? null : workspace, audience, payload };
}

async function sweep(client: SqlClient, { days, rows }: Retention): Promise<number> {
  let swept = 0;
  for (;;) {
    const gone = await client.$executeRawUnsafe(
      `DELETE FROM agora.event_log WHERE seq IN (SELECT seq FROM agora.event_log ORDER BY seq LIMIT ${SWEPT_AT_ONCE})
         AND (at < now() - make_interval(days => $1::int)
           OR seq <= (SELECT seq FROM agora.log_head) - $2::bigint)`,
      days,
      rows,
    );
    swept += gone;
    if (gone < SWEPT_AT_ONCE) return swept;
  }
}
