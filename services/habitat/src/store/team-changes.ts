/** How organisations grow: each row under the lock of what it is in, so that no quota is passed and no name is there twice. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { foldCase } from '@svc/contract/names.ts';
import type { PlanName } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';
import { readPlaced } from './family-rows.ts';
import { lockNames } from './name-lock.ts';

const MAX_ORGS = 1000;
const MAX_ORGS_OF_A_FAMILY = 20;
const MAX_IN_PARENT = { depts: 200, teams: 200, team_roles: 500 } as const;

type Made = Decision<{ readonly createdAt: number }, 'E_DUPLICATE' | 'E_QUOTA'>;

const CREATED_AT = `${epochMs('created_at')} AS "createdAt"`;

export interface NewOrg {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly desc: string;
  readonly owner: string | null;
  /** The operator who makes it; null = nobody has confirmed it. */
  readonly confirmedBy: string | null;
}

export async function insertOrg(tx: SqlClient, { id, name, plan, desc, owner, confirmedBy }: NewOrg): Promise<Made> {
  await lockNames(tx, ['orgs']);
  const [counted] = await tx.$queryRawUnsafe<{ all: number; own: number }[]>(
    `SELECT count(*)::int AS "all", (count(*) FILTER (WHERE coalesce(a.family, o.owner) = $1))::int AS own
     FROM habitat.orgs o LEFT JOIN habitat.agents a ON a.agent_id = o.owner`,
    owner === null ? null : (await readPlaced(tx, owner)).family,
  );
  const [row] = await tx.$queryRawUnsafe<{ createdAt: number }[]>(
    `INSERT INTO habitat.orgs (id, name, folded, plan, "desc", owner, created_at, confirmed_by, confirmed_at)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), $7, CASE WHEN $7::text IS NOT NULL THEN clock_timestamp() END) ON CONFLICT DO NOTHING RETURNING ${CREATED_AT}`,
    id,
    name,
    foldCase(name),
    plan,
    desc,
    owner,
    confirmedBy,
  );
  if (row === undefined) return deny('E_DUPLICATE');
  const { all = 0, own = 0 } = counted ?? {};
  return all >= MAX_ORGS || own >= MAX_ORGS_OF_A_FAMILY ? deny('E_QUOTA') : allow(row);
}

interface Confirmation {
  readonly confirmed: boolean;
  /** Absent = as it is. */
  readonly plan?: PlanName | undefined;
  readonly by: string;
}

/** The row of the organisation is locked by the caller. An unconfirmed one has the free plan. */
export async function writeConfirmation(
  tx: SqlClient,
  id: string,
  { confirmed, plan, by }: Confirmation,
): Promise<void> {
  await tx.$executeRawUnsafe(
    `UPDATE habitat.orgs SET confirmed_at = CASE WHEN $2 THEN coalesce(confirmed_at, clock_timestamp()) END,
       confirmed_by = CASE WHEN $2 THEN $4 END, plan = CASE WHEN $2 THEN coalesce($3, plan) ELSE 'free' END WHERE id = $1`,
    id,
    confirmed,
    plan ?? null,
    by,
  );
}

interface NewPart {
  readonly id: string;
  readonly name: string;
  readonly org: string;
}

interface NewDept extends NewPart {
  readonly desc: string;
}

export function insertDept(tx: SqlClient, { id, name, org, desc }: NewDept): Promise<Made> {
  return insertPart(tx, 'depts', { parent: ['org', org], values: { id, name, org, desc } });
}

interface NewTeam extends NewDept {
  readonly dept: string;
}

export function insertTeam(tx: SqlClient, { id, name, org, dept, desc }: NewTeam): Promise<Made> {
  return insertPart(tx, 'teams', { parent: ['dept', dept], values: { id, name, org, dept, desc } });
}

interface NewTeamRole extends NewPart {
  readonly team: string | null;
  readonly permissions: readonly string[];
}

export function insertTeamRole(tx: SqlClient, { id, name, org, team, permissions }: NewTeamRole): Promise<Made> {
  return insertPart(tx, 'team_roles', { parent: ['org', org], values: { id, name, org, team, permissions } });
}

interface Part {
  /** Column and id of what it is in. */
  readonly parent: readonly [string, string];
  readonly values: { readonly name: string } & Readonly<Record<string, unknown>>;
}

/** The row of the organisation is locked by the caller. */
async function insertPart(
  tx: SqlClient,
  table: keyof typeof MAX_IN_PARENT,
  { parent: [column, parent], values }: Part,
): Promise<Made> {
  const [counted] = await tx.$queryRawUnsafe<{ there: number }[]>(
    `SELECT count(*)::int AS there FROM habitat.${table} WHERE ${column} = $1`,
    parent,
  );
  const given = { ...values, folded: foldCase(values.name) };
  const columns = Object.keys(given).map((name) => `"${name}"`);
  const [row] = await tx.$queryRawUnsafe<{ createdAt: number }[]>(
    `INSERT INTO habitat.${table} (${columns.join(', ')}, created_at)
     VALUES (${columns.map((_column, index) => `$${index + 1}`).join(', ')}, clock_timestamp())
     ON CONFLICT DO NOTHING RETURNING ${CREATED_AT}`,
    ...Object.values(given),
  );
  if (row === undefined) return deny('E_DUPLICATE');
  return (counted?.there ?? 0) >= MAX_IN_PARENT[table] ? deny('E_QUOTA') : allow(row);
}
