/** Roles in a workspace: giving, taking, reading. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { allow, deny } from '@svc/contract/decision.ts';
import { IdentityId, WorkspaceName } from '@svc/contract/names.ts';
import { ROLES } from '@svc/contract/registry.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { defineTool } from '../deps.ts';
import { actorOf } from '../domain/actor.ts';
import { capabilitiesOf } from '../domain/capabilities.ts';
import { mayRemoveRole, maySeeRoles } from '../domain/grants.ts';
import { heldRoles, requireRole } from '../roles.ts';
import { readSource } from '../store/family-rows.ts';
import { grantRole, hasOtherAdmin, revokeRole, rolesIn } from '../store/role-rows.ts';
import { lockWorkspace } from '../store/workspace-rows.ts';
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
  refuses: ['HABITAT_UNKNOWN_WORKSPACE', 'E_QUOTA'],
  example: { workspaceId: 'acme', role: 'editor', userId: 'ada' },
  async handler(input, context) {
    const { deps, caller } = context;
    const workspace = input.workspaceId ?? (await currentWorkspace(deps, caller));
    const change = { workspace, userId: input.userId, role: input.role, by: actorOf(caller).name };
    const outcome = await deps.store.change(context, async (unit) => {
      const found = await lockWorkspace(unit.tx, workspace);
      await requireRole(unit.tx, caller, workspace, 'admin');
      if (found === null) return deny('HABITAT_UNKNOWN_WORKSPACE');
      const source = await readSource(unit.tx, actorOf(caller), change.userId);
      const granted = await grantRole(unit, { ...change, source });
      if (!granted.ok) return granted;
      return allow({ added: granted.value.added, roles: await rolesIn(unit.tx, workspace, change.userId) });
    });
    const { added, roles: held } = settled(context, outcome);
    return { workspace, workspaceId: workspace, userId: change.userId, role: change.role, roles: held, added };
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
    const { deps, caller } = context;
    const actor = actorOf(caller);
    const judge = async (client: SqlClient) => {
      if (!mayRemoveRole(actor, await heldRoles(client, caller, workspace), userId)) throw new CallError('FORBIDDEN');
    };
    await judge(deps.store.client);
    const outcome = await deps.store.change(context, async (unit) => {
      const found = await lockWorkspace(unit.tx, workspace);
      if (found === null) return deny('HABITAT_UNKNOWN_WORKSPACE');
      const isAdmin = taken === 'admin' && (await rolesIn(unit.tx, workspace, userId)).includes('admin');
      if (isAdmin && !actor.operator && !(await hasOtherAdmin(unit.tx, workspace, userId))) return deny('E_LAST_ADMIN');
      await judge(unit.tx); // of two admins who remove each other one comes second, and is told that the other is the last
      const removed = await revokeRole(unit, { workspace, userId, role: taken, by: actor.name });
      return allow({ removed, roles: await rolesIn(unit.tx, workspace, userId) });
    });
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
    if (!maySeeRoles(actor, held, userId)) throw new CallError('FORBIDDEN');
    const found = await rolesIn(client, workspace, userId);
    return { workspace, workspaceId: workspace, userId, roles: found, capabilities: capabilitiesOf(found) };
  },
});

export const workspaceRoleTools = [addRole, removeRole, getUserRoles];
