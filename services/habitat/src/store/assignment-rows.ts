/** Assignments as rows. Whoever changes those of an organisation has locked its row. */
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Place } from '../domain/assignment.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { lockNames } from './name-lock.ts';

/** Times in ms since the epoch. */
export interface AssignmentRow extends Place {
  readonly agentId: string;
  readonly assignedAt: number;
  readonly assignedBy: string;
}

interface LockedOrg {
  readonly id: string;
  readonly owner: string | null;
}

const COLUMNS = `agent_id AS "agentId", org, dept, team, role, reports_to AS "reportsTo",
  ${epochMs('assigned_at')} AS "assignedAt", assigned_by AS "assignedBy"`;

/** The assignment of the identity, which nobody else changes until the transaction ends; null = there is none. */
export async function holdAssignment(tx: SqlClient, agentId: string): Promise<AssignmentRow | null> {
  await lockNames(tx, [`assign:${agentId}`]);
  const [row] = await tx.$queryRawUnsafe<AssignmentRow[]>(
    `SELECT ${COLUMNS} FROM habitat.assignments WHERE agent_id = $1`,
    agentId,
  );
  return row ?? null;
}

/** In one order everywhere, so that two who lock the same ones never wait for each other. */
export async function lockOrgs(tx: SqlClient, ids: readonly string[]): Promise<ReadonlyMap<string, LockedOrg>> {
  const rows = await tx.$queryRawUnsafe<LockedOrg[]>(
    'SELECT id, owner FROM habitat.orgs WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE',
    ids,
  );
  return new Map(rows.map((org) => [org.id, org]));
}

/** Whom somebody reports to, and so on upwards, itself first; empty = not assigned in the organisation. */
export async function readSuperiors(tx: SqlClient, org: string, agentId: string): Promise<string[]> {
  const rows = await tx.$queryRawUnsafe<{ id: string }[]>(
    `WITH RECURSIVE chain(id, above) AS (
       SELECT agent_id, reports_to FROM habitat.assignments WHERE org = $1 AND agent_id = $2
       UNION SELECT s.agent_id, s.reports_to FROM habitat.assignments s JOIN chain c ON s.agent_id = c.above
         WHERE s.org = $1)
     SELECT id FROM chain`,
    org,
    agentId,
  );
  return rows.map(({ id }) => id);
}

/** Of a team, without one of them. */
export async function countOthers(client: SqlClient, team: string, agentId: string): Promise<number> {
  const [row] = await client.$queryRawUnsafe<{ members: number }[]>(
    'SELECT count(*)::int AS members FROM habitat.assignments WHERE team = $1 AND agent_id <> $2',
    team,
    agentId,
  );
  return row?.members ?? 0;
}

export async function writeAssignment(
  tx: SqlClient,
  agentId: string,
  { org, dept, team, role, reportsTo }: Place,
  by: string,
): Promise<AssignmentRow> {
  const [row] = await tx.$queryRawUnsafe<AssignmentRow[]>(
    `INSERT INTO habitat.assignments (agent_id, org, dept, team, role, reports_to, assigned_at, assigned_by)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), $7)
     ON CONFLICT (agent_id) DO UPDATE SET org = excluded.org, dept = excluded.dept, team = excluded.team,
       role = excluded.role, reports_to = excluded.reports_to, assigned_at = excluded.assigned_at,
       assigned_by = excluded.assigned_by
     RETURNING ${COLUMNS}`,
    agentId,
    org,
    dept,
    team,
    role,
    reportsTo,
    by,
  );
  if (row === undefined) throw new Error('a written assignment was not returned');
  return row;
}

/** Whoever reported to somebody who leaves an organisation now reports to the one above. */
export async function closeRanks(tx: SqlClient, { agentId, org, reportsTo }: AssignmentRow): Promise<void> {
  await tx.$executeRawUnsafe(
    'UPDATE habitat.assignments SET reports_to = $3 WHERE reports_to = $1 AND org = $2',
    agentId,
    org,
    reportsTo,
  );
}

/** The end of an agent's assignment. */
export async function removeAssignment(tx: SqlClient, agentId: string): Promise<void> {
  const assignment = await holdAssignment(tx, agentId);
  if (assignment === null) return;
  await lockOrgs(tx, [assignment.org]);
  await tx.$executeRawUnsafe('DELETE FROM habitat.assignments WHERE agent_id = $1', agentId);
  await closeRanks(tx, assignment);
}
