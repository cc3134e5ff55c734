/** How an identity gets its place: a role in a workspace, which is made for it when it is missing. */
import { hash } from 'node:crypto';
import { allow, type Decision } from '@svc/contract/decision.ts';
import type { Role } from '@svc/contract/registry.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import type { RoleSource } from '../domain/family.ts';
import type { HabitatUnit } from './unit.ts';
import { readSource } from './family-rows.ts';
import { grantRole, rolesIn } from './role-rows.ts';
import { insertWorkspace, lockWorkspace } from './workspace-rows.ts';

interface ProvisionWish {
  readonly agentId: string;
  readonly workspace: string;
  /** In a workspace that exists; `editor` when absent. */
  readonly role?: Role | undefined;
  /** Of a workspace that is made; the agent itself when absent. */
  readonly owner?: string | undefined;
  readonly by: string;
  /** From whom its roles come, as seen from the agent. */
  readonly source: RoleSource;
}

interface Provisioned {
  readonly workspace: string;
  readonly roles: string[];
  /** The agent got a role that it had not. */
  readonly created: boolean;
  readonly workspaceCreated: boolean;
}

/** Where the agents of a team live. The form of the team's name is the caller's business. */
export function workspaceOfTeam(team?: string): string {
  return team === undefined ? DEFAULT_WORKSPACE : `org-${team}`;
}

const NAME_KEPT = 48;
const MARK_LENGTH = 10;

/** Where the agents live that a family spawns for a team it has no claim to: never a workspace of others, whatever they call theirs. */
export function workspaceOfFamily(team: string, family: string): string {
  const mark = hash('sha256', `${family}\n${team}`, 'hex').slice(0, MARK_LENGTH);
  return `${workspaceOfTeam(team.slice(0, NAME_KEPT))}.${mark}`;
}

/**
 * Whoever makes a workspace owns it and is its admin; an agent that holds a role there already keeps what it has. Of two
 * at once one makes the workspace. Throws VAF_INPUT_INVALID when its name differs from another one's in case alone.
 */
export async function provision(
  unit: HabitatUnit,
  { agentId, workspace, role = 'editor', owner = agentId, by, source }: ProvisionWish,
): Promise<Decision<Provisioned, 'E_QUOTA'>> {
  const workspaceCreated = await makeWorkspace(unit, workspace, owner, by);
  if (workspaceCreated && owner !== agentId) {
    const admin = await grantRole(unit, { workspace, userId: owner, role: 'admin', by, source });
    if (!admin.ok) return admin;
  }
  const held = await rolesIn(unit.tx, workspace, agentId);
  if (held.length > 0) return allow({ workspace, roles: held, created: false, workspaceCreated });
  const first = workspaceCreated && owner === agentId ? 'admin' : role;
  const granted = await grantRole(unit, { workspace, userId: agentId, role: first, by, source });
  return granted.ok ? allow({ workspace, roles: [first], created: true, workspaceCreated }) : granted;
}

/** Its roles come from who asked for it. */
export async function provisionFor(
  unit: HabitatUnit,
  wish: Omit<ProvisionWish, 'source'>,
): Promise<Decision<Provisioned, 'E_QUOTA'>> {
  const source = await readSource(unit.tx, { name: wish.by, operator: false }, wish.agentId);
  return provision(unit, { ...wish, source });
}

/** False when it was there already; its row is locked either way. */
async function makeWorkspace(unit: HabitatUnit, workspaceId: string, owner: string, by: string): Promise<boolean> {
  if ((await lockWorkspace(unit.tx, workspaceId)) !== null) return false;
  if ((await insertWorkspace(unit, { workspaceId, owner, by })) !== null) return true;
  if ((await lockWorkspace(unit.tx, workspaceId)) !== null) return false;
  const message = `differs from another workspace in case alone: ${workspaceId}`;
  throw invalidArguments([{ path: 'workspace', message }]);
}
