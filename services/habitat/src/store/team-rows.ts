/** Organisations, departments, teams and team roles as rows, and which of them a caller sees. */
import { type Decision, neverDenied } from '@svc/contract/decision.ts';
import { foldCase } from '@svc/contract/names.ts';
import type { PlanName } from '@svc/contract/registry.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { pickReference, type Referable, type ReferenceDenial } from '../domain/reference.ts';
import { epochMs } from '@svc/runtime/sql-time.ts';

/** Times in ms since the epoch. */
export interface OrgRow extends Referable {
  readonly name: string;
  readonly plan: PlanName;
  readonly desc: string;
  readonly owner: string | null;
  readonly confirmed: boolean;
  readonly createdAt: number;
}

export interface DeptRow extends Referable {
  readonly name: string;
  readonly org: string;
  readonly desc: string;
  readonly createdAt: number;
}

export interface TeamRow extends DeptRow {
  readonly dept: string;
}

export interface TeamRoleRow extends Referable {
  readonly name: string;
  readonly org: string;
  readonly team: string | null;
  readonly permissions: readonly string[];
  readonly createdAt: number;
}

/** The row of each table. */
export interface TeamTables {
  readonly orgs: OrgRow;
  readonly depts: DeptRow;
  readonly teams: TeamRow;
  readonly team_roles: TeamRoleRow;
}
type Table = keyof TeamTables;

const CREATED_AT = `${epochMs('x.created_at')} AS "createdAt"`;
const COLUMNS: Readonly<Record<Table, string>> = {
  orgs: `x.id, x.name, x.plan, x."desc", x.owner, x.confirmed_at IS NOT NULL AS confirmed,
    ${CREATED_AT}`,
  depts: `x.id, x.name, x.org, x."desc", ${CREATED_AT}`,
  teams: `x.id, x.name, x.org, x.dept, x."desc", ${CREATED_AT}`,
  team_roles: `x.id, x.name, x.org, x.team, x.permissions, ${CREATED_AT}`,
};

/** Members and owners see an organisation and all that is in it; operators see all of them. */
export interface TeamView {
  readonly everything: boolean;
  readonly identity: string | null;
}

/** Which part of an organisation. */
export interface Within {
  readonly org?: string | undefined;
  readonly dept?: string | undefined;
}

/** The one thing that the reference means in the view. */
export async function findOne<Name extends Table>(
  client: SqlClient,
  view: TeamView,
  table: Name,
  reference: string | undefined,
  within: Within = {},
): Promise<Decision<TeamTables[Name], ReferenceDenial>> {
  const { values, bind, where } = visibleWithin(view, table, within);
  let order = '';
  if (reference !== undefined) {
    const id = bind(reference);
    where.push(`(x.id = ${id} OR x.folded = ${bind(foldCase(reference))})`);
    order = `ORDER BY x.id = ${id} DESC`;
  }
  const sql = `SELECT ${COLUMNS[table]} FROM habitat.${table} x WHERE ${where.join(' AND ')} ${order} LIMIT 2`;
  return pickReference(await client.$queryRawUnsafe<TeamTables[Name][]>(sql, ...values), reference);
}

/** No two organisations have one name. */
export async function findOrg(
  client: SqlClient,
  view: TeamView,
  reference: string | undefined,
): Promise<Decision<OrgRow, Exclude<ReferenceDenial, 'E_AMBIGUOUS'>>> {
  return neverDenied(await findOne(client, view, 'orgs', reference), 'E_AMBIGUOUS');
}

interface TeamSlice extends Within {
  readonly after: string | null;
  readonly limit: number;
}

/** In the order of their ids, one more than the limit when there are more. */
export function listVisible<Name extends Table>(
  client: SqlClient,
  view: TeamView,
  table: Name,
  { after, limit, ...within }: TeamSlice,
): Promise<TeamTables[Name][]> {
  const { values, bind, where } = visibleWithin(view, table, within);
  if (after !== null) where.push(`x.id > ${bind(after)}`);
  const sql = `SELECT ${COLUMNS[table]} FROM habitat.${table} x WHERE ${where.join(' AND ')}
    ORDER BY x.id LIMIT $${values.length + 1}::int`;
  return client.$queryRawUnsafe<TeamTables[Name][]>(sql, ...values, limit + 1);
}

interface Conditions {
  readonly values: unknown[];
  readonly where: string[];
  /** Adds a text parameter and tells how the statement calls it. */
  bind(value: string | null): string;
}

function visibleWithin({ everything, identity }: TeamView, table: Table, { org, dept }: Within): Conditions {
  const values: unknown[] = [];
  const bind = (value: string | null): string => {
    values.push(value);
    return `$${values.length}::text`;
  };
  const where = ['true'];
  const orgColumn = table === 'orgs' ? 'x.id' : 'x.org';
  if (!everything) {
    const who = bind(identity);
    where.push(`${orgColumn} IN (SELECT id FROM habitat.orgs WHERE owner = ${who}
      UNION SELECT org FROM habitat.assignments WHERE agent_id = ${who})`);
  }
  if (org !== undefined) where.push(`${orgColumn} = ${bind(org)}`);
  if (dept !== undefined) where.push(`x.dept = ${bind(dept)}`);
  return { values, where, bind };
}
