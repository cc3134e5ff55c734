/** The rows of links, attention and synapses. Times are ms since the epoch. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs, timestampOf } from '@svc/runtime/sql-time.ts';
import type { Attended, AttendedHere } from './domain/attention.ts';
import type { Link } from './domain/link.ts';
import { SYNAPSES, type Synapse } from './domain/synapse.ts';

/** False when it is there. */
export async function insertLink(tx: SqlClient, brainId: string, { from, to, type }: Link, by: string) {
  const inserted = await tx.$executeRawUnsafe(
    `INSERT INTO brain.brain_links (brain_id, "from", "to", type, by, at)
     VALUES ($1, $2, $3, $4, $5, clock_timestamp()) ON CONFLICT DO NOTHING`,
    brainId,
    from,
    to,
    type,
    by,
  );
  return inserted === 1;
}

export function readLinks(client: SqlClient, brainId: string): Promise<Link[]> {
  return client.$queryRawUnsafe<Link[]>(
    'SELECT "from", "to", type FROM brain.brain_links WHERE brain_id = $1 ORDER BY "from", "to", type',
    brainId,
  );
}

export function readAttention(client: SqlClient, brainId: string): Promise<AttendedHere[]> {
  return client.$queryRawUnsafe<AttendedHere[]>(
    `SELECT workspace, name, score, ${epochMs('at')} AS at FROM brain.brain_attention WHERE brain_id = $1
     ORDER BY workspace, name`,
    brainId,
  );
}

/** What asks for it, of whom the parameters say; `workspace` empty = of those who are in none. */
export function attentionOf(brainId: string, workspace: string): string {
  return `SELECT name, score, ${epochMs('at')} AS at FROM brain.brain_attention
    WHERE brain_id = ${brainId} AND workspace = ${workspace} ORDER BY name`;
}

export function readAttentionOf(client: SqlClient, brainId: string, workspace: string): Promise<Attended[]> {
  return client.$queryRawUnsafe<Attended[]>(attentionOf('$1', '$2'), brainId, workspace);
}

export async function writeAttention(tx: SqlClient, brainId: string, attended: AttendedHere): Promise<void> {
  const { workspace, name, score, at } = attended;
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.brain_attention (brain_id, workspace, name, score, at)
     VALUES ($1, $2, $3, $4::float8, ${timestampOf('$5')})
     ON CONFLICT (brain_id, workspace, name) DO UPDATE SET score = excluded.score, at = excluded.at`,
    brainId,
    workspace,
    name,
    score,
    at,
  );
}

export async function dropAttention(
  tx: SqlClient,
  brainId: string,
  gone: readonly Pick<AttendedHere, 'workspace' | 'name'>[],
): Promise<void> {
  if (gone.length === 0) return;
  await tx.$executeRawUnsafe(
    `DELETE FROM brain.brain_attention a USING jsonb_to_recordset($2::jsonb) AS g(workspace text, name text)
     WHERE a.brain_id = $1 AND a.workspace = g.workspace AND a.name = g.name`,
    brainId,
    JSON.stringify(gone),
  );
}

/** Edges from one brain. */
interface SynapsesFrom {
  readonly workspace: string;
  readonly fromId: string;
}

export function readSynapses(tx: SqlClient, { workspace, fromId }: SynapsesFrom): Promise<Synapse[]> {
  return tx.$queryRawUnsafe<Synapse[]>(
    `SELECT to_id AS "toId", weight, ${epochMs('at')} AS at FROM brain.brain_synapses
     WHERE workspace = $1 AND from_id = $2`,
    workspace,
    fromId,
  );
}

export async function writeSynapse(
  tx: SqlClient,
  { workspace, fromId }: SynapsesFrom,
  { toId, weight, at }: Synapse,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `INSERT INTO brain.brain_synapses (workspace, from_id, to_id, weight, at)
     VALUES ($1, $2, $3, $4::float8, ${timestampOf('$5')})
     ON CONFLICT (workspace, from_id, to_id) DO UPDATE SET weight = excluded.weight, at = excluded.at`,
    workspace,
    fromId,
    toId,
    weight,
    at,
  );
}

export async function dropSynapse(tx: SqlClient, { workspace, fromId }: SynapsesFrom, toId: string): Promise<void> {
  await tx.$executeRawUnsafe(
    'DELETE FROM brain.brain_synapses WHERE workspace = $1 AND from_id = $2 AND to_id = $3',
    workspace,
    fromId,
    toId,
  );
}

/** In which order edges weigh, at whatever time they are compared: all of them fade alike. */
const WEIGHT = `ln(weight) / ln(2::float8) + ${epochMs('at')} / ${SYNAPSES.halfLifeMs}`;

/** Keeps the heaviest of a workspace, and the one edge. */
export async function dropLightest(tx: SqlClient, { workspace, fromId }: SynapsesFrom, toId: string): Promise<void> {
  await tx.$executeRawUnsafe(
    `DELETE FROM brain.brain_synapses WHERE ctid = ANY(ARRAY(
       SELECT ctid FROM brain.brain_synapses WHERE workspace = $1
       ORDER BY (from_id = $2 AND to_id = $3) DESC, ${WEIGHT} DESC OFFSET ${SYNAPSES.ofOneWorkspace}))`,
    workspace,
    fromId,
    toId,
  );
}

/** By the names that the brains have now; those of a deleted one are missing. */
export interface NamedSynapse {
  readonly from: string;
  readonly to: string;
  readonly weight: number;
}

/** The heaviest first. */
export function readNamedSynapses(client: SqlClient, workspace: string): Promise<NamedSynapse[]> {
  return client.$queryRawUnsafe<NamedSynapse[]>(
    `SELECT f.brain AS "from", t.brain AS "to", s.weight FROM brain.brain_synapses s
     JOIN brain.brain_homes f ON f.id = s.from_id JOIN brain.brain_homes t ON t.id = s.to_id
     WHERE s.workspace = $1 ORDER BY ${WEIGHT.replaceAll(/\b(weight|at)\b/g, 's.$1')} DESC, 1, 2`,
    workspace,
  );
}
