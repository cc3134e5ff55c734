/** An organisation from above. */
import type { SqlClient } from '@svc/runtime/database.ts';

interface OrgBranch {
  readonly id: string;
  readonly name: string;
  readonly teams: { readonly id: string; readonly name: string; readonly members: number }[];
}

/** Departments and their teams in the order of their ids. */
export function readOrgTree(client: SqlClient, org: string): Promise<OrgBranch[]> {
  return client.$queryRawUnsafe<OrgBranch[]>(
    `SELECT d.id, d.name, coalesce(json_agg(json_build_object('id', t.id, 'name', t.name,
         'members', (SELECT count(*) FROM habitat.assignments s WHERE s.team = t.id)) ORDER BY t.id)
         FILTER (WHERE t.id IS NOT NULL), '[]') AS teams
     FROM habitat.depts d LEFT JOIN habitat.teams t ON t.dept = d.id WHERE d.org = $1 GROUP BY d.id ORDER BY d.id`,
    org,
  );
}
