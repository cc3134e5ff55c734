/** Boundaries attached, changed and removed by those who decide about the resource. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny } from '@svc/contract/decision.ts';
import { ResourceKey } from '@svc/contract/names.ts';
import { Policy, workspaceOfHomeKey } from '@svc/contract/policy.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import type { HomesOfResource } from '../brain-port.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { requireRole } from '../roles.ts';
import { containerAbove, lockPolicy, readPolicies, removePolicy, storePolicy } from '../store/policy-rows.ts';
import { lockWorkspace, noteBoundary, workspaceExists } from '../store/workspace-rows.ts';
import { PolicyWish, wholePolicy } from './policy-wish.ts';

const PUBLIC = 'public';
/** What brains hold. */
const IN_BRAINS = /^(brain|_island):/;

const setPolicy = defineTool({
  name: 'svc_habitat_setPolicy',
  area: 'habitat',
  description:
    'Sets the boundary of a resource: who reads, who writes, where it lives, which fields are hidden. For admins of where it is at home, or of the container it has.',
  input: z.strictObject({
    resource: ResourceKey.describe('`_home:<workspace>` = what is at home there and has no boundary of its own.'),
    policy: PolicyWish.describe('What is left out is as in the default policy, whatever was set before.'),
  }),
  output: z.strictObject({ resource: z.string(), policy: Policy, version: z.int() }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['HABITAT_UNKNOWN_WORKSPACE'],
  raises: ['SERVICE_UNAVAILABLE', 'E_BUSY'],
  example: { resource: 'doc', policy: { readableBy: ['role:viewer'], container: 'acme' } },
  async handler({ resource, policy: wish }, context) {
    const { deps, caller } = context;
    const policy = wholePolicy(wish);
    const home = workspaceOfHomeKey(resource);
    if (home !== null && policy.container !== home)
      throw invalidArguments([{ path: 'policy.container', message: `must be ${home}, whose boundary it is` }]);
    const homes = caller.operator ? null : await homesUnlessAttached(deps, resource);
    const outcome = await deps.store.change(context, async (unit) => {
      if (home !== null && (await lockWorkspace(unit.tx, home)) === null) return deny('HABITAT_UNKNOWN_WORKSPACE');
      const before = await lockPolicy(unit.tx, resource);
      if (!caller.operator) {
        const isAttached = before.version > 0;
        await requireAdminOf(
          unit.tx,
          caller,
          isAttached ? before.policy.container : await deciderOf(unit.tx, resource, homes),
        );
        const { container } = policy;
        if (container !== PUBLIC && !(await workspaceExists(unit.tx, container)))
          return deny('HABITAT_UNKNOWN_WORKSPACE');
        await requireAdminOf(unit.tx, caller, container);
      }
      if (home !== null) await noteBoundary(unit.tx, home, policy);
      return allow(await storePolicy(unit, { resource, policy, by: actorOf(caller).name }, before));
    });
    return { resource, policy, version: settled(context, outcome) };
  },
});

const unsetPolicy = defineTool({
  name: 'svc_habitat_removePolicy',
  area: 'habitat',
  description:
    'Takes the boundary of a resource away (ours): what lies around it, or the boundary of its home, holds from then on.',
  input: z.strictObject({ resource: ResourceKey }),
  output: z.strictObject({ resource: z.string(), removed: z.boolean().describe('False when it had none.') }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: [],
  raises: ['SERVICE_UNAVAILABLE', 'E_BUSY'],
  example: { resource: 'doc' },
  async handler({ resource }, context) {
    const { deps, caller } = context;
    const homes = caller.operator ? null : await homesOf(deps, resource);
    const outcome = await deps.store.change(context, async (unit) => {
      const home = workspaceOfHomeKey(resource);
      if (home !== null) await noteBoundary(unit.tx, home, null);
      const before = await lockPolicy(unit.tx, resource);
      const isAttached = before.version > 0;
      if (!caller.operator) {
        const decider = await deciderOf(unit.tx, resource, homes);
        // Whoever has it in its own container would otherwise open what is at home with others.
        if (isAttached && before.policy.container !== decider) throw new CallError('FORBIDDEN');
        await requireAdminOf(unit.tx, caller, decider);
      }
      await removePolicy(unit, { resource, by: actorOf(caller).name }, before);
      return allow(isAttached);
    });
    return { resource, removed: settled(context, outcome) };
  },
});

/** Where things of brains are at home; null of every other resource. */
async function homesOf({ brain }: HabitatDeps, resource: string): Promise<HomesOfResource | null> {
  return IN_BRAINS.test(resource) ? brain.home(resource) : null;
}

/** Who has a boundary already need not wait for the brains. */
async function homesUnlessAttached(deps: HabitatDeps, resource: string): Promise<HomesOfResource | null> {
  const { value } = await readPolicies(deps.store.client, [resource]);
  return Object.hasOwn(value, resource) ? null : homesOf(deps, resource);
}

/**
 * The workspace whose admins may attach a boundary where none is. What somebody made of its own is decided about at its
 * home, whatever lies around it. `public` = nobody's but the operators'.
 */
async function deciderOf(tx: SqlClient, resource: string, homes: HomesOfResource | null): Promise<string> {
  const workspace = workspaceOfHomeKey(resource);
  if (workspace !== null) return workspace;
  const above = await containerAbove(tx, resource);
  if (homes !== null) return homes.own ?? above ?? homes.brain ?? PUBLIC;
  if (IN_BRAINS.test(resource)) throw new CallError('E_BUSY', 'Its boundary was removed just now; call again.');
  return above ?? DEFAULT_WORKSPACE;
}

/** Nobody but an operator decides about what belongs to no workspace. */
async function requireAdminOf(tx: SqlClient, caller: Caller, container: string): Promise<void> {
  if (container === PUBLIC) throw new CallError('FORBIDDEN');
  await requireRole(tx, caller, container, 'admin');
}

export const policyChangeTools = [setPolicy, unsetPolicy];
