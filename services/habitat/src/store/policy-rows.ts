/** Attached policies as rows. */
import { Policy } from '@svc/contract/policy.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { type StampRow, stampOf } from '../revision.ts';
import type { Stamped } from './identity-rows.ts';

const COLUMNS = `json_build_object('readableBy', readable_by, 'writableBy', writable_by, 'container', container,
  'filter', filter, 'mask', mask)`;
const ANSWER = (where: string) => `SELECT r.rev, r.policies,
    (SELECT coalesce(json_object_agg(resource, ${COLUMNS}), '{}') FROM habitat.policies WHERE ${where}) AS found
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
  if (row === undefined) throw new Error('the row of the registry revision is missing');
  return { stamp: stampOf(row), value: row.found };
}
