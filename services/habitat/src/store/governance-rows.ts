/** Decisions as rows. They are never changed; a later one stands instead of an earlier one. */
import type { SqlClient } from '@svc/runtime/database.ts';
import { allow, type Decision } from '@svc/contract/decision.ts';
import { actorOf } from '../domain/actor.ts';
import { judge, type Judgement, type StandingDecision } from '../domain/governance.ts';
import { holdsRole } from '../roles.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { lockNames } from './name-lock.ts';
import type { HabitatUnit } from './unit.ts';

/** `at` in ms since the epoch. */
export interface Decided extends Judgement {
  readonly id: string;
  readonly topic: string;
  readonly context: Record<string, unknown>;
  /** Made by somebody whose decisions bind the workspace; otherwise it is advice. */
  readonly standing: boolean;
  readonly by: string;
  readonly workspace: string;
  readonly at: number;
}

const AT = `${epochMs('at')} AS at`;
const COLUMNS = `id, topic, context, checks, allowed, reason, reasons, standing, "by", workspace, ${AT}`;

export type TopicWish = Pick<Decided, 'topic' | 'context' | 'workspace'>;

/** Binds when an operator or an admin of the workspace makes it. */
export async function decideTopic(
  unit: HabitatUnit,
  { topic, context, workspace }: TopicWish,
): Promise<Decision<Decided, never>> {
  const { tx, caller, ids } = unit;
  const { name: by } = actorOf(caller);
  const standing = await holdsRole(tx, caller, workspace, 'admin');
  const id = ids.next('gov');
  const written = await insertDecision(tx, { id, topic, context, ...judge(context), standing, by, workspace });
  const { allowed } = written;
  unit.emit({ name: 'governance:decided', workspace, payload: { decision: id, topic, allowed, standing, by } });
  if (standing) unit.audit({ event: 'governance:decided', workspace, data: { decision: id, topic, allowed, by } });
  return allow(written);
}

/** Decisions of a workspace come one after the other, so that the latest one is the one that was made last. */
async function insertDecision(tx: SqlClient, decided: Omit<Decided, 'at'>): Promise<Decided> {
  await lockNames(tx, [`governance:${decided.workspace}`]);
  const { id, topic, context, checks, allowed, reason, reasons, standing, by, workspace } = decided;
  const { entity } = context;
  const [row] = await tx.$queryRawUnsafe<{ at: number }[]>(
    `INSERT INTO habitat.governance_decisions
       (id, topic, context, checks, allowed, reason, reasons, standing, entity, "by", workspace, at)
     VALUES ($1, $2, $3::json, $4::json, $5, $6, $7::text[], $8, $9, $10, $11, clock_timestamp()) RETURNING ${AT}`,
    id,
    topic,
    JSON.stringify(context),
    JSON.stringify(checks),
    allowed,
    reason,
    reasons,
    standing,
    typeof entity === 'string' ? entity : null,
    by,
    workspace,
  );
  if (row === undefined) throw new Error('a decision was not written');
  return { ...decided, at: row.at };
}

/** The latest that binds in the workspace, for everybody or for this entity; null = none. */
export async function readStandingDecision(
  client: SqlClient,
  workspace: string,
  topic: string,
  entity: string,
): Promise<StandingDecision | null> {
  const [row] = await client.$queryRawUnsafe<StandingDecision[]>(
    `SELECT id, allowed FROM habitat.governance_decisions
     WHERE workspace = $1 AND topic = $2 AND standing AND (entity IS NULL OR entity = $3)
     ORDER BY at DESC, id DESC LIMIT 1`,
    workspace,
    topic,
    entity,
  );
  return row ?? null;
}

/** Newest first, one more than the limit when there are more. `workspace` null = of all; `after` = `<at>/<id>` or null. */
export function listDecisions(
  client: SqlClient,
  workspace: string | null,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<Decided[]> {
  const [at = null, id = null] = after?.split('/') ?? [];
  return client.$queryRawUnsafe<Decided[]>(
    `SELECT ${COLUMNS} FROM habitat.governance_decisions
     WHERE ($1::text IS NULL OR workspace = $1)
       AND ($2::float8 IS NULL OR (at, id) < (to_timestamp($2::float8 / 1000), $3::text))
     ORDER BY governance_decisions.at DESC, id DESC LIMIT $4::int`,
    workspace,
    at === null ? null : Number(at),
    id,
    limit + 1,
  );
}

interface DecisionCounts {
  readonly total: number;
  readonly allowed: number;
  /** How many decisions each reason stood first against. */
  readonly reasons: Record<string, number>;
}

export async function countDecisions(client: SqlClient, workspace: string | null): Promise<DecisionCounts> {
  const rows = await client.$queryRawUnsafe<{ reason: string | null; n: number }[]>(
    `SELECT reason, count(*)::int AS n FROM habitat.governance_decisions
     WHERE $1::text IS NULL OR workspace = $1 GROUP BY reason ORDER BY reason`,
    workspace,
  );
  const total = rows.reduce((sum, { n }) => sum + n, 0);
  const against = rows.flatMap(({ reason, n }) => (reason === null ? [] : [[reason, n] as const]));
  const denied = against.reduce((sum, [, n]) => sum + n, 0);
  return { total, allowed: total - denied, reasons: Object.fromEntries(against) };
}
