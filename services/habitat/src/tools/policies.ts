/** Boundaries: listing them, and what they decide for a subject. */
import { z } from 'zod';
import { ResourceKey } from '@svc/contract/names.ts';
import { page } from '@svc/contract/params.ts';
import { decide, DEFAULT_POLICY, Policy, type Verdict } from '@svc/contract/policy.ts';
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { UserCtx } from '@svc/contract/subject.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { defineTool, type HabitatDeps } from '../deps.ts';
import { memberships } from '../roles.ts';
import { listPolicies } from '../store/listings.ts';
import { readPolicies } from '../store/policy-rows.ts';
import { currentWorkspace } from './current.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';

const getBoundaries = defineTool({
  name: 'svc_habitat_getBoundaries',
  area: 'habitat',
  description: 'Boundaries in the workspaces the caller belongs to, and the public ones.',
  input: z.strictObject(page),
  output: z.strictObject({ boundaries: z.record(z.string(), Policy), nextCursor: z.string().optional() }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler({ limit, cursor }, { deps: { store }, caller }) {
    const scope = caller.operator ? null : [...(await memberships(store.client, caller)).keys()];
    const position = positionOf(limit, cursor);
    const rows = await listPolicies(store.client, scope, position);
    const { items, next } = nextPage(rows, position, ({ resource }) => resource);
    return { boundaries: Object.fromEntries(items.map(({ resource, policy }) => [resource, policy])), ...next };
  },
});

const mode = z.enum(['read', 'write']);
const question = {
  resource: ResourceKey,
  userCtx: UserCtx.optional(),
  mode: mode.optional().describe('Default read.'),
};

/** The door has resolved the subject already, also from `userCtx`. */
async function judge(
  { store }: HabitatDeps,
  { subject }: Caller,
  resource: string,
  asked: z.output<typeof mode>,
): Promise<{ readonly verdict: Verdict; readonly policy: Policy; readonly stamp: RegistryStamp }> {
  const { stamp, value } = await readPolicies(store.client, [resource]);
  const policy = (Object.hasOwn(value, resource) ? value[resource] : undefined) ?? DEFAULT_POLICY;
  return { verdict: decide(policy, subject, asked), policy, stamp };
}

const can = defineTool({
  name: 'svc_habitat_can',
  area: 'habitat',
  description: 'Whether the caller may read or write a resource, and because of which rule.',
  input: z.strictObject(question),
  output: z.strictObject({
    allowed: z.boolean(),
    resource: z.string(),
    mode,
    workspace: z.string(),
    verified: z.boolean().describe('The subject is that of a token.'),
    because: z.string(),
    rev: z.int(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { resource: 'doc', mode: 'write' },
  async handler({ resource, mode: asked = 'read' }, { deps, caller }) {
    const { verdict, stamp } = await judge(deps, caller, resource, asked);
    const workspace = await currentWorkspace(deps, caller);
    return { ...verdict, resource, mode: asked, workspace, verified: caller.token !== null, rev: stamp.rev };
  },
});

const check = defineTool({
  name: 'svc_habitat_check',
  area: 'habitat',
  description: 'Like svc_habitat_can, but a denial is an error.',
  input: z.strictObject(question),
  output: z.strictObject({ checked: z.literal(true), resource: z.string(), mode }),
  access: 'public',
  effect: 'read',
  refuses: [],
  raises: ['RLS_DENIED'],
  async handler({ resource, mode: asked = 'read' }, context) {
    const { deps, caller } = context;
    const { verdict, policy } = await judge(deps, caller, resource, asked);
    if (verdict.allowed) return { checked: true as const, resource, mode: asked };
    const { because } = verdict;
    await deps.store.tellOfDenial(context, { resource, container: policy.container, mode: asked, because });
    throw context.fail('RLS_DENIED', `${asked} of ${resource} is denied`);
  },
});

export const policyTools = [getBoundaries, can, check];
