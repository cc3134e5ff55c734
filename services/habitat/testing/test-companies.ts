/** Organisations of a test. */
import type { HabitatNode } from './habitat-test-bed.ts';
import { enrol, type Person } from './test-people.ts';

export interface Company {
  readonly owner: Person;
  readonly org: string;
  readonly dept: string;
  readonly team: string;
}

/** An organisation with one department and one team, named after `name`; its owner has a say over who lives in the default workspace. */
export async function foundCompany(node: HabitatNode, name: string): Promise<Company> {
  const owner = await enrol(node, `${name.replace(' ', '')}-owner`, { role: 'admin' });
  const { id: org } = await owner.call('teams_createOrg', { name, desc: 'd' });
  const { id: dept } = await owner.call('teams_createDept', { name: `${name} dept`, org });
  const { id: team } = await owner.call('teams_createTeam', { name: `${name} team`, dept });
  return { owner, org: String(org), dept: String(dept), team: String(team) };
}

export async function makeRole(
  owner: Person,
  org: string,
  name: string,
  permissions: string[],
  team?: string,
): Promise<string> {
  return String((await owner.call('teams_createRole', { name, org, team, permissions })).id);
}
