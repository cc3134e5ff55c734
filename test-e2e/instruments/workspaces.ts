/** Workspaces made for one scenario, and tokens for those who are in them. */
import { Caller, type Fields } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';
import { newName } from '../verifies.ts';

/** A workspace with one member of each role that is asked for; ids are unique. */
export async function workspaceWith(
  place: TargetPlace,
  ...roles: string[]
): Promise<{ workspace: string; ids: string[] }> {
  const operator = new Caller(place);
  const workspace = newName('w');
  await operator.ok('svc_habitat_createWorkspace', { workspaceId: workspace });
  const ids = roles.map((role) => `${role}-${workspace}`);
  await Promise.all(
    roles.map((role, index) =>
      operator.ok('svc_habitat_addRole', { workspaceId: workspace, userId: ids[index] ?? '', role }),
    ),
  );
  return { workspace, ids };
}

export async function mint(place: TargetPlace, agentId = '', options: Fields = {}): Promise<string> {
  const { token } = await new Caller(place).ok('svc_habitat_mintToken', { agentId, ...options });
  return String(token);
}
