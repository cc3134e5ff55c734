/** Attached policies as rows. */
import { sortedJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { DEFAULT_POLICY, type Policy } from '@svc/contract/policy.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { assertStamped, type StampRow, stampOf } from '../revision.ts';
import type { HabitatUnit } from './unit.ts';
import type { Stamped } from './identity-rows.ts';
import { boundaryOf, type WorkspaceRow } from './workspace-rows.ts';

export const POLICY_COLUMNS = `json_build_object('readableBy', readable_by, 'writableBy', writable_by, 'container', container,
  'filter', filter, 'mask', mask)`;
const ANSWER = (where: string) => `SELECT r.rev, r.policies, r.settings,
    (SELECT coalesce(json_object_agg(resource, ${POLICY_COLUMNS}), '{}') FROM habitat.policies WHERE ${where}) AS found
  FROM habitat.registry_revision r`;

export type PolicyMap = Record<string, Policy>;
type Row = StampRow & { readonly found: PolicyMap };

/** Those of `resources` that have a policy. */
export function readPolicies(client: SqlClient, resources: readonly string[]): Promise<Stamped<PolicyMap>> {
  return read(client, ANSWER('resource = ANY($1::text[])'), [resources]);
}

/** The policies of `root`, of everything below it, and of the keys that start with one of `prefixes`. */
export function readAttached(
  client: SqlClient,
  root: string,
  prefixes: readonly string[],
): Promise<Stamped<PolicyMap>> {
  const where = `resource = $1 OR starts_with(resource, $1 || '/')
    OR EXISTS (SELECT 1 FROM unnest($2::text[]) p WHERE starts_with(resource, p))`;
  return read(client, ANSWER(where), [root, prefixes]);
}

async function read(client: SqlClient, sql: string, values: unknown[]): Promise<Stamped<PolicyMap>> {
  const [row] = await client.$queryRawUnsafe<Row[]>(sql, ...values);
  assertStamped(row);
  return { stamp: stampOf(row), value: row.found };
}

/** A row while it is being changed. `version` 0 = there was none. */
interface LockedPolicy {
  readonly policy: Policy;
  readonly version: number;
}

/** The row of the resource, made if need be and locked, so that two who set it come one after the other. */
export async function lockPolicy(tx: SqlClient, resource: string): Promise<LockedPolicy> {
  const { readableBy, writableBy, container } = DEFAULT_POLICY;
  // One statement: between two of them whoever removes boundaries could take away the row that the first one found.
  const [row] = await tx.$queryRawUnsafe<LockedPolicy[]>(
    `INSERT INTO habitat.policies
       (resource, readable_by, writable_by, container, filter, mask, version, updated_at, updated_by)
     VALUES ($1, $2::text[], $3::text[], $4, '[]', '[]', 0, clock_timestamp(), 'system')
     ON CONFLICT (resource) DO UPDATE SET resource = excluded.resource RETURNING ${POLICY_COLUMNS} AS policy, version`,
    resource,
    readableBy,
    writableBy,
    container,
  );
  if (row === undefined) throw new Error('a statement that makes or locks a policy answered none');
  return row;
}

/** Container of the nearest resource above this one (`a/b` is above `a/b/c`) that has a policy; null = none has. */
export async function containerAbove(client: SqlClient, resource: string): Promise<string | null> {
  const parts = resource.split('/');
  const above = parts.slice(1).map((_part, index) => parts.slice(0, index + 1).join('/'));
  const [row] = await client.$queryRawUnsafe<{ container: string }[]>(
    `SELECT container FROM habitat.policies WHERE resource = ANY($1::text[]) AND version > 0
     ORDER BY length(resource) DESC LIMIT 1`,
    above,
  );
  return row?.container ?? null;
}

interface PolicyChange {
  readonly resource: string;
  readonly policy: Policy;
  readonly by: string;
}

/** The version the resource has then; a policy that says the same as before changes nothing. The row is locked. */
export async function storePolicy(
  unit: HabitatUnit,
  { resource, policy, by }: PolicyChange,
  before: LockedPolicy,
): Promise<number> {
  if (before.version > 0 && sortedJson(before.policy) === sortedJson(policy)) return before.version;
  const version = before.version + 1;
  await unit.tx.$executeRawUnsafe(
    `UPDATE habitat.policies SET readable_by = $2::text[], writable_by = $3::text[], container = $4, filter = $5::json,
       mask = $6::json, version = $7, updated_at = clock_timestamp(), updated_by = $8 WHERE resource = $1`,
    resource,
    policy.readableBy,
    policy.writableBy,
    policy.container,
    JSON.stringify(policy.filter),
    JSON.stringify(policy.mask),
    version,
    by,
  );
  const workspace = policy.container;
  unit.touch('policies');
  unit.emit({ name: 'policy:changed', workspace, payload: { resource, version, by } });
  unit.audit({ event: 'policy:changed', workspace, data: { resource, version, by, container: workspace } });
  const opened = (['readableBy', 'writableBy'] as const).filter((list) => policy[list].length === 0);
  if (opened.length > 0) {
    unit.audit({ event: 'policy:opened', workspace, data: { resource, version, by, opened } });
  }
  return version;
}

/** The row is locked, and gone then. */
export async function removePolicyRow(
  unit: HabitatUnit,
  { resource, by }: Omit<PolicyChange, 'policy'>,
  before: LockedPolicy,
): Promise<void> {
  await unit.tx.$executeRawUnsafe('DELETE FROM habitat.policies WHERE resource = $1', resource);
  if (before.version === 0) return;
  const workspace = before.policy.container;
  unit.touch('policies');
  unit.emit({ name: 'policy:removed', workspace, payload: { resource, by } });
  unit.audit({ event: 'policy:removed', workspace, data: { resource, by, container: workspace } });
}

/** What has a copy now. Nothing is copied when something at or below `to` has another policy. */
export async function copyPolicies(
  unit: HabitatUnit,
  { from, to, by }: { readonly from: string; readonly to: string; readonly by: string },
): Promise<Decision<string[], 'E_DUPLICATE'>> {
  const { value } = await readAttached(unit.tx, from, []);
  const copied: string[] = [];
  for (const [source, policy] of Object.entries(value)) {
    const resource = to + source.slice(from.length);
    const before = await lockPolicy(unit.tx, resource);
    if (before.version > 0 && sortedJson(before.policy) !== sortedJson(policy)) return deny('E_DUPLICATE');
    if (before.version > 0) continue;
    await storePolicy(unit, { resource, policy, by }, before);
    copied.push(resource);
  }
  return allow(copied);
}

/** How many. What somebody changed since it was copied stays. */
export async function removeCopies(
  unit: HabitatUnit,
  { resources, by }: { readonly resources: readonly string[]; readonly by: string },
): Promise<Decision<number, never>> {
  let removed = 0;
  for (const resource of resources) {
    const before = await lockPolicy(unit.tx, resource);
    if (before.version > FIRST_VERSION) continue;
    await removePolicyRow(unit, { resource, by }, before);
    if (before.version === FIRST_VERSION) removed += 1;
  }
  return allow(removed);
}

const FIRST_VERSION = 1;

/** Gives a resource without a policy the boundary of the workspace, whose row is locked; an existing one stays. */
export async function claimResource(
  unit: HabitatUnit,
  { resource, workspace, by }: { readonly resource: string; readonly workspace: WorkspaceRow; readonly by: string },
): Promise<{ readonly claimed: boolean; readonly policy: Policy }> {
  const before = await lockPolicy(unit.tx, resource);
  if (before.version > 0) return { claimed: false, policy: before.policy };
  const policy = boundaryOf(workspace);
  await storePolicy(unit, { resource, policy, by }, before);
  return { claimed: true, policy };
}
