/** Boundaries are attached, changed and removed, and denials are told of. */
import { CallError } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { type Policy, workspaceOfHomeKey } from '@svc/contract/policy.ts';
import { actorOf } from '../domain/actor.ts';
import { deciderOf, type HomesOfResource, PUBLIC } from '../domain/policy-decider.ts';
import { holdsRole } from '../roles.ts';
import { claimResource, containerAbove, lockPolicy, removePolicyRow, storePolicy } from './policy-rows.ts';
import type { HabitatUnit } from './unit.ts';
import { lockWorkspace, noteBoundary, workspaceExists } from './workspace-rows.ts';

interface Target {
  readonly resource: string;
  /** Null = brains were not asked: it is none of theirs, it has a boundary already, or the caller is an operator. */
  readonly homes: HomesOfResource | null;
}

/** The version of the boundary then. Throws FORBIDDEN to who does not decide about it. */
export async function setPolicy(
  unit: HabitatUnit,
  { resource, policy, homes }: Target & { readonly policy: Policy },
): Promise<Decision<number, 'HABITAT_UNKNOWN_WORKSPACE'>> {
  const { tx, caller } = unit;
  const home = workspaceOfHomeKey(resource);
  if (home !== null && (await lockWorkspace(tx, home)) === null) return deny('HABITAT_UNKNOWN_WORKSPACE');
  const before = await lockPolicy(tx, resource);
  if (!caller.operator) {
    const isAttached = before.version > 0;
    await requireAdminOf(unit, isAttached ? before.policy.container : await readDecider(unit, { resource, homes }));
    const { container } = policy;
    if (container !== PUBLIC && !(await workspaceExists(tx, container))) return deny('HABITAT_UNKNOWN_WORKSPACE');
    await requireAdminOf(unit, container);
  }
  if (home !== null) await noteBoundary(tx, home, policy);
  return allow(await storePolicy(unit, { resource, policy, by: actorOf(caller).name }, before));
}

/** False when it had none. Throws FORBIDDEN to who does not decide about it. */
export async function removePolicy(unit: HabitatUnit, target: Target): Promise<Decision<boolean, never>> {
  const { tx, caller } = unit;
  const { resource } = target;
  const home = workspaceOfHomeKey(resource);
  if (home !== null) await noteBoundary(tx, home, null);
  const before = await lockPolicy(tx, resource);
  const isAttached = before.version > 0;
  if (!caller.operator) {
    const decider = await readDecider(unit, target);
    // Whoever has it in its own container would otherwise open what is at home with others.
    if (isAttached && before.policy.container !== decider) throw notDecider();
    await requireAdminOf(unit, decider);
  }
  await removePolicyRow(unit, { resource, by: actorOf(caller).name }, before);
  return allow(isAttached);
}

async function readDecider({ tx }: HabitatUnit, { resource, homes }: Target): Promise<string> {
  const decider = deciderOf(resource, { homes, above: await containerAbove(tx, resource) });
  if (decider === null) throw new CallError('E_BUSY', 'Its boundary was removed just now; call again.');
  return decider;
}

async function requireAdminOf({ tx, caller }: HabitatUnit, container: string): Promise<void> {
  if (container === PUBLIC || !(await holdsRole(tx, caller, container, 'admin'))) throw notDecider();
}

/** Names no workspace: where somebody else's resource is at home is not told. */
function notDecider(): CallError {
  const who = 'admins of the workspace where the resource is at home, or of the container that its boundary has';
  return new CallError('FORBIDDEN', `This is for ${who}; policy.container names a workspace whose admin one is.`);
}

interface DeniedAccess {
  readonly resource: string;
  readonly container: string;
  readonly mode: 'read' | 'write';
  readonly because: string;
}

export async function tellOfDenial(
  unit: HabitatUnit,
  { container, ...denied }: DeniedAccess,
): Promise<Decision<null, never>> {
  const { userId } = unit.caller.subject;
  unit.emit({
    name: 'access:denied',
    ...(container === PUBLIC ? {} : { workspace: container }),
    payload: { ...denied, ...(userId === undefined ? {} : { userId }) },
  });
  return allow(null);
}

export interface Claim {
  readonly resource: string;
  readonly workspaceId: string;
  readonly by: string;
  /** Only for what the workspace has declared a boundary. */
  readonly declared?: boolean | undefined;
}

/** Null = nothing to claim it for. */
export async function claim(
  unit: HabitatUnit,
  { resource, workspaceId, by, declared = false }: Claim,
): Promise<Decision<{ readonly claimed: boolean; readonly policy: Policy } | null, never>> {
  const workspace = await lockWorkspace(unit.tx, workspaceId);
  const isOpen = workspace === null || (declared && workspace.policy === null);
  return allow(isOpen ? null : await claimResource(unit, { resource, workspace, by }));
}
