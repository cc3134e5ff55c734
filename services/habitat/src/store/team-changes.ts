/** How organisations grow: each row under the lock of what it is in, so that no quota is passed and no name is there twice. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { foldCase } from '@svc/contract/names.ts';
import type { PlanName } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { epochMs } from './epoch.ts';
import { lockNames } from './name-lock.ts';

export const MAX_ORGS = 1000;
export const MAX_ORGS_OF_AN_IDENTITY = 20;
const MAX_IN_PARENT = { depts: 200, teams: 200, team_roles: 500 } as const;

type Made = Decision<{ readonly createdAt: number }, 'E_DUPLICATE' | 'E_QUOTA'>;

const CREATED_AT = `${epochMs('created_at')} AS "createdAt"`;

export interface NewOrg {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly desc: string;
  readonly owner: string | null;
}

export async function insertOrg(tx: SqlClient, { id, name, plan, desc, owner }: NewOrg): Promise<Made> {
  await lockNames(tx, ['orgs']);
  const [counted] = await tx.$queryRawUnsafe<{ all: number; own: number }[]>(
    'SELECT count(*)::int AS "all", (count(*) FILTER (WHERE owner = $1))::int AS own FROM habitat.orgs',
    owner,
  );
  const [row] = await tx.$queryRawUnsafe<{ createdAt: number }[]>(
    `INSERT INTO habitat.orgs (id, name, folded, plan, "desc", owner, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp()) ON CONFLICT DO NOTHING RETURNING ${CREATED_AT}`,
    id,
    name,
    foldCase(name),
    plan,
    desc,
    owner,
  );
  if (row === undefined) return deny('E_DUPLICATE');
  const { all = 0, own = 0 } = counted ?? {};
  return all >= MAX_ORGS || own >= MAX_ORGS_OF_AN_IDENTITY ? deny('E_QUOTA') : allow(row);
}

export interface NewPart {
  readonly id: string;
  readonly name: string;
  readonly org: string;
}

export interface NewDept extends NewPart {
  readonly desc: string;
}

export function insertDept(tx: SqlClient, { id, name, org, desc }: NewDept): Promise<Made> {
  return insertPart(tx, 'depts', { parent: ['org', org], values: { id, name, org, desc } });
}

export interface NewTeam extends NewDept {
  readonly dept: string;
}

export function insertTeam(tx: SqlClient, { id, name, org, dept, desc }: NewTeam): Promise<Made> {
  return insertPart(tx, 'teams', { parent: ['dept', dept], values: { id, name, org, dept, desc } });
}

export interface NewTeamRole extends NewPart {
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
