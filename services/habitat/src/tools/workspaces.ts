/** Workspaces: what there is, making one, and the one a session is in. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { foldCase, IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { MAX_LIMIT, page, TimestampMs } from '@svc/contract/params.ts';
import { Policy } from '@svc/contract/policy.ts';
import { DEFAULT_WORKSPACE } from '@svc/contract/subject.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool } from '../deps.ts';
import { type Actor, actorOf, mayActIn } from '../domain/actor.ts';
import { mayCreateWorkspace } from '../domain/grants.ts';
import { heldRoles, memberships } from '../roles.ts';
import { countVisible, listWorkspaces } from '../store/listings.ts';
import { boundaryOf, workspaceExists, type WorkspaceRow } from '../store/workspace-rows.ts';
import { currentWorkspace } from './current.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { PolicyWish, wholePolicy } from './policy-wish.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const listed = z.strictObject({
  workspaceId: z.string(),
  id: z.string(),
  name: z.string(),
  owner: z.string().nullable(),
  createdAt: TimestampMs,
  geometry: z.string().nullable().describe('Address of its name; null when the brain did not tell it.'),
  roles: z.array(z.string()),
});

function shown({ workspaceId, name, owner, createdAt, geometry }: WorkspaceRow) {
  return { workspaceId, id: workspaceId, name, owner, createdAt, geometry };
}

const status = defineTool({
  name: 'svc_habitat_status',
  area: 'habitat',
  description:
    'What the caller may see of the registry: workspaces, boundaries, identities, and the current workspace.',
  input: z.strictObject({}),
  output: z.strictObject({
    workspaces: z.array(listed),
    boundaries: z.int(),
    inputs: z.int(),
    currentWorkspace: z.string(),
    rev: z.int(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler(_input, { deps, caller }) {
    const { client } = deps.store;
    const held = await memberships(client, caller);
    const scope = caller.operator ? null : [...held.keys()];
    const { stamp } = await deps.revision.read();
    const rows = await listWorkspaces(client, scope, { limit: MAX_LIMIT, after: null });
    return {
      workspaces: rows.map((row) => ({ ...shown(row), roles: held.get(row.workspaceId) ?? [] })),
      ...(await countVisible(client, scope)),
      currentWorkspace: await currentWorkspace(deps, caller),
      rev: stamp.rev,
    };
  },
});

const list = defineTool({
  name: 'svc_habitat_listWorkspaces',
  area: 'habitat',
  description: "Workspaces the caller belongs to, and the default one, with the caller's roles.",
  input: z.strictObject(page),
  output: z.strictObject({ workspaces: z.array(listed), nextCursor: z.string().optional() }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler({ limit, cursor }, { deps: { store }, caller }) {
    const held = await memberships(store.client, caller);
    const position = positionOf(limit, cursor);
    const rows = await listWorkspaces(store.client, caller.operator ? null : [...held.keys()], position);
    const { items, next } = nextPage(rows, position, ({ workspaceId }) => workspaceId);
    return { workspaces: items.map((row) => ({ ...shown(row), roles: held.get(row.workspaceId) ?? [] })), ...next };
  },
});

const created = z.strictObject({
  workspaceId: z.string(),
  id: z.string(),
  name: z.string(),
  owner: z.string().nullable(),
  policy: Policy,
  geometry: z.string().nullable(),
  createdAt: TimestampMs,
  created: z.boolean(),
});

const create = defineTool({
  name: 'svc_habitat_createWorkspace',
  area: 'habitat',
  description: 'Makes a workspace whose owner becomes its admin; making the same one again changes nothing.',
  input: z.strictObject({
    workspaceId: WorkspaceName,
    options: z
      .strictObject({
        name: z
          .string()
          .regex(/^[^\p{Cc}\p{Cs}]{1,100}$/u, 'must be 1-100 characters without control characters')
          .optional()
          .describe('Default: the id.'),
        owner: IdentityId.optional().describe("Default: the caller; an operator's choice."),
        policy: PolicyWish.optional().describe('Boundary of what is at home there and has none of its own.'),
      })
      .optional(),
  }),
  output: created,
  access: 'identified',
  effect: 'write',
  refuses: ['HABITAT_WORKSPACE_EXISTS', 'AGENT_NOT_FOUND', 'E_QUOTA'],
  example: { workspaceId: 'acme' },
  async handler({ workspaceId, options = {} }, context) {
    const actor = actorOf(context.caller);
    const owner = options.owner ?? identityIn(actor);
    if (!mayCreateWorkspace(actor, workspaceId, owner))
      throw new CallError(
        'FORBIDDEN',
        'One makes workspaces for oneself, as an identity, and none whose name begins with org-: those come from spawning.',
      );
    const policy = options.policy && ownBoundary(workspaceId, options.policy);
    const geometry = await context.deps.brain.addressOf(workspaceId);
    const wish = { workspaceId, name: options.name, owner, policy, geometry };
    const { row, isNew } = settled(context, await context.deps.store.createWorkspace(context, wish));
    return { ...shown(row), policy: boundaryOf(row), created: isNew };
  },
});

/** An operator may declare itself to be anybody; what is kept must be an id. */
function identityIn({ identity }: Actor): string | null {
  if (identity !== null && !IdentityId.safeParse(identity).success)
    throw invalidArguments([{ path: 'options.owner', message: 'the declared identity cannot own a workspace' }]);
  return identity;
}

/** The boundary of a workspace lies in it. */
function ownBoundary(workspaceId: string, wish: PolicyWish): Policy {
  if (wish.container !== undefined && wish.container !== workspaceId)
    throw invalidArguments([{ path: 'options.policy.container', message: 'must be the workspace itself' }]);
  return { ...wholePolicy(wish), container: workspaceId };
}

const setCurrent = defineTool({
  name: 'svc_habitat_setWorkspace',
  area: 'habitat',
  description: 'The workspace this session is in from now on; it is forgotten when the session ends.',
  input: z.strictObject({ workspaceId: WorkspaceName.optional().describe('Default: default.') }),
  output: z.strictObject({ switched: z.literal(true), current: z.string() }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['HABITAT_UNKNOWN_WORKSPACE'],
  dress: { switched: false },
  raises: ['SERVICE_UNAVAILABLE'],
  async handler({ workspaceId = DEFAULT_WORKSPACE }, context) {
    const { deps, caller } = context;
    const { client } = deps.store;
    const isOpen = foldCase(workspaceId) === DEFAULT_WORKSPACE && mayActIn(actorOf(caller), workspaceId);
    if (!caller.operator && !isOpen && (await heldRoles(client, caller, workspaceId)).length === 0) {
      throw new CallError('FORBIDDEN', `This takes a role in the workspace ${workspaceId}.`);
    }
    if (!(await workspaceExists(client, workspaceId))) {
      throw context.refuse('HABITAT_UNKNOWN_WORKSPACE', { current: await currentWorkspace(deps, caller) });
    }
    try {
      await deps.sessions.set(caller.session, workspaceId);
    } catch (error) {
      deps.platform.log.warn({ err: error }, 'the current workspace of a session could not be kept');
      throw context.fail('SERVICE_UNAVAILABLE');
    }
    return { switched: true as const, current: workspaceId };
  },
});

export const workspaceTools = [status, list, create, setCurrent];
