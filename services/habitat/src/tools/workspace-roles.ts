/** Roles in a workspace: giving, taking, reading. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { ROLES } from '@svc/contract/registry.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { defineTool } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { capabilitiesOf } from '../domain/capabilities.ts';
import { maySeeRoles } from '../domain/grants.ts';
import { heldRoles } from '../roles.ts';
import { rolesIn } from '../store/role-rows.ts';
import { currentWorkspace } from './current.ts';
import { settled } from '@svc/runtime/idempotency.ts';

const role = z.enum(ROLES).describe('Role.');
const about = { workspace: z.string(), workspaceId: z.string(), userId: z.string() };
const roles = z.array(z.string()).describe('All roles the identity holds there now.');

const addRole = defineTool({
  name: 'svc_habitat_addRole',
  area: 'habitat',
  description: 'Gives a user or agent a role in a workspace.',
  input: z.strictObject({
    workspaceId: WorkspaceName.optional().describe('Default: the current one.'),
    role,
    userId: IdentityId,
  }),
  output: z.strictObject({ ...about, role, roles, added: z.boolean() }),
  access: 'workspace:admin',
  effect: 'write-idempotent',
  refuses: ['HABITAT_UNKNOWN_WORKSPACE', 'AGENT_NOT_FOUND', 'E_QUOTA'],
  example: { workspaceId: 'acme', role: 'editor', userId: 'ada' },
  async handler(input, context) {
    const { deps, caller } = context;
    const workspace = input.workspaceId ?? (await currentWorkspace(deps, caller));
    const wish = { workspace, userId: input.userId, role: input.role };
    const { added, roles: held } = settled(context, await deps.store.addRole(context, wish));
    return { ...wish, workspaceId: workspace, roles: held, added };
  },
});

const removeRole = defineTool({
  name: 'svc_habitat_removeRole',
  area: 'habitat',
  description: 'Takes a role in a workspace; with the last one anywhere the identity and its tokens end.',
  input: z.strictObject({ workspaceId: WorkspaceName, role, userId: IdentityId }),
  output: z.strictObject({ ...about, role, roles, removed: z.boolean() }),
  access: 'identified',
  effect: 'write-idempotent',
  destructive: true,
  refuses: ['HABITAT_UNKNOWN_WORKSPACE', 'E_LAST_ADMIN'],
  async handler({ workspaceId: workspace, role: taken, userId }, context) {
    const outcome = await context.deps.store.removeRole(context, { workspace, userId, role: taken });
    const { removed, roles: left } = settled(context, outcome);
    return { workspace, workspaceId: workspace, userId, role: taken, roles: left, removed };
  },
});

const getUserRoles = defineTool({
  name: 'svc_habitat_getUserRoles',
  area: 'habitat',
  description: 'Roles of an identity in a workspace, and what they allow; by default those of the caller.',
  input: z.strictObject({
    workspaceId: WorkspaceName.optional().describe('Default: the current one.'),
    userId: IdentityId.optional().describe('Default: the caller.'),
  }),
  output: z.strictObject({
    ...about,
    roles,
    capabilities: z.strictObject({
      canRead: z.boolean(),
      canWrite: z.boolean(),
      canAdmin: z.boolean(),
      canDelete: z.boolean(),
    }),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler(input, { deps, caller }) {
    const { client } = deps.store;
    const actor = actorOf(caller);
    const workspace = input.workspaceId ?? (await currentWorkspace(deps, caller));
    const userId = input.userId ?? actor.identity;
    if (userId === null) throw invalidArguments([{ path: 'userId', message: 'is needed: the caller has no identity' }]);
    const held = await heldRoles(client, caller, workspace);
    if (!maySeeRoles(actor, held, userId))
      throw new CallError('FORBIDDEN', `Roles of others are shown to members of the workspace ${workspace}.`);
    const found = await rolesIn(client, workspace, userId);
    return { workspace, workspaceId: workspace, userId, roles: found, capabilities: capabilitiesOf(found) };
  },
});

export const workspaceRoleTools = [addRole, removeRole, getUserRoles];
