/** Boundaries attached, changed and removed by those who decide about the resource. */
import { z } from 'zod';
import { ResourceKey } from '@svc/contract/names.ts';
import { Policy, workspaceOfHomeKey } from '@svc/contract/policy.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import { type HomesOfResource, isInBrains } from '../domain/policy-decider.ts';
import { readPolicies } from '../store/policy-rows.ts';
import { PolicyWish, wholePolicy } from './policy-wish.ts';

const setPolicy = defineTool({
  name: 'svc_habitat_setPolicy',
  area: 'habitat',
  description:
    'Sets the boundary of a resource: who reads, who writes, where it lives, which fields are hidden. For admins of where it is at home, or of the container it has.',
  input: z.strictObject({
    resource: ResourceKey.describe(
      'brain:<brain>, brain:<brain>/<directory or file>, _island:<name>, or a name of your own; `_home:<workspace>` = what is at home there and has no boundary of its own.',
    ),
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
    const outcome = await deps.store.setPolicy(context, { resource, policy, homes });
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
  destructive: true,
  refuses: [],
  raises: ['SERVICE_UNAVAILABLE'],
  example: { resource: 'doc' },
  async handler({ resource }, context) {
    const { deps, caller } = context;
    const homes = caller.operator ? null : await homesOf(deps, resource);
    const outcome = await deps.store.removePolicy(context, { resource, homes });
    return { resource, removed: settled(context, outcome) };
  },
});

/** Where things of brains are at home; null of every other resource. */
async function homesOf({ brain }: HabitatDeps, resource: string): Promise<HomesOfResource | null> {
  return isInBrains(resource) ? brain.home({ resource }) : null;
}

/** Who has a boundary already need not wait for the brains. */
async function homesUnlessAttached(deps: HabitatDeps, resource: string): Promise<HomesOfResource | null> {
  const { value } = await readPolicies(deps.store.client, [resource]);
  return Object.hasOwn(value, resource) ? null : homesOf(deps, resource);
}

export const policyChangeTools = [setPolicy, unsetPolicy];
