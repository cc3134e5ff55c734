/** Workspaces with a pool of money, and what is left in it. */
import type { Caller, Fields } from '../client.ts';
import type { TargetPlace } from '../targets/target.ts';
import { createMembers, memberAt, type WorkspaceMember } from './members.ts';

export interface Pool {
  readonly workspace: string;
  readonly admin: WorkspaceMember;
  readonly members: readonly WorkspaceMember[];
}

/** What a pool or a member of one has, in credits. */
export interface Funds {
  readonly spent: number;
  readonly limit: number;
  readonly available: number;
  readonly pending: number;
}

/** Its admin sets the limit; so many editors may draw. */
export async function createPool(place: TargetPlace, limit: number, editors = 1): Promise<Pool> {
  const workspace = await createMembers(place, 'admin', ...Array<string>(editors).fill('editor'));
  const admin = memberAt(workspace, 0);
  await admin.caller.ok('escrow_setWorkspaceBudget', { workspaceId: workspace.workspace, amount: limit });
  return { workspace: workspace.workspace, admin, members: workspace.members.slice(1) };
}

export async function poolFunds(caller: Caller, workspaceId: string): Promise<Funds> {
  const { pool } = await caller.ok<{ pool: Funds }>('escrow_getWorkspacePool', { workspaceId });
  return pool;
}

/** By agent, as the caller may see them. */
export async function memberFunds(caller: Caller, workspaceId: string): Promise<Map<string, Funds>> {
  type Row = Funds & { agentId: string };
  const { members } = await caller.ok<{ members: Row[] }>('escrow_getWorkspacePool', { workspaceId });
  return new Map(members.map(({ agentId, ...funds }) => [agentId, funds]));
}

export async function budgetOf(caller: Caller, org: string): Promise<Fields | null> {
  const { budget } = await caller.ok<{ budget: Fields | null }>('escrow_status', { org });
  return budget;
}
