/** Workspaces as rows. A change that concerns one locks its row first. */
import { foldCase } from '@svc/contract/names.ts';
import { DEFAULT_POLICY, type Policy } from '@svc/contract/policy.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Actor } from '../domain/actor.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { OF_FAMILY, readPlaced } from './family-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { lockNames } from './name-lock.ts';

/** `policy`: what resources claimed for the workspace get; null = the default one. Times in ms since the epoch. */
export interface WorkspaceRow {
  readonly workspaceId: string;
  readonly name: string;
  readonly owner: string | null;
  readonly policy: Policy | null;
  readonly geometry: string | null;
  readonly createdAt: number;
}

export const WORKSPACE_COLUMNS = `workspace_id AS "workspaceId", name, owner, policy, geometry,
  ${epochMs('created_at')} AS "createdAt"`;

/** What a resource claimed for the workspace gets. */
export function boundaryOf({ workspaceId, policy }: Pick<WorkspaceRow, 'workspaceId' | 'policy'>): Policy {
  return { ...(policy ?? DEFAULT_POLICY), container: workspaceId };
}

/** The row, locked until the transaction ends; null = no such workspace. */
export function lockWorkspace(tx: SqlClient, workspaceId: string): Promise<WorkspaceRow | null> {
  return readOne(tx, 'workspace_id = $1 FOR UPDATE', workspaceId);
}

/** What is at home there has this boundary from now on where it has none of its own; null = it has none. */
export async function noteBoundary(tx: SqlClient, workspaceId: string, policy: Policy | null): Promise<void> {
  const text = policy === null ? null : JSON.stringify(policy);
  await tx.$executeRawUnsafe(
    'UPDATE habitat.workspaces SET policy = $2::json WHERE workspace_id = $1',
    workspaceId,
    text,
  );
}

/** The workspace that has the name in whatever case. */
export function readWorkspaceNamed(tx: SqlClient, workspaceId: string): Promise<WorkspaceRow | null> {
  return readOne(tx, 'folded = $1', foldCase(workspaceId));
}

/** Null = nobody owns it, or there is none. */
export async function readOwner(client: SqlClient, workspaceId: string): Promise<string | null> {
  return (await readOne(client, 'workspace_id = $1', workspaceId))?.owner ?? null;
}

export async function workspaceExists(client: SqlClient, workspaceId: string): Promise<boolean> {
  return (await readOne(client, 'workspace_id = $1', workspaceId)) !== null;
}

interface NewWorkspace {
  readonly workspaceId: string;
  readonly name?: string | undefined;
  readonly owner: string | null;
  readonly policy?: Policy | undefined;
  /** Address of its name; null = not known. */
  readonly geometry?: string | null;
  readonly by: string;
}

/** Null when the name is taken, in whatever case. Its roles are the caller's business. */
export async function insertWorkspace(
  unit: HabitatUnit,
  { workspaceId, name = workspaceId, owner, policy, geometry = null, by }: NewWorkspace,
): Promise<WorkspaceRow | null> {
  const [row] = await unit.tx.$queryRawUnsafe<WorkspaceRow[]>(
    `INSERT INTO habitat.workspaces (workspace_id, folded, name, owner, policy, created_at, created_by, geometry)
     VALUES ($1, $2, $3, $4, $5::json, clock_timestamp(), $6, $7)
     ON CONFLICT DO NOTHING RETURNING ${WORKSPACE_COLUMNS}`,
    workspaceId,
    foldCase(workspaceId),
    name,
    owner,
    policy === undefined ? null : JSON.stringify(policy),
    by,
    geometry,
  );
  if (row === undefined) return null;
  unit.touch('policies');
  unit.emit({
    name: 'workspace:created',
    workspace: workspaceId,
    payload: { workspaceId, owner, by, parties: owner === null ? [] : [owner] },
  });
  unit.audit({ event: 'workspace:created', workspace: workspaceId, data: { workspaceId, owner, by } });
  return row;
}

/** Nobody holds a role there any more, and the row is locked. */
export async function deleteWorkspace(unit: HabitatUnit, workspaceId: string): Promise<void> {
  await unit.tx.$executeRawUnsafe('DELETE FROM habitat.workspaces WHERE workspace_id = $1', workspaceId);
  unit.touch('policies');
  unit.audit({ event: 'workspace:removed', workspace: workspaceId, data: { workspaceId } });
}

const MAX_OWNED = 20;

/** Whether the family of the actor may own one more; those who ask at once come one after the other. */
export async function hasRoomForWorkspace(
  tx: SqlClient,
  { identity, operator }: Pick<Actor, 'identity' | 'operator'>,
): Promise<boolean> {
  if (operator || identity === null) return true;
  const { family } = await readPlaced(tx, identity);
  await lockNames(tx, [`owner:${family}`]);
  const [row] = await tx.$queryRawUnsafe<{ owned: number }[]>(
    `SELECT count(*)::int AS owned FROM habitat.workspaces WHERE ${OF_FAMILY('owner', '$1')}`,
    family,
  );
  return (row?.owned ?? 0) < MAX_OWNED;
}

async function readOne(client: SqlClient, where: string, value: string): Promise<WorkspaceRow | null> {
  const sql = `SELECT ${WORKSPACE_COLUMNS} FROM habitat.workspaces WHERE ${where}`;
  const [row] = await client.$queryRawUnsafe<WorkspaceRow[]>(sql, value);
  return row ?? null;
}
