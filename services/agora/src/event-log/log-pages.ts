/** Reading the event log in steps: each looks at a bounded number of rows and hands out those that its reader could hear. */
import type { EventRecord } from '@svc/contract/events.ts';
import type { Listener } from '@svc/contract/event-visibility.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';

/** Rows that a step looks at, and rows that it hands out. */
const LOOKED_AT = 2000;
const HANDED_OUT = 500;

/** Where reading goes on: `onward` after `seq`, or back before it; null = from the newest. */
export interface Place {
  readonly onward: boolean;
  readonly seq: string | null;
}

export interface LogRow {
  readonly seq: string;
  readonly module: string;
  readonly event: EventRecord;
}

export interface Step {
  readonly rows: readonly LogRow[];
  readonly looked: number;
  /** Where the next step begins; null = there is nothing beyond. */
  readonly next: Place | null;
}

export interface LogPages {
  /** `names`: null = all. What no rule of `listener` could ever admit is left out here already. */
  step(place: Place, names: readonly string[] | null, listener: Listener): Promise<Step>;
  /** Where the event lies; null = it is not in the log. */
  find(id: string): Promise<string | null>;
  /** All names that the log knows. */
  names(): Promise<string[]>;
}

interface Row extends Omit<EventRecord, 'workspace'> {
  readonly through: string;
  readonly looked: number;
  readonly seq: string | null;
  readonly module: string;
  readonly workspace: string | null;
}

export function createLogPages(client: SqlClient): LogPages {
  return {
    async step(place, names, listener) {
      const rows = await client.$queryRawUnsafe<Row[]>(
        stepSql(place.onward, names !== null),
        ...asked(place, names, listener),
      );
      return stepOf(rows, place);
    },
    async find(id) {
      const [found] = await client.$queryRawUnsafe<{ seq: string }[]>(
        'SELECT seq::text AS seq FROM agora.event_log WHERE id = $1',
        id,
      );
      return found?.seq ?? null;
    },
    async names() {
      const rows = await client.$queryRawUnsafe<{ name: string }[]>(
        `WITH RECURSIVE known AS (
           (SELECT name FROM agora.event_log ORDER BY name LIMIT 1)
           UNION ALL
           SELECT (SELECT name FROM agora.event_log e WHERE e.name > known.name ORDER BY name LIMIT 1) FROM known
           WHERE known.name IS NOT NULL
         ) SELECT name FROM known WHERE name IS NOT NULL`,
      );
      return rows.map(({ name }) => name);
    },
  };
}

const NEWEST = '9223372036854775807';

function asked({ seq }: Place, names: readonly string[] | null, { operator, roles }: Listener): unknown[] {
  const workspaces = Object.keys(roles);
  const ruled = workspaces.filter((workspace) => roles[workspace]?.includes('admin') === true);
  return [seq ?? NEWEST, operator, workspaces, ruled, ...(names === null ? [] : [names])];
}

/** With names, each of them is looked for in its own order: a rare one costs no way through all others. */
function stepSql(onward: boolean, isNamed: boolean): string {
  const [beyond, order, edge] = onward ? ['>', 'ASC', 'max'] : ['<', 'DESC', 'min'];
  const part = (where: string) =>
    `SELECT e.seq FROM agora.event_log e WHERE ${where} e.seq ${beyond} $1::bigint ORDER BY e.seq ${order} LIMIT ${LOOKED_AT}`;
  const looked = isNamed
    ? `SELECT s.seq FROM unnest($5::text[]) AS n(name) CROSS JOIN LATERAL (${part('e.name = n.name AND')}) s
       ORDER BY s.seq ${order} LIMIT ${LOOKED_AT}`
    : part('');
  return `WITH looked AS MATERIALIZED (${looked}),
    edge AS (SELECT ${edge}(seq)::text AS through, count(*)::int AS looked FROM looked)
    SELECT edge.through, edge.looked, told.* FROM edge LEFT JOIN (
      SELECT e.seq::text AS seq, e.id, e.name, ${epochMs('e.at')} AS at, e.node, e.module, e.workspace, e.payload, e.seq AS "order"
      FROM looked JOIN agora.event_log e USING (seq)
      WHERE $2::boolean OR ((e.workspace IS NULL OR e.workspace = ANY($3::text[])) AND e.audience <> 'operator'
        AND (e.audience <> 'admins' OR e.workspace = ANY($4::text[])))
      ORDER BY e.seq ${order} LIMIT ${HANDED_OUT}
    ) told ON true ORDER BY told."order" ${order}`;
}

function stepOf(found: readonly Row[], { onward }: Place): Step {
  const [first] = found;
  const looked = first?.looked ?? 0;
  const rows = found.flatMap((row) => logRowOf(row) ?? []);
  const isCut = rows.length === HANDED_OUT;
  const through = isCut ? rows.at(-1)?.seq : first?.through;
  const goesOn = through !== undefined && (isCut || looked === LOOKED_AT);
  return { rows, looked, next: goesOn ? { onward, seq: through } : null };
}

function logRowOf({ seq, id, name, at, node, module, workspace, payload }: Row): LogRow | null {
  if (seq === null) return null;
  const event = { id, name, at, node, payload, ...(workspace === null ? {} : { workspace }) };
  return { seq, module, event };
}
