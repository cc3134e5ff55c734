/** Workspaces are made. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { homeKey, type Policy } from '@svc/contract/policy.ts';
import { actorOf } from '../domain/actor.ts';
import { agentNotFound } from '../domain/agent-rights.ts';
import { isKilled } from './agent-rows.ts';
import { lockPolicy, storePolicy } from './policy-rows.ts';
import { grantRole } from './role-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { hasRoomForWorkspace, insertWorkspace, readWorkspaceNamed, type WorkspaceRow } from './workspace-rows.ts';

interface CreateWish {
  readonly workspaceId: string;
  readonly name: string | undefined;
  readonly owner: string | null;
  readonly policy: Policy | undefined;
  /** Address of its name; null = nobody told it. */
  readonly geometry: string | null;
}

type Created = Decision<
  { readonly row: WorkspaceRow; readonly isNew: boolean },
  'HABITAT_WORKSPACE_EXISTS' | 'AGENT_NOT_FOUND' | 'E_QUOTA'
>;

/** Making the same one again changes nothing. */
export async function createWorkspace(unit: HabitatUnit, wish: CreateWish): Promise<Created> {
  const { workspaceId, owner } = wish;
  const actor = actorOf(unit.caller);
  const by = actor.name;
  const found = await readWorkspaceNamed(unit.tx, workspaceId);
  if (found !== null) return existing(found, wish);
  // Nobody would ever administer it.
  if (owner !== null && (await isKilled(unit.tx, owner))) return agentNotFound(owner);
  if (!(await hasRoomForWorkspace(unit.tx, actor))) return deny('E_QUOTA');
  const row = await insertWorkspace(unit, { ...wish, by });
  if (row === null) {
    const winner = await readWorkspaceNamed(unit.tx, workspaceId);
    return winner === null ? deny('HABITAT_WORKSPACE_EXISTS') : existing(winner, wish);
  }
  if (wish.policy !== undefined) {
    const resource = homeKey(workspaceId);
    await storePolicy(unit, { resource, policy: wish.policy, by }, await lockPolicy(unit.tx, resource));
  }
  if (owner !== null) {
    const source = actor.operator ? 'operator' : 'family';
    const admin = await grantRole(unit, { workspace: workspaceId, userId: owner, role: 'admin', by, source });
    if (!admin.ok) return admin;
  }
  return allow({ row, isNew: true });
}

/** Somebody else's, or of another name: taken. */
function existing(row: WorkspaceRow, { workspaceId, owner, name }: CreateWish): Created {
  const same = row.workspaceId === workspaceId && row.owner === owner && (name === undefined || row.name === name);
  return same ? allow({ row, isNew: false }) : deny('HABITAT_WORKSPACE_EXISTS');
}
