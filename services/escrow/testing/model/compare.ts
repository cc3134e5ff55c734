/** The rows of one sequence of the model test, held against the reference. */
import { deepStrictEqual } from 'node:assert/strict';
import type { Database } from '@svc/runtime/database.ts';
import { callersName, type ReferenceLedger } from './reference-ledger.ts';
import { ACCOUNTS, named, OWNERS, POOL } from './steps.ts';

/** What belongs to one sequence. */
export interface Sequence {
  readonly prefix: string;
  /** Number of the last event before it. */
  readonly firstEvent: string;
}

const TURN = /-\d$/;

interface State {
  readonly accounts: Record<string, string>;
  readonly members: Record<string, string>;
  readonly holds: Record<string, string>;
  readonly events: number;
}

/** By names and owners, which are indexed: others' rows are many. */
const READ = `
  SELECT
    (SELECT coalesce(json_object_agg(account_id, concat_ws(' ', "limit", spent, earned, pending)), '{}')
       FROM escrow.accounts WHERE account_id = ANY($1::text[])) AS accounts,
    (SELECT coalesce(json_object_agg('ws:' || workspace_id || ' ' || agent_id,
       concat_ws(' ', coalesce("limit"::text, '-'), spent, pending)), '{}')
       FROM escrow.members WHERE workspace_id = substr($2, 4)) AS members,
    (SELECT coalesce(json_object_agg(name, concat_ws(' ', state, amount, coalesce(captured::text, '-'))), '{}')
       FROM (SELECT DISTINCT ON (name) * FROM
             (SELECT *, CASE owner_kind WHEN 'caller' THEN owner || '/' ELSE '' END || hold_id AS name
              FROM escrow.holds WHERE owner = ANY($3::text[])) named
             ORDER BY name, seq DESC) h) AS holds,
    (SELECT count(*)::int FROM escrow.outbox WHERE position IS NULL AND written > $4) AS events`;

async function readState(pool: Database['pool'], { prefix, firstEvent }: Sequence): Promise<State> {
  const accounts = ACCOUNTS.map((name) => named(prefix, name));
  const owners = OWNERS.map((name) => prefix + name);
  const { rows } = await pool.query<State>(READ, [accounts, named(prefix, POOL), owners, firstEvent]);
  const [state] = rows;
  if (state === undefined) throw new Error('a statement without a condition gave no row');
  return state;
}

/** The events that are there now belong to earlier sequences. */
export async function lastEvent(pool: Database['pool']): Promise<string> {
  const { rows } = await pool.query<{ last: string }>('SELECT coalesce(max(written), 0) AS last FROM escrow.outbox');
  return rows[0]?.last ?? '0';
}

function stateOf(reference: ReferenceLedger, prefix: string): State {
  const { accounts, members, holds, events } = reference;
  return {
    accounts: record(accounts, (name, { limit, spent, earned, pending }) => [
      named(prefix, name),
      [limit, spent, earned, pending].join(' '),
    ]),
    members: record(members, (name, { limit, spent, pending }) => [
      named(prefix, name),
      [limit ?? '-', spent, pending].join(' '),
    ]),
    holds: record(holds, (_name, { id, owner, service, state, amount, captured }) => [
      service ? prefix + id : callersName(prefix + owner, prefix + id),
      [state, amount, captured ?? '-'].join(' '),
    ]),
    events,
  };
}

function record<Value>(
  map: ReadonlyMap<string, Value>,
  entry: (name: string, value: Value) => readonly [string, string],
): Record<string, string> {
  return Object.fromEntries([...map].map(([name, value]) => entry(name, value)));
}

/** Throws when the rows are not what the reference says. */
export async function assertSameState(
  pool: Database['pool'],
  sequence: Sequence,
  reference: ReferenceLedger,
): Promise<void> {
  deepStrictEqual(sorted(await readState(pool, sequence)), sorted(stateOf(reference, sequence.prefix)));
}

/** Of holds that were placed at once, each with an id of its own, any may have been first. */
function sorted({ accounts, members, holds, events }: State): unknown {
  const rows = (part: Record<string, string>): string[] =>
    Object.entries(part)
      .map(([name, value]) => `${name.replace(TURN, '')}: ${value}`)
      .sort();
  return { accounts: rows(accounts), members: rows(members), holds: rows(holds), events };
}
