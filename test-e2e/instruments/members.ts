/** Members of a workspace of their own, each with a token. */
import { Caller } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName } from '../verifies.ts';
import { callerOf } from './tenants.ts';

export interface WorkspaceMember {
  readonly id: string;
  readonly caller: Caller;
}

export interface Workspace {
  readonly workspace: string;
  /** In the order of the roles asked for. */
  readonly members: readonly WorkspaceMember[];
}

export async function createMembers(place: TargetPlace, ...roles: readonly string[]): Promise<Workspace> {
  const workspace = newName('w');
  await new Caller(place).ok('svc_habitat_createWorkspace', { workspaceId: workspace });
  const members: WorkspaceMember[] = [];
  for (const role of roles) members.push(await addMember(place, workspace, role));
  return { workspace, members };
}

export async function addMember(
  place: TargetPlace,
  workspace: string,
  role: string,
  id: string = newName(role),
): Promise<WorkspaceMember> {
  const operator = new Caller(place);
  await operator.ok('svc_habitat_addRole', { workspaceId: workspace, userId: id, role });
  const { token } = await operator.ok('svc_habitat_mintToken', { agentId: id });
  return { id, caller: callerOf(place, String(token)) };
}

/** The member of that place; a scenario that asks for one it did not create fails. */
export function memberAt({ members }: Workspace, index: number): WorkspaceMember {
  const member = members[index];
  if (member === undefined) throw new Error(`no member ${index}`);
  return member;
}
